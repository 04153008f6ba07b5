/* What a shuffle queue is for: one tenant's burst does not delay the others, and what a worker that
   dies has taken is not lost.

   cc shuffle.c -o shuffle $(pkg-config --cflags --libs millpond) && ./shuffle [URL] */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST = 1000 };

static const char name[] = "{examples/shuffle}";
static const char group[] = "workers";

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static millpond_shuffle_consumer *consumer_of(millpond_shuffle_queue *queue, const char *consumer) {
    millpond_shuffle_consumer *made;
    millpond_error *error;
    ok(millpond_shuffle_consumer_new(queue, group, strlen(group), consumer, strlen(consumer), NULL,
                                     &made, &error),
       &error);
    return made;
}

/* Acknowledges the messages and deletes them, for all groups: here one group does all the work. */
static uint64_t finish(millpond_shuffle_consumer *consumer, const millpond_shuffle_batch *batch) {
    millpond_shuffle_receipt done[100];
    size_t length = millpond_shuffle_batch_length(batch);
    uint64_t acknowledged;
    millpond_error *error;
    assert(length <= 100);
    for (size_t i = 0; i < length; i++)
        done[i] = millpond_shuffle_batch_at(batch, i)->receipt;
    ok(millpond_shuffle_ack_and_delete(consumer, done, length, &acknowledged, &error), &error);
    return acknowledged;
}

/* Reads and finishes everything, also what an interrupted earlier run left. Two at once would see
   each other's messages. */
static void finish_all(millpond_shuffle_consumer *consumer) {
    millpond_shuffle_messages *messages;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    size_t left;
    do {
        ok(millpond_shuffle_reclaim(consumer, 0, 100, &batch, NULL, &error), &error);
        left = millpond_shuffle_batch_length(batch);
        finish(consumer, batch);
        millpond_shuffle_batch_free(batch);
    } while (left > 0);
    ok(millpond_shuffle_messages_new(consumer, 100, 0, &messages, &error), &error);
    while (ok(millpond_shuffle_messages_next(messages, &batch, &error), &error), batch != NULL) {
        finish(consumer, batch);
        millpond_shuffle_batch_free(batch);
    }
    millpond_shuffle_messages_free(messages);
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    millpond_client *client;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);

    /* 64 streams, of which each tenant writes to 4: its shard. */
    millpond_shuffle_queue *queue;
    millpond_shuffle_options options;
    millpond_shuffle_options_init(&options, sizeof options);
    options.streams = 64;
    options.streams_per_shard = 4;
    ok(millpond_shuffle_queue_new(client, name, strlen(name), &options, &queue, &error), &error);
    millpond_shuffle_consumer *consumer = consumer_of(queue, "worker-1");
    finish_all(consumer);

    /* One tenant writes a thousand messages, and then another one writes one. */
    millpond_shuffle_field image = {"image", 5, "many.png", 8};
    static millpond_shuffle_new_message burst[BURST];
    for (size_t i = 0; i < BURST; i++) {
        millpond_shuffle_new_message_init(&burst[i], sizeof burst[i]);
        burst[i].shard_key = "busy", burst[i].shard_key_length = 4;
        burst[i].fields = &image, burst[i].field_count = 1;
    }
    ok(millpond_shuffle_write_many(queue, burst, BURST, NULL, &error), &error);
    millpond_shuffle_field fields[] = {{"image", 5, "one.png", 7}, {"size", 4, "40x40", 5}};
    ok(millpond_shuffle_write(queue, "quiet", 5, fields, 2, NULL, &error), &error);

    /* The busy one has four of the streams, and consumers read from all that have messages, in
       turn: the quiet one's message is among the first five. */
    millpond_shuffle_batch *batch;
    ok(millpond_shuffle_read(consumer, 5, 0, &batch, &error), &error);
    const millpond_shuffle_message *message;
    int quiet = 0;
    for (size_t i = 0; (message = millpond_shuffle_batch_at(batch, i)) != NULL; i++) {
        const millpond_shuffle_field *size = millpond_shuffle_message_field(message, "size", 4);
        quiet += size != NULL && size->value_length == 5 && memcmp(size->value, "40x40", 5) == 0;
    }
    assert(quiet == 1);
    millpond_shuffle_batch_free(batch);
    printf("the message of the quiet tenant had not to wait for a thousand others\n");

    /* worker-1 dies here, with five messages that it has not acknowledged. Another one reclaims
       them. In production min_idle is much longer than the longest job, not 0 milliseconds. */
    millpond_shuffle_consumer *other = consumer_of(queue, "worker-2");
    ok(millpond_shuffle_reclaim(other, 0, 100, &batch, NULL, &error), &error);
    assert(millpond_shuffle_batch_length(batch) == 5);
    assert(millpond_shuffle_batch_at(batch, 0)->deliveries == 2);
    uint64_t finished = finish(other, batch);
    assert(finished == 5);
    millpond_shuffle_batch_free(batch);
    printf("what a worker had taken that died was taken over; %d messages\n", (int)finished);

    /* Done is what is acknowledged. */
    finish_all(other);
    uint64_t backlog;
    ok(millpond_shuffle_backlog(queue, &backlog, &error), &error);
    assert(backlog == 0);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_consumer_free(other);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
