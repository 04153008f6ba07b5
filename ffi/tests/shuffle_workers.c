/* Workers of shuffle queues. What all workers have in common is in workers.c. */

#include "shuffle.h"

#include <pthread.h>
#include <string.h>

/* What the handler is called with. */
struct handling {
    int called, reports[10];
    millpond_shuffle_worker *worker;
    millpond_tasks_modification modification;
};

/* Ends a message as its field says. */
static void handle(millpond_shuffle_job *job, millpond_task_outcome *outcome, void *context) {
    struct handling *handling = context;
    const millpond_shuffle_message *message = millpond_shuffle_job_data(job);
    millpond_error *error;
    int64_t left_ms;
    bool lost;
    CHECK(outcome->end == MILLPOND_TASK_DONE && message->field_count == 1);
    OK(millpond_shuffle_job_is_lost(job, &lost, &error));
    OK(millpond_shuffle_job_time_left_ms(job, &left_ms, &error));
    CHECK(!lost && left_ms > 3000000 && left_ms <= 3600000);
    handling->called++;
    outcome->err = (millpond_bytes){S("no such image")};
    switch (message->fields->value[0]) {
    case 'r': /* Once, and then it is done. */
        outcome->end = message->deliveries == 1 ? MILLPOND_TASK_RETRY : MILLPOND_TASK_DONE;
        outcome->delay_ms = 0;
        break;
    case 'j':
        outcome->end = MILLPOND_TASK_REJECT;
        break;
    case 'f': /* A message has no modification: this is a failure, and the second is the last. */
        outcome->end = MILLPOND_TASK_FINISH;
        millpond_tasks_modification_init(&handling->modification, sizeof handling->modification);
        outcome->modification = &handling->modification;
        break;
    case 's':
        OK(millpond_shuffle_worker_stop(handling->worker, -1, &error));
    }
}

static void count_report(const millpond_shuffle_report *report, void *context) {
    struct handling *handling = context;
    const millpond_report_data *data = millpond_shuffle_report_data(report);
    CHECK(millpond_shuffle_report_job_data(report)->field_count == 1);
    handling->reports[data->kind]++;
}

static millpond_shuffle_worker *worker_with(millpond_shuffle_queue *queue) {
    millpond_shuffle_consumer_options settings;
    millpond_shuffle_worker_options options;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_worker *worker;
    millpond_error *error;
    millpond_shuffle_consumer_options_init(&settings, sizeof settings);
    settings.max_deliveries = 2;
    OK(millpond_shuffle_consumer_new(queue, S("g"), S("c"), &settings, &consumer, &error));
    millpond_shuffle_worker_options_init(&options, sizeof options);
    options.backoff_ms = options.backoff_max_ms = 0;
    options.timeout_ms = 3600000;
    options.delete_done = true;
    OK(millpond_shuffle_worker_new(consumer, &options, &worker, &error));
    millpond_shuffle_consumer_free(consumer);
    return worker;
}

static void a_handler_decides_how_messages_end(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "worked on");
    struct handling handling = {.worker = worker_with(queue)};
    millpond_shuffle_dead_letters *letters;
    millpond_job_counts drained;
    millpond_error *error;

    put(queue, "t", "done");
    put(queue, "t", "retry");
    put(queue, "t", "j");
    put(queue, "t", "f");
    OK(millpond_shuffle_worker_drain(handling.worker, handle, count_report, &handling, &drained,
                                     &error));
    /* What is tried again may be there only later. */
    while (drained.done + drained.dead < 4) {
        millpond_job_counts more;
        OK(millpond_shuffle_worker_drain(handling.worker, handle, count_report, &handling, &more,
                                         &error));
        drained.done += more.done;
        drained.dead += more.dead;
        drained.retried += more.retried;
    }
    CHECK(handling.called == 6 && drained.done == 2 && drained.dead == 2 && drained.retried == 2);
    CHECK(handling.reports[MILLPOND_REPORT_DONE] == 2);
    CHECK(handling.reports[MILLPOND_REPORT_RETRIED] == 2);
    CHECK(handling.reports[MILLPOND_REPORT_DEAD] == 2);
    CHECK(len_of(queue) == 0 && pending_of(queue, "g") == 0);
    OK(millpond_shuffle_dead_letters_read(queue, 10, &letters, &error));
    CHECK(millpond_shuffle_dead_letters_length(letters) == 2);
    for (size_t i = 0; i < 2; i++) {
        const millpond_shuffle_dead_letter *letter = millpond_shuffle_dead_letters_at(letters, i);
        bool rejected = strncmp(letter->reason, "rejected: no such image", 23) == 0;
        CHECK(rejected || strncmp(letter->reason, "exhausted: ", 11) == 0);
    }
    millpond_shuffle_dead_letters_free(letters);
    millpond_shuffle_worker_free(handling.worker);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void *work(void *argument) {
    struct handling *handling = argument;
    millpond_error *error;
    OK(millpond_shuffle_worker_run(handling->worker, handle, NULL, handling, NULL, &error));
    return NULL;
}

static void a_worker_waits_until_it_is_stopped(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "awaited");
    struct handling handling = {.worker = worker_with(queue)};
    millpond_shuffle_run *run;
    millpond_shuffle_job *job;
    millpond_shuffle_report *report;
    millpond_error *error;
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, work, &handling) == 0);
    sleep_ms(20);
    put(queue, "t", "done");
    while (len_of(queue) > 0)
        sleep_ms(2);
    put(queue, "t", "stop");
    pthread_join(thread, NULL);
    CHECK(handling.called == 2 && len_of(queue) == 0);
    millpond_shuffle_worker_free(handling.worker);

    /* By hand: what nobody works on any more is given back by a stop. */
    handling.worker = worker_with(queue);
    put(queue, "t", "other");
    OK(millpond_shuffle_worker_start(handling.worker, false, false, &run, &error));
    OK(millpond_shuffle_run_next(run, &job, &report, &error));
    CHECK(job != NULL && report == NULL);
    OK(millpond_shuffle_worker_stop(handling.worker, 0, &error));
    millpond_task_outcome outcome = {.end = 77, .delay_ms = MILLPOND_NOT_SET};
    FAILS(MILLPOND_INVALID_ARGUMENT, "end is 77",
          millpond_shuffle_run_end(run, job, &outcome, &error));
    OK(millpond_shuffle_run_end(run, job, NULL, &error));
    millpond_shuffle_job_free(job);
    OK(millpond_shuffle_run_next(run, &job, &report, &error));
    CHECK(job == NULL && report == NULL && len_of(queue) == 1);
    millpond_shuffle_run_free(run);
    millpond_shuffle_worker_free(handling.worker);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

const struct test shuffle_worker_tests[] = {
    {"a_handler_says_what_becomes_of_messages", a_handler_decides_how_messages_end},
    {"a_worker_waits_until_it_is_stopped", a_worker_waits_until_it_is_stopped},
    {NULL, NULL},
};
