/* The table of all loops, and of all calls that wait, for the tests of what holds for each. A new queue adds rows. */

#ifndef ROWS_H
#define ROWS_H

#include "check.h"

/* A queue and one loop over it: the handles of a row, and NULL for all others. */
struct use {
    millpond_client *client;
    char name[32];
    /* How long the loop waits, -1 without limit. */
    int64_t wait_ms;
    struct {
        millpond_ick_channel *channel;
        millpond_ick_lease *lease;
        millpond_ick_batches *batches;
        millpond_ick_entries *entries;
    } ick;
    struct {
        millpond_shuffle_queue *queue;
        millpond_shuffle_consumer *consumer;
        millpond_shuffle_messages *messages;
        millpond_shuffle_batch *batch;
        millpond_shuffle_worker *worker;
        millpond_shuffle_run *run;
        millpond_shuffle_job *job;
    } shuffle;
    struct {
        millpond_tasks_store *store;
        millpond_tasks_claims *claims;
        millpond_tasks_result *result;
        millpond_tasks_worker *worker;
        millpond_tasks_jobs *jobs;
        millpond_tasks_run *run;
        millpond_tasks_job *job;
    } tasks;
    struct {
        millpond_events_queue *queue;
        millpond_events_deliveries *deliveries;
        millpond_events_result *result;
        millpond_events_worker *worker;
        millpond_events_run *run;
        millpond_events_job *job;
    } events;
};

struct queue_row {
    /* Makes the handle of the queue, for those who put and those who take. */
    void (*open)(struct use *use);
    /* Puts an item, which is a number in decimal, and so wakes one who waits, now or after the delay. */
    millpond_status (*put)(const struct use *use, const char *item, int64_t delay_ms,
                           millpond_error **error);
    bool has_delays;
};

/* A loop is for one thread at a time, a call and a run for any number. A run is a worker's: it waits without
   limit, or not at all if `wait_ms` is 0, belongs to its process, and returns once the error that ended it. */
enum loop_kind { LOOP, CALL, RUN };

struct loop_row {
    const char *name;
    const struct queue_row *queue;
    /* Makes the loop; a call has none. */
    millpond_status (*open)(struct use *use, millpond_error **error);
    /* Takes the next item, or nothing, waiting up to `wait_ms`. */
    millpond_status (*take)(struct use *use, millpond_error **error);
    /* The item that was taken; NULL: nothing. */
    millpond_bytes (*item)(const struct use *use);
    /* Ends the item that was taken, so that nobody gets it again, and frees it. */
    void (*end)(struct use *use);
    enum loop_kind kind;
};

/* Ends with a row without a name. */
extern const struct loop_row loop_rows[];

/* Each row in turn; a check that fails in it names it. */
#define EVERY_LOOP(row) \
    for (const struct loop_row *row = loop_rows; (checked_row = row->name) != NULL; row++)

/* Frees the client and the queue; those and the loop, but not what was taken; all. */
void free_queue(const struct use *use);
void free_loop(const struct use *use);
void free_use(const struct use *use);

#endif
