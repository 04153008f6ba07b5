/* What events are for: things that happen at their time, in order for each customer, until somebody has
   done them.

   cc events.c -o events $(pkg-config --cflags --libs millpond) && ./events redis://localhost */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DAY_MS = 24 * 60 * 60 * 1000 };

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

static millpond_new_event event_of(const char *payload, const char *key) {
    millpond_new_event event;
    millpond_new_event_init(&event, sizeof event);
    event.payload = text(payload);
    event.key = text(key);
    return event;
}

/* A reminder of a day from now, once; the caller frees what became of it. */
static millpond_events_result *remind(millpond_events_queue *queue) {
    millpond_events_result *result;
    millpond_error *error;
    millpond_new_event event;
    millpond_new_event_init(&event, sizeof event);
    event.payload = text("remind ann");
    event.delay_ms = DAY_MS;
    event.dedup_id = text("cart-of-ann");
    ok(millpond_events_publish(queue, &event, &result, &error), &error);
    return result;
}

int main(int argc, char **argv) {
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_events_queue *queue;
    millpond_events_result *result;
    millpond_error *error;
    uint32_t outcome;
    char name[64];
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    /* A queue of its own for each run. */
    int length = snprintf(name, sizeof name, "examples/shop/%ld", (long)getpid());
    ok(millpond_events_queue_new(client, name, (size_t)length, &queue, &error), &error);

    /* A cart is left: a reminder tomorrow, once, however often the page says so. */
    millpond_events_result *first = remind(queue), *again = remind(queue);
    millpond_bytes id = millpond_events_result_published(first, 0)->id;
    assert(millpond_events_result_published(again, 0)->status == MILLPOND_EVENT_DUPLICATE);

    /* She looks at it again: a day later. She buys: no reminder. */
    ok(millpond_events_reschedule(queue, &id, 1, 2 * DAY_MS, &outcome, &error), &error);
    assert(outcome == MILLPOND_EVENT_RESCHEDULE_RESCHEDULED);
    ok(millpond_events_cancel(queue, &id, 1, false, false, &outcome, &error), &error);
    assert(outcome == MILLPOND_EVENT_CANCEL_REMOVED);
    millpond_events_result_free(first);
    millpond_events_result_free(again);

    /* What happens to one order happens in order; other orders do not wait for it. */
    millpond_new_event events[] = {event_of("order 7 is paid", "order-7"),
                                   event_of("order 7 is sent", "order-7"),
                                   event_of("order 8 is paid", "order-8")};
    ok(millpond_events_publish_many(queue, events, 3, &result, &error), &error);
    millpond_events_result_free(result);
    ok(millpond_events_receive(queue, 10, &result, &error), &error);
    assert(millpond_events_result_data(result)->event_count == 2);
    const millpond_event *paid = millpond_events_result_event(result, 0);
    const millpond_event *other = millpond_events_result_event(result, 1);
    millpond_event_receipt receipts[] = {{paid->id, paid->token}, {other->id, other->token}};

    /* The printer is out of paper: this one comes again at once, and before what follows in its order. */
    ok(millpond_events_nack(queue, &receipts[0], "out of paper", 12, 0, &error), &error);
    ok(millpond_events_ack(queue, &receipts[1], &error), &error);
    millpond_events_result_free(result);
    for (int i = 0; i < 2; i++) {
        ok(millpond_events_receive(queue, 10, &result, &error), &error);
        const millpond_event *event = millpond_events_result_event(result, 0);
        assert(memcmp(event->payload.data, events[i].payload.data, event->payload.length) == 0);
        printf("%.*s (attempt %d)\n", (int)event->payload.length, event->payload.data,
               (int)event->attempts);
        millpond_event_receipt receipt = {event->id, event->token};
        ok(millpond_events_ack(queue, &receipt, &error), &error);
        millpond_events_result_free(result);
    }

    ok(millpond_events_stats(queue, &result, &error), &error);
    assert(millpond_events_result_data(result)->stats->events == 0);
    millpond_events_result_free(result);
    ok(millpond_events_delete(queue, &error), &error);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
