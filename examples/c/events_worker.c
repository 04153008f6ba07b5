/* Delivers what events_producer publishes, until Ctrl-C or SIGTERM.

   cc events_worker.c -o events_worker $(pkg-config --cflags --libs millpond) -lpthread &&
       ./events_worker redis://localhost

   Any number of workers may run. With the default, memory:, it delivers a few webhooks of its own. */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 4 };

static millpond_bytes text(const char *literal) {
    millpond_bytes bytes = {literal, strlen(literal)};
    return bytes;
}

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static bool is(millpond_bytes bytes, const char *literal) {
    return bytes.length == strlen(literal) && memcmp(bytes.data, literal, bytes.length) == 0;
}

/* Delivers a webhook. The customer's next one comes when this one has ended. */
static void deliver(millpond_events_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_event *event = millpond_events_job_data(job)->events;
    bool lost;
    (void)context;
    if (millpond_events_job_is_lost(job, &lost, NULL) != MILLPOND_OK || lost) {
        outcome->end = MILLPOND_TASK_RELEASE;
    } else if (is(event->key, "nobody")) {
        outcome->end = MILLPOND_TASK_REJECT;
        outcome->err = text("no such address");
    } else if (is(event->key, "bob") && event->attempts == 1) {
        /* A server that is busy is asked again: what fails is put off, each time longer, and holds up
           its own customer only. */
        outcome->end = MILLPOND_TASK_RETRY;
        outcome->err = text("bob's server is busy");
        outcome->delay_ms = 20;
    } else {
        printf("deliver %.*s\n", (int)event->payload.length, event->payload.data);
    }
}

/* One of the threads that work. */
static void *work(void *worker) {
    millpond_error *error;
    ok(millpond_events_worker_run(worker, deliver, NULL, NULL, NULL, &error), &error);
    return NULL;
}

/* Works until a signal: the first lets webhooks that are being delivered be delivered, for up to
   25 s; a second one does not. */
static void work_until_a_signal(millpond_events_worker *worker) {
    pthread_t threads[THREADS];
    millpond_error *error;
    ok(millpond_events_worker_stop_on_signals(worker, 25000, &error), &error);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, worker);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Delivers three webhooks of its own, of which one is tried again and one is refused. */
static void work_alone(millpond_events_queue *queue, millpond_events_worker *worker) {
    static const char *const customers[] = {"ann", "bob", "nobody"};
    const struct timespec pause = {0, 30 * 1000 * 1000};
    millpond_job_counts drained;
    millpond_error *error;
    for (int i = 0; i < 3; i++) {
        millpond_new_event event;
        millpond_new_event_init(&event, sizeof event);
        event.payload = text("{\"what\": \"paid\"}");
        event.key = text(customers[i]);
        ok(millpond_events_publish(queue, &event, NULL, &error), &error);
    }
    ok(millpond_events_worker_drain(worker, deliver, NULL, NULL, &drained, &error), &error);
    assert(drained.done == 1 && drained.dead == 1);
    nanosleep(&pause, NULL);
    ok(millpond_events_worker_drain(worker, deliver, NULL, NULL, &drained, &error), &error);
    assert(drained.done == 1);
}

int main(int argc, char **argv) {
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_events_queue *queue;
    millpond_events_worker *worker;
    millpond_events_worker_options options;
    millpond_events_result *result;
    millpond_error *error;
    setvbuf(stdout, NULL, _IOLBF, 0);
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_events_queue_new(client, "examples/webhooks", 17, &queue, &error), &error);
    millpond_events_worker_options_init(&options, sizeof options);
    options.concurrency = THREADS;
    ok(millpond_events_worker_new(queue, &options, &worker, &error), &error);

    if (strcmp(url, "memory:") == 0)
        work_alone(queue, worker);
    else
        work_until_a_signal(worker);

    ok(millpond_events_stats(queue, &result, &error), &error);
    printf("%d webhooks could not be delivered\n",
           (int)millpond_events_result_data(result)->stats->dead);
    millpond_events_result_free(result);
    millpond_events_worker_free(worker);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
