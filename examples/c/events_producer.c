/* Publishes webhooks, in order for each customer, and one for later; run events_worker with the same URL to
   deliver them.

   cc events_producer.c -o events_producer $(pkg-config --cflags --libs millpond) &&
       ./events_producer redis://localhost

   Any number of producers may run. With the default, memory:, other programs do not see what is published. */

#include <millpond.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv) {
    static const struct {
        const char *key, *payload, *dedup_id;
        int delay_ms;
    } webhooks[] = {
        /* Those of a customer are delivered one after the other, in this order. */
        {"ann", "{\"to\": \"ann\", \"what\": \"paid\"}", NULL, 0},
        {"ann", "{\"to\": \"ann\", \"what\": \"packed\"}", NULL, 0},
        {"ann", "{\"to\": \"ann\", \"what\": \"sent\"}", NULL, 0},
        {"bob", "{\"to\": \"bob\", \"what\": \"paid\"}", NULL, 0},
        {"bob", "{\"to\": \"bob\", \"what\": \"packed\"}", NULL, 0},
        {"bob", "{\"to\": \"bob\", \"what\": \"sent\"}", NULL, 0},
        /* One whose address does not exist, one for later, and one that is published once, however often
           this runs. */
        {"nobody", "{\"to\": \"nobody\", \"what\": \"paid\"}", NULL, 0},
        {"ann", "{\"to\": \"ann\", \"what\": \"reviewed?\"}", NULL, 500},
        {NULL, "{\"to\": \"all\", \"what\": \"welcome\"}", "welcome", 0},
    };
    enum { COUNT = sizeof webhooks / sizeof *webhooks };
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_events_queue *queue;
    millpond_events_result *result;
    millpond_error *error;
    millpond_new_event events[COUNT];
    char headers[32];
    size_t length = millpond_headers_add(headers, 0, sizeof headers, "version", 7, "1", 1);
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_events_queue_new(client, "examples/webhooks", 17, &queue, &error), &error);

    for (int i = 0; i < COUNT; i++) {
        millpond_new_event_init(&events[i], sizeof events[i]);
        events[i].payload = text(webhooks[i].payload);
        if (webhooks[i].key != NULL)
            events[i].key = text(webhooks[i].key);
        if (webhooks[i].dedup_id != NULL)
            events[i].dedup_id = text(webhooks[i].dedup_id);
        if (webhooks[i].delay_ms > 0)
            events[i].delay_ms = webhooks[i].delay_ms;
        events[i].headers = (millpond_bytes){headers, length};
    }
    ok(millpond_events_publish_many(queue, events, COUNT, &result, &error), &error);
    int created = 0;
    for (size_t i = 0; i < COUNT; i++)
        created += millpond_events_result_published(result, i)->status == MILLPOND_EVENT_CREATED;
    printf("%d webhooks to deliver\n", created);

    millpond_events_result_free(result);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
