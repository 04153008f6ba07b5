/* Works on what shuffle_producer writes, until Ctrl-C or SIGTERM.

   cc shuffle_consumer.c -o shuffle_consumer $(pkg-config --cflags --libs millpond) &&
       ./shuffle_consumer redis://localhost

   Any number of consumers may run, each with a name of its own. With the default, memory:, it works
   off a few messages of its own. */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "{examples/jobs}";
static const char group[] = "printers";

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static void write_some(millpond_shuffle_queue *queue) {
    const char *tenants[] = {"ann", "bob", "cy"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(tenants[i]);
        millpond_shuffle_field fields[] = {{"tenant", 6, tenants[i], length}, {"page", 4, "1", 1}};
        millpond_error *error;
        ok(millpond_shuffle_write(queue, tenants[i], length, fields, 2, NULL, &error), &error);
    }
}

/* The work, which must be safe to do twice: a message is delivered at least once. */
static void print(millpond_shuffle_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_shuffle_message *message = millpond_shuffle_job_data(job);
    const millpond_shuffle_field *page = millpond_shuffle_message_field(message, "page", 4);
    const millpond_shuffle_field *tenant = millpond_shuffle_message_field(message, "tenant", 6);
    if (page == NULL || tenant == NULL) {
        outcome->end = MILLPOND_TASK_REJECT;
        return;
    }
    printf("printing page %.*s for %.*s\n", (int)page->value_length, page->value,
           (int)tenant->value_length, tenant->value);
    (void)context;
}

static millpond_shuffle_worker *worker_of(millpond_shuffle_queue *queue) {
    /* A message is renewed while it is worked on, and then acknowledged and deleted. If that fails
       it is delivered again, later; one that was tried five times becomes a dead letter. What a
       consumer left that is gone is taken over after the lease, which all workers share. What goes
       wrong is logged to standard error. */
    millpond_shuffle_consumer_options settings;
    millpond_shuffle_worker_options options;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_worker *worker;
    millpond_error *error;
    char own_name[32];
    snprintf(own_name, sizeof own_name, "printer-%ld", (long)getpid());
    millpond_shuffle_consumer_options_init(&settings, sizeof settings);
    settings.max_deliveries = 5;
    ok(millpond_shuffle_consumer_new(queue, group, strlen(group), own_name, strlen(own_name),
                                     &settings, &consumer, &error),
       &error);
    millpond_shuffle_worker_options_init(&options, sizeof options);
    options.lease_ms = 60000;
    options.delete_done = true;
    ok(millpond_shuffle_worker_new(consumer, &options, &worker, &error), &error);
    millpond_shuffle_consumer_free(consumer);
    return worker;
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    millpond_client *client;
    millpond_shuffle_queue *queue;
    millpond_job_counts drained;
    millpond_error *error;
    uint64_t pending;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_shuffle_queue_new(client, name, strlen(name), NULL, &queue, &error), &error);
    millpond_shuffle_worker *worker = worker_of(queue);
    if (strcmp(url, "memory:") == 0) {
        write_some(queue);
        ok(millpond_shuffle_worker_drain(worker, print, NULL, NULL, &drained, &error), &error);
        assert(drained.done == 3);
    } else {
        /* The first signal lets the page that is being printed be printed, for up to 25 s; a second
           one does not. */
        ok(millpond_shuffle_worker_stop_on_signals(worker, 25000, &error), &error);
        ok(millpond_shuffle_worker_run(worker, print, NULL, NULL, NULL, &error), &error);
    }
    ok(millpond_shuffle_pending_count(queue, group, strlen(group), &pending, &error), &error);
    printf("%llu still with others\n", (unsigned long long)pending);
    millpond_shuffle_worker_free(worker);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
