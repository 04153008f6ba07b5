/* A nightly job, by a cron expression, on a fleet of workers: one of them does it each night, once.

   cc events_nightly.c -o events_nightly $(pkg-config --cflags --libs millpond) &&
       ./events_nightly redis://localhost

   Any number of these may run. Seconds behind the URL stand for the night. With the default, memory:, the
   job is done at once. */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void print(const char *what, uint64_t at_us) {
    char shown[32];
    time_t seconds = (time_t)(at_us / 1000000);
    struct tm parts;
    strftime(shown, sizeof shown, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&seconds, &parts));
    printf("%s %s\n", what, shown);
}

/* Does the job. Which night's it is says the time at which the event was to fire. */
static void clean_up(millpond_events_job *job, millpond_task_outcome *outcome, void *context) {
    print("clean up for", millpond_events_job_data(job)->events->fire_at_us);
    (void)outcome, (void)context;
}

static uint64_t next_us(millpond_events_queue *queue) {
    millpond_events_result *result;
    millpond_error *error;
    int64_t at_us;
    ok(millpond_events_get_schedule(queue, "nightly", 7, &result, &error), &error);
    at_us = millpond_events_result_data(result)->schedules->next_us;
    millpond_events_result_free(result);
    return (uint64_t)at_us;
}

/* Does it now, and the night stays as it is. */
static void work_alone(millpond_events_queue *queue, millpond_events_worker *worker) {
    uint64_t night_us = next_us(queue);
    millpond_events_result *result;
    millpond_job_counts drained;
    millpond_error *error;
    ok(millpond_events_trigger_schedule(queue, "nightly", 7, &result, &error), &error);
    millpond_events_result_free(result);
    ok(millpond_events_worker_drain(worker, clean_up, NULL, NULL, &drained, &error), &error);
    assert(drained.done == 1 && next_us(queue) == night_us);
}

int main(int argc, char **argv) {
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_events_queue *queue;
    millpond_events_worker *worker;
    millpond_schedule nightly;
    millpond_error *error;
    setvbuf(stdout, NULL, _IOLBF, 0);
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_events_queue_new(client, "examples/jobs", 13, &queue, &error), &error);
    ok(millpond_events_worker_new(queue, NULL, &worker, &error), &error);

    /* Every process puts it when it starts: one that is there just so stays as it is. */
    millpond_schedule_init(&nightly, sizeof nightly);
    nightly.id = text("nightly");
    if (argc > 2) {
        nightly.every_ms = 1000 * atol(argv[2]);
    } else {
        nightly.cron = text("30 3 * * *");
        nightly.zone = text("Europe/Berlin");
    }
    ok(millpond_events_put_schedule(queue, &nightly, NULL, &error), &error);
    print("next at", next_us(queue));

    if (strcmp(url, "memory:") == 0) {
        work_alone(queue, worker);
    } else {
        ok(millpond_events_worker_stop_on_signals(worker, 25000, &error), &error);
        ok(millpond_events_worker_run(worker, clean_up, NULL, NULL, NULL, &error), &error);
    }
    millpond_events_worker_free(worker);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
