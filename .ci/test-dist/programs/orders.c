/* ./orders URL produce|work|count [NUMBER]: orders that become invoices, as in the other languages' programs. */
#include <millpond.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const millpond_bytes orders = {"orders", 6}, invoices = {"invoices", 8};

static void ok(millpond_status status, millpond_error *error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s\n", millpond_error_message(error));
    exit(1);
}

static void insert(millpond_tasks_store *store, int count) {
    millpond_error *error = NULL;
    for (int order = 0; order < count; order++) {
        char value[32];
        int length = snprintf(value, sizeof value, "{\"number\": %d}", order);
        ok(millpond_tasks_insert(store, orders.data, orders.length, value, (size_t)length, NULL, &error), error);
    }
}

static void bill(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    static millpond_task_id done;
    static millpond_new_task invoice;
    static millpond_tasks_modification both;
    const millpond_task *order = millpond_tasks_job_data(job)->tasks;
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    printf("%d\n", atoi(strchr(order->value.data, ':') + 1));
    fflush(stdout);
    done = (millpond_task_id){order->id, order->version};
    millpond_new_task_init(&invoice, sizeof invoice);
    invoice.queue = invoices;
    invoice.value = order->value;
    both = (millpond_tasks_modification){.size = sizeof both, .deletes = &done, .delete_count = 1,
                                         .inserts = &invoice, .insert_count = 1};
    outcome->end = MILLPOND_TASK_FINISH;
    outcome->modification = &both;
    (void)context;
}

int main(int count, char **arguments) {
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_tasks_worker *worker;
    millpond_tasks_worker_options options;
    millpond_error *error = NULL;
    const char *url = arguments[1], *role = arguments[2];

    ok(millpond_connect(url, strlen(url), &client, &error), error);
    ok(millpond_tasks_store_new(client, "shop", 4, NULL, 0, &store, &error), error);
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.lease_ms = 1000;
    ok(millpond_tasks_worker_new(store, &orders, 1, &options, &worker, &error), error);
    if (!strcmp(role, "produce")) {
        insert(store, count > 3 ? atoi(arguments[3]) : 0);
    } else if (!strcmp(role, "work")) {
        ok(millpond_tasks_worker_stop_on_signals(worker, 25000, &error), error);
        ok(millpond_tasks_worker_run(worker, bill, NULL, NULL, NULL, &error), error);
        puts("stopped");
    } else {
        millpond_tasks_result *result;
        long left = 0, made = 0;
        if (!strcmp(url, "memory:")) {
            insert(store, 3);
            ok(millpond_tasks_worker_drain(worker, bill, NULL, NULL, NULL, &error), error);
        }
        ok(millpond_tasks_queue_stats(store, NULL, &result, &error), error);
        const millpond_task_queue_stats *queue;
        for (size_t index = 0; (queue = millpond_tasks_result_queue(result, index)) != NULL; index++)
            *(queue->queue.length == orders.length ? &left : &made) += (long)queue->size;
        printf("%ld orders, %ld invoices\n", left, made);
        millpond_tasks_result_free(result);
    }
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
    return 0;
}
