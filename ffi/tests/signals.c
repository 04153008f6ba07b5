/* Workers that signals stop. Each is in a child: the library's signal handler stays in its process. */

#include "fork.h"
#include "shuffle.h"
#include "tasks.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child does. */
struct signalled {
    const struct backend *backend;
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
    static void run_##kind(millpond_##kind##_worker *worker, struct signalled *signalled) {        \
        millpond_error *error;                                                                     \
        OK(millpond_##kind##_worker_stop_on_signals(worker, -1, &error));                          \
        OK(millpond_##kind##_worker_run(worker, signal_in_##kind, NULL, signalled, NULL, &error));       \
        CHECK(signalled->called == 1);                                                             \
        millpond_##kind##_worker_free(worker);                                                     \
    }

WORKS_ON(tasks)
WORKS_ON(shuffle)
WORKS_ON(events)

static void work_on_a_task(void *argument) {
    struct signalled *signalled = argument;
    millpond_client *client = connect_to(signalled->backend);
    millpond_tasks_store *store = store_of(client, "signalled", NULL);
    insert(store, "q", "1");
    run_tasks(worker_of(store, NULL), signalled);
    CHECK(size_of(store, "q") == signalled->twice);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void work_on_a_message(void *argument) {
    struct signalled *signalled = argument;
    millpond_client *client = connect_to(signalled->backend);
    millpond_shuffle_queue *queue = queue_of(client, signalled->twice ? "signalled twice" : "signalled");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_worker_options options;
    millpond_shuffle_worker *worker;
    millpond_error *error;
    millpond_shuffle_worker_options_init(&options, sizeof options);
    options.delete_done = true;
    OK(millpond_shuffle_worker_new(consumer, &options, &worker, &error));
    put(queue, "t", "1");
    run_shuffle(worker, signalled);
    CHECK(len_of(queue) == signalled->twice);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void work_on_an_event(void *argument) {
    struct signalled *signalled = argument;
    millpond_client *client = connect_to(signalled->backend);
    millpond_events_queue *queue;
    millpond_events_worker *worker;
    millpond_events_result *result;
    millpond_new_event event;
    millpond_error *error;
    OK(millpond_events_queue_new(client, S("signalled"), &queue, &error));
    OK(millpond_events_worker_new(queue, NULL, &worker, &error));
    millpond_new_event_init(&event, sizeof event);
    event.payload = (millpond_bytes)B("1");
    OK(millpond_events_publish(queue, &event, NULL, &error));
    run_events(worker, signalled);
    OK(millpond_events_stats(queue, &result, &error));
    CHECK(millpond_events_result_data(result)->stats->events == signalled->twice);
    millpond_events_result_free(result);
    OK(millpond_events_delete(queue, &error));
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

static void a_signal_waits_for_what_runs(const struct backend *backend) {
    struct signalled signalled = {.backend = backend};
    in_child(work_on_a_task, &signalled);
    in_child(work_on_a_message, &signalled);
    in_child(work_on_an_event, &signalled);
}

static void a_second_signal_does_not(const struct backend *backend) {
    struct signalled signalled = {.backend = backend, .twice = true};
    in_child(work_on_a_task, &signalled);
    in_child(work_on_a_message, &signalled);
    in_child(work_on_an_event, &signalled);
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
    struct signalled signalled = {.backend = &memory};
    (void)argument;
    terminates(get_a_signal, NULL);
    terminates(get_a_signal_after_the_end, NULL);
    in_child(work_on_a_task, &signalled);
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
