/* The suite's helpers: assertions, backends and servers. */

#ifndef CHECK_H
#define CHECK_H

#include <millpond.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The condition holds; otherwise the process ends, also in a thread, also in a child. */
#define CHECK(condition) \
    ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

/* The call, whose last argument is &error, returns MILLPOND_OK. */
#define OK(call) check_ok(__FILE__, __LINE__, #call, (call), &error)

/* The call, whose last argument is &error, fails with this status and this text in its message. */
#define FAILS(status, says, call) check_fails(__FILE__, __LINE__, #call, (call), &error, status, says)

/* A byte string that is written as a literal, as two arguments. */
#define S(literal) (literal), sizeof(literal) - 1

void check_failed(const char *file, int line, const char *what);
void check_ok(const char *file, int line, const char *call, millpond_status status,
              millpond_error **error);
void check_fails(const char *file, int line, const char *call, millpond_status status,
                 millpond_error **error, millpond_status expected, const char *says);

/* The entries are these, written as "member score member score ..."; frees them. */
void check_entries(const char *file, int line, millpond_ick_entries *entries, const char *expected);
#define ENTRIES(entries, expected) check_entries(__FILE__, __LINE__, entries, expected)

/* Where queues are. */
struct backend {
    const char *kind;
    char url[1024];
};

/* A client of this backend's. */
millpond_client *connect_to(const struct backend *backend);

/* Leases that are renewed ten times a second, however long they are: a test sees a renewal soon, and
   loses no lease where the machine stands still. */
#define RENEWING "renew_every=100ms"
/* Nobody looks but when he is woken, so a wait without limit that ends was woken. */
#define NEVER_POLLING "poll=never"

/* This backend, with these options in its URL. */
struct backend with_options(const struct backend *backend, const char *options);
/* A client of it. */
millpond_client *connect_with_options(const struct backend *backend, const char *options);

/* A client whose engine has this clock. */
millpond_status connect_with_clock(const char *url, millpond_clock *clock, millpond_client **client,
                                   millpond_error **error);

/* A server of our own, which ends with this process. */
struct servers *servers_start(const char *kind, struct backend *backend);
/* Kills, stops, continues or restarts it: see millpond-test-servers. */
void servers_run(struct servers *servers, const char *command);
void servers_stop(struct servers *servers);

/* Flags these members, "member score member score ...". */
void add(millpond_client *client, const char *name, const char *pairs);

/* The row of a table that is checked; NULL: none. */
extern const char *checked_row;

/* Interrupts the call that this thread makes next at the third time that it asks. */
void interrupt_at_the_third_check(void);
/* It was interrupted then; no other call is. */
void was_interrupted(void);

/* Calls each function that takes a handle with this one, which it refuses with this text. Generated from
   millpond.h by programs/layouts.py. */
void with_every_handle(void *handle, const char *says);

/* A test that waits this long for what it expects gives up. */
#define PATIENCE_MS 60000

/* Monotonic milliseconds. */
int64_t now_ms(void);
void sleep_ms(int milliseconds);

struct test {
    const char *name;
    void (*run)(const struct backend *backend);
};

/* What holds on every backend, and what needs a Redis. Each ends with a test without a name. */
extern const struct test loop_tests[], steps_tests[], lease_tests[], channel_tests[], mistake_tests[],
    fork_tests[], size_tests[];
extern const struct test shuffle_tests[], shuffle_group_tests[], shuffle_tracking_tests[],
    shuffle_mistake_tests[];
extern const struct test task_tests[], task_list_tests[], task_loop_tests[], job_tests[],
    task_mistake_tests[];
extern const struct test worker_tests[], shuffle_worker_tests[], event_tests[], volatile_tests[],
    recruiter_tests[], tracker_tests[], signal_tests[];
extern const struct test redis_loop_tests[], redis_fork_tests[], connection_tests[], foreign_tests[],
    foreign_shuffle_tests[], foreign_task_tests[], redis_worker_tests[], redis_recruiter_tests[];
/* What needs no backend. */
extern const struct test error_tests[], handle_tests[], clock_tests[];

#endif
