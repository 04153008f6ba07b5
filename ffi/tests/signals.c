/* Workers that signals stop. Each is in a child: the library's signal handler stays in its process. */

#include "fork.h"
#include "rows.h"
#include "tasks.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child does. */
struct signalled {
    const struct backend *backend;
    const struct loop_row *row;
    /* The handler gets a second signal, and waits until it is told of it. */
    bool twice;
    int called;
};

/* The handler of a kind of worker, which sends signals to its process, and a run with it. The first
   signal lets the job end, without limit. */
#define WORKS_ON(kind)                                                                             \
    static void signal_in_##kind(millpond_##kind##_job *job, millpond_task_outcome *outcome,       \
                                 void *context) {                                                  \
        struct signalled *signalled = context;                                                     \
        millpond_error *error;                                                                     \
        bool lost = false;                                                                         \
        (void)outcome;                                                                             \
        signalled->called++;                                                                       \
        CHECK(kill(getpid(), SIGTERM) == 0);                                                       \
        sleep_ms(20);                                                                              \
        OK(millpond_##kind##_job_is_lost(job, &lost, &error));                                     \
        CHECK(!lost);                                                                              \
        if (signalled->twice)                                                                      \
            CHECK(kill(getpid(), SIGINT) == 0);                                                    \
        while (signalled->twice && !lost) {                                                        \
            sleep_ms(2);                                                                           \
            OK(millpond_##kind##_job_is_lost(job, &lost, &error));                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void run_##kind(struct use *use, struct signalled *signalled) {                         \
        millpond_error *error;                                                                     \
        OK(millpond_##kind##_worker_stop_on_signals(use->kind.worker, -1, &error));                \
        OK(millpond_##kind##_worker_run(use->kind.worker, signal_in_##kind, NULL, signalled, NULL, \
                                        &error));                                                  \
    }

WORKS_ON(tasks)
WORKS_ON(shuffle)
WORKS_ON(events)

/* The run of a row's worker. */
static void run(struct use *use, struct signalled *signalled) {
    if (use->tasks.worker != NULL)
        run_tasks(use, signalled);
    else if (use->shuffle.worker != NULL)
        run_shuffle(use, signalled);
    else
        run_events(use, signalled);
}

static void work_on_an_item(void *argument) {
    struct signalled *signalled = argument;
    const struct loop_row *row = signalled->row;
    struct use use = {.client = connect_to(signalled->backend), .wait_ms = -1},
               other = {.client = use.client};
    millpond_error *error;
    snprintf(use.name, sizeof use.name, "signalled %d", (int)getpid());
    strcpy(other.name, use.name);
    row->queue->open(&use);
    OK(row->open(&use, &error));
    OK(row->queue->put(&use, "1", MILLPOND_NOT_SET, &error));
    run(&use, signalled);
    CHECK(signalled->called == 1);
    /* What was given back is for others at once, and what is done for nobody. */
    row->queue->open(&other);
    OK(row->open(&other, &error));
    OK(row->take(&other, &error));
    CHECK((row->item(&other).data != NULL) == signalled->twice);
    free_use(&other);
    free_use(&use);
}

static void in_each_kind_of_worker(struct signalled signalled) {
    EVERY_LOOP(row) {
        signalled.row = row;
        if (row->kind == RUN)
            in_child(work_on_an_item, &signalled);
    }
}

static void a_signal_waits_for_what_runs(const struct backend *backend) {
    in_each_kind_of_worker((struct signalled){.backend = backend});
}

static void a_second_signal_does_not(const struct backend *backend) {
    in_each_kind_of_worker((struct signalled){.backend = backend, .twice = true});
}

/* Does it in a child, which a SIGTERM has to end. */
static void terminates(void (*work)(void *), void *argument) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work(argument);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* A worker of a store in memory that signals stop, with one task. */
struct listening {
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_tasks_worker *worker;
};

static struct listening listen_in_memory(void) {
    struct backend memory = {"memory", "memory:"};
    struct listening listening;
    millpond_error *error;
    listening.client = connect_to(&memory);
    listening.store = store_of(listening.client, "listening", NULL);
    listening.worker = worker_of(listening.store, NULL);
    insert(listening.store, "q", "1");
    OK(millpond_tasks_worker_stop_on_signals(listening.worker, -1, &error));
    return listening;
}

static void end_listening(struct listening *listening) {
    millpond_tasks_worker_free(listening->worker);
    millpond_tasks_store_free(listening->store);
    millpond_client_free(listening->client);
}

static void is_done(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    (void)job, (void)outcome, (void)context;
}

/* How many tasks it works off: none once it was stopped. */
static uint64_t worked_off(struct listening *listening) {
    millpond_job_counts drained;
    millpond_error *error;
    OK(millpond_tasks_worker_drain(listening->worker, is_done, NULL, NULL, &drained, &error));
    return drained.done;
}

static void get_signals_until_the_end(void *argument) {
    (void)argument;
    listen_in_memory();
    /* Two stop the worker; how many are seen as one is the system's affair. */
    for (int i = 0; i < 1000; i++) {
        raise(SIGTERM);
        sleep_ms(2);
    }
}

static void get_a_signal_after_the_end(void *argument) {
    struct listening listening = listen_in_memory();
    millpond_error *error;
    (void)argument;
    OK(millpond_tasks_worker_stop_on_signals(listening.worker, 0, &error));
    end_listening(&listening);
    raise(SIGTERM);
}

static void get_a_signal(void *argument) {
    (void)argument;
    raise(SIGTERM);
}

static void have_a_child(void *argument) {
    struct listening listening = listen_in_memory();
    struct backend memory = {"memory", "memory:"};
    (void)argument;
    terminates(get_a_signal, NULL);
    terminates(get_a_signal_after_the_end, NULL);
    in_each_kind_of_worker((struct signalled){.backend = &memory});
    /* None of that was for this process. */
    CHECK(worked_off(&listening) == 1);
    end_listening(&listening);
}

static volatile sig_atomic_t seen;

static void see(int signal) {
    (void)signal;
    seen++;
}

static void have_a_handler(void *argument) {
    (void)argument;
    signal(SIGTERM, see);
    struct listening listening = listen_in_memory();
    raise(SIGTERM);
    CHECK(seen == 1);
    /* It was stopped as well, as soon as the thread has seen it. */
    while (worked_off(&listening) == 1)
        insert(listening.store, "q", "1");
    end_listening(&listening);
    raise(SIGTERM);
    CHECK(seen == 2);
}

static void signals_do_what_they_did_before(const struct backend *backend) {
    (void)backend;
    terminates(get_signals_until_the_end, NULL);
    terminates(get_a_signal_after_the_end, NULL);
    in_child(have_a_child, NULL);
    in_child(have_a_handler, NULL);
}

static void wrong_calls(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "signalled", NULL);
    millpond_tasks_worker *worker = worker_of(store, NULL);
    millpond_error *error;
    FAILS(MILLPOND_INVALID_ARGUMENT, "within_ms is -2",
          millpond_tasks_worker_stop_on_signals(worker, -2, &error));
    millpond_tasks_worker_free(worker);
    FAILS(MILLPOND_INVALID_ARGUMENT, "was freed",
          millpond_tasks_worker_stop_on_signals(worker, 0, &error));
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

const struct test signal_tests[] = {
    {"a_signal_waits_for_what_runs", a_signal_waits_for_what_runs},
    {"a_second_signal_does_not", a_second_signal_does_not},
    {"signals_do_what_they_did_before", signals_do_what_they_did_before},
    {"wrong_calls_about_signals", wrong_calls},
    {NULL, NULL},
};
