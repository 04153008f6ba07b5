/* Helpers for the tests of tasks. */

#ifndef TASKS_H
#define TASKS_H

#include "check.h"

/* A byte string that is written as a literal, as an initializer. */
#define B(literal) {S(literal)}

/* A list of one text, as a pair of arguments. */
#define K(literal) &(millpond_bytes)B(literal), 1

/* The store of this name, for this claimant, or for one that the library makes up. */
millpond_tasks_store *store_of(millpond_client *client, const char *name, const char *claimant);

/* Inserts a task with this JSON text. */
void insert(millpond_tasks_store *store, const char *queue, const char *value);
/* The worker of queue q with these options; NULL: the defaults. */
millpond_tasks_worker *worker_of(millpond_tasks_store *store,
                                 const millpond_tasks_worker_options *options);
/* The loop of its jobs. */
millpond_tasks_jobs *loop_of(millpond_tasks_store *store,
                             const millpond_tasks_worker_options *options);
/* Waits until a job was renewed this many times more. */
void wait_for_renewals(const millpond_tasks_job *job, uint64_t count);
/* Claims a task of this queue for a minute; NULL if there is none. */
millpond_tasks_result *claim(millpond_tasks_store *store, const char *queue);
/* The one task of a result. */
const millpond_task *task_of(const millpond_tasks_result *result);
/* How many tasks the queue holds. */
uint64_t size_of(millpond_tasks_store *store, const char *queue);

/* It is this text; NULL is none. */
bool is(millpond_bytes text, const char *expected);

#endif
