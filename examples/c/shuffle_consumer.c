/* Works on what shuffle_producer writes, until nothing has come for a second.

   cc shuffle_consumer.c -o shuffle_consumer $(pkg-config --cflags --libs millpond) &&
       ./shuffle_consumer redis://localhost

   Any number of consumers may run, each with a name of its own. With the default, memory:, it
   writes a few messages for itself first. */

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

/* Works on the messages, one after the other. A message is done when it is acknowledged. A program
   that ends before leaves the rest of the batch pending, and another consumer reclaims it: at least
   once. */
static int print(millpond_shuffle_consumer *consumer, const millpond_shuffle_batch *batch) {
    const millpond_shuffle_message *message;
    int printed = 0;
    for (; (message = millpond_shuffle_batch_at(batch, (size_t)printed)) != NULL; printed++) {
        const millpond_shuffle_field *page = millpond_shuffle_message_field(message, "page", 4);
        const millpond_shuffle_field *tenant = millpond_shuffle_message_field(message, "tenant", 6);
        millpond_error *error;
        assert(page != NULL && tenant != NULL);
        printf("printing page %.*s for %.*s\n", (int)page->value_length, page->value,
               (int)tenant->value_length, tenant->value);
        ok(millpond_shuffle_ack_and_delete(consumer, &message->receipt, 1, NULL, &error), &error);
    }
    return printed;
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    char own_name[32];
    snprintf(own_name, sizeof own_name, "printer-%ld", (long)getpid());
    millpond_client *client;
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_shuffle_queue_new(client, name, strlen(name), NULL, &queue, &error), &error);
    if (strcmp(url, "memory:") == 0)
        write_some(queue);

    millpond_shuffle_consumer_options options;
    millpond_shuffle_consumer_options_init(&options, sizeof options);
    options.max_deliveries = 5;
    ok(millpond_shuffle_consumer_new(queue, group, strlen(group), own_name, strlen(own_name),
                                     &options, &consumer, &error),
       &error);

    /* What was delivered to others a minute ago and is not finished comes first. A message
       that was tried five times becomes a dead letter. */
    uint64_t dead;
    ok(millpond_shuffle_reclaim(consumer, 60000, 100, &batch, &dead, &error), &error);
    int printed = print(consumer, batch);
    millpond_shuffle_batch_free(batch);

    millpond_shuffle_messages *messages;
    ok(millpond_shuffle_messages_new(consumer, 10, 1000, &messages, &error), &error);
    while (ok(millpond_shuffle_messages_next(messages, &batch, &error), &error), batch != NULL) {
        printed += print(consumer, batch);
        millpond_shuffle_batch_free(batch);
    }
    millpond_shuffle_messages_free(messages);

    uint64_t pending;
    ok(millpond_shuffle_pending_count(queue, group, strlen(group), &pending, &error), &error);
    assert((printed == 3 && pending == 0) || strcmp(url, "memory:") != 0);
    printf("%d pages, %llu given up, %llu still with others\n", printed, (unsigned long long)dead,
           (unsigned long long)pending);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
