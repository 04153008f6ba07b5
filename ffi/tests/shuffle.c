/* Writing to a shuffle queue and reading from it. */

#include "shuffle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void writes_and_reads(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "writes");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_batch *batch;
    millpond_error *error;
    uint64_t count = 77;

    OK(millpond_shuffle_read(consumer, 10, 0, &batch, &error));
    BATCH(batch, "");
    uint32_t shard[2];
    OK(millpond_shuffle_shard(16, 2, S("tenant"), shard, &error));
    millpond_shuffle_receipt first = put(queue, "tenant", "1"), second = put(queue, "tenant", "2");
    CHECK(first.stream == shard[0] && second.stream == shard[1]);
    CHECK(len_of(queue) == 2 && backlog_of(queue) == 2 && pending_of(queue, "g") == 0);

    OK(millpond_shuffle_read(consumer, 1, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 1);
    millpond_shuffle_receipt taken = millpond_shuffle_batch_messages(batch)->receipt;
    CHECK(same(taken, first) || same(taken, second));
    CHECK(millpond_shuffle_batch_messages(batch)->deliveries == 1);
    BATCH(batch, same(taken, first) ? "task=1" : "task=2");
    CHECK(pending_of(queue, "g") == 1);

    OK(millpond_shuffle_ack(consumer, &taken, 1, &count, &error));
    CHECK(count == 1);
    OK(millpond_shuffle_ack(consumer, &taken, 1, &count, &error));
    CHECK(count == 0 && len_of(queue) == 2 && backlog_of(queue) == 1 && pending_of(queue, "g") == 0);

    OK(millpond_shuffle_read(consumer, 10, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 1);
    millpond_shuffle_batch_free(batch);
    OK(millpond_shuffle_ack_and_delete(consumer, (millpond_shuffle_receipt[]){first, second}, 2,
                                       NULL, &error));
    CHECK(len_of(queue) == 0 && backlog_of(queue) == 0);
    OK(millpond_shuffle_ack(consumer, NULL, 0, &count, &error));
    CHECK(count == 0);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void any_bytes_in_order(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "bytes");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_batch *batch;
    millpond_error *error;

    /* The same field twice, with NUL, with what is no UTF-8, and without anything. */
    millpond_shuffle_field fields[] = {{S("b"), S("a\0b")}, {S("a"), S("\xff\xfe")},
                                       {S("b"), NULL, 0},   {NULL, 0, S("x")}};
    OK(millpond_shuffle_write(queue, S("\0\xff"), fields, 4, NULL, &error));
    OK(millpond_shuffle_read(consumer, 10, 0, &batch, &error));
    const millpond_shuffle_message *message = millpond_shuffle_batch_messages(batch);
    CHECK(millpond_shuffle_batch_length(batch) == 1 && message->field_count == 4);
    for (size_t i = 0; i < 4; i++) {
        const millpond_shuffle_field *found = &message->fields[i];
        CHECK(found->field_length == fields[i].field_length);
        CHECK(found->value_length == fields[i].value_length);
        CHECK(found->field != NULL && found->value != NULL);
        CHECK(found->field_length == 0 ||
              memcmp(found->field, fields[i].field, found->field_length) == 0);
        CHECK(found->value_length == 0 ||
              memcmp(found->value, fields[i].value, found->value_length) == 0);
    }

    /* All in one buffer, without gaps. */
    CHECK(millpond_shuffle_batch_fields(batch) == message->fields);
    CHECK(millpond_shuffle_batch_fields_length(batch) == 4);
    CHECK(millpond_shuffle_batch_bytes_length(batch) == 9);
    CHECK(memcmp(millpond_shuffle_batch_bytes(batch), "ba\0ba\xff\xfe" "bx", 9) == 0);
    CHECK(message->fields[0].field == millpond_shuffle_batch_bytes(batch));

    /* The first of a name. */
    CHECK(millpond_shuffle_message_field(message, S("b")) == &message->fields[0]);
    CHECK(millpond_shuffle_message_field(message, S("a")) == &message->fields[1]);
    CHECK(millpond_shuffle_message_field(message, NULL, 0) == &message->fields[3]);
    CHECK(millpond_shuffle_message_field(message, S("c")) == NULL);
    CHECK(millpond_shuffle_message_field(NULL, S("a")) == NULL);
    CHECK(millpond_shuffle_message_field(message, NULL, 3) == NULL);
    millpond_shuffle_batch_free(batch);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void writes_many(const struct backend *backend) {
    /* More than one step, and so many that a reader needs two. */
    enum { MANY = 12000, TENANTS = 50 };
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "many");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_batch *batch;
    millpond_error *error;
    static char keys[TENANTS][8], values[MANY][8];
    static bool seen[MANY];
    millpond_shuffle_new_message *messages = calloc(MANY, sizeof *messages);
    millpond_shuffle_field *fields = calloc(MANY, sizeof *fields);
    millpond_shuffle_receipt *receipts = calloc(MANY, sizeof *receipts);
    uint64_t count, done = 0;

    for (int i = 0; i < MANY; i++) {
        int tenant = snprintf(keys[i % TENANTS], sizeof keys[0], "t%d", i % TENANTS);
        int value = snprintf(values[i], sizeof values[i], "%d", i);
        fields[i] = (millpond_shuffle_field){"n", 1, values[i], (size_t)value};
        messages[i] =
            (millpond_shuffle_new_message){sizeof *messages, keys[i % TENANTS], (size_t)tenant, &fields[i], 1};
        seen[i] = false;
    }
    OK(millpond_shuffle_write_many(queue, messages, MANY, receipts, &error));
    for (int i = 0; i < MANY; i++) {
        uint32_t shard[2];
        OK(millpond_shuffle_shard(16, 2, messages[i].shard_key, messages[i].shard_key_length, shard,
                                  &error));
        CHECK(receipts[i].stream == shard[0] || receipts[i].stream == shard[1]);
    }
    CHECK(len_of(queue) == MANY);
    for (;;) {
        OK(millpond_shuffle_read(consumer, 10000, 0, &batch, &error));
        const millpond_shuffle_message *message = millpond_shuffle_batch_messages(batch);
        size_t length = millpond_shuffle_batch_length(batch);
        for (size_t i = 0; i < length; i++) {
            char number[8] = "";
            CHECK(message[i].field_count == 1 && message[i].fields->value_length < sizeof number);
            memcpy(number, message[i].fields->value, message[i].fields->value_length);
            CHECK(same(message[i].receipt, receipts[atoi(number)]) && !seen[atoi(number)]);
            seen[atoi(number)] = true;
        }
        done += length;
        millpond_shuffle_batch_free(batch);
        if (length == 0)
            break;
    }
    CHECK(done == MANY);
    OK(millpond_shuffle_ack_and_delete(consumer, receipts, MANY, &count, &error));
    CHECK(count == MANY && len_of(queue) == 0);

    /* Of one that is refused, none is written. */
    fields[1].value = "x";
    messages[1].field_count = 0;
    memset(receipts, 7, 2 * sizeof *receipts);
    FAILS(MILLPOND_INVALID_ARGUMENT, "message 1 has 0 fields",
          millpond_shuffle_write_many(queue, messages, 2, receipts, &error));
    CHECK(receipts[0].id_time_ms == 0 && receipts[1].id_time_ms == 0 && len_of(queue) == 0);
    OK(millpond_shuffle_write_many(queue, messages, 1, NULL, &error));
    OK(millpond_shuffle_write_many(queue, NULL, 0, NULL, &error));
    CHECK(len_of(queue) == 1);
    free(messages), free(fields), free(receipts);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void settings(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_stats *stats;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    millpond_shuffle_options options;
    millpond_shuffle_consumer_options of_consumer;
    millpond_shuffle_field field = {S("n"), S("1")};

    millpond_shuffle_options_init(&options, sizeof options);
    options.streams = 5, options.streams_per_shard = 1, options.ttl_ms = 60000;
    OK(millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    int64_t last = put(queue, "t", "1").stream;
    CHECK(last < 5 && put(queue, "t", "2").stream == last);
    OK(millpond_shuffle_stats_read(queue, S("g"), &stats, &error));
    CHECK(millpond_shuffle_stats_length(stats) == 5);
    millpond_shuffle_stats_free(stats);
    /* A tenant of another stream. */
    char other[16] = "";
    uint32_t shard = (uint32_t)last;
    for (int i = 0; shard == last; i++) {
        snprintf(other, sizeof other, "%d", i);
        OK(millpond_shuffle_shard(5, 1, other, strlen(other), &shard, &error));
    }
    CHECK(put(queue, other, "3").stream == shard);

    millpond_shuffle_consumer_options_init(&of_consumer, sizeof of_consumer);
    of_consumer.prefer_stream = last;
    OK(millpond_shuffle_consumer_new(queue, S("g"), S("c"), &of_consumer, &consumer, &error));
    /* Until it joins the stream, its group takes all in turn. */
    OK(millpond_shuffle_read(consumer, 1, 0, &batch, &error));
    millpond_shuffle_batch_free(batch);
    OK(millpond_shuffle_read(consumer, 10, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 2);
    millpond_shuffle_batch_free(batch);
    put(queue, other, "4"), put(queue, "t", "5"), put(queue, "t", "6");
    OK(millpond_shuffle_read(consumer, 2, 0, &batch, &error));
    BATCH(batch, "task=5; task=6");
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);

    /* Invalid settings are refused by the step, and meaningless ones at once. */
    options.streams = 0;
    OK(millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 65536 streams, not 0",
          millpond_shuffle_write(queue, S("t"), &field, 1, NULL, &error));
    millpond_shuffle_queue_free(queue);
    millpond_shuffle_options_init(&options, sizeof options);
    options.ttl_ms = 999;
    OK(millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "999ms; it has to be between a second",
          millpond_shuffle_write(queue, S("t"), &field, 1, NULL, &error));
    millpond_shuffle_queue_free(queue);
    options.ttl_ms = -2;
    FAILS(MILLPOND_INVALID_ARGUMENT, "ttl_ms is -2, which is out of range",
          millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    CHECK(queue == NULL);
    /* What -1 once left out. */
    int64_t *optional[] = {&options.streams, &options.streams_per_shard, &options.ttl_ms,
                           &options.dead_ttl_ms};
    for (size_t i = 0; i < 4; i++) {
        millpond_shuffle_options_init(&options, sizeof options);
        *optional[i] = -1;
        FAILS(MILLPOND_INVALID_ARGUMENT, "is -1, which is out of range",
              millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    }
    millpond_shuffle_options_init(&options, sizeof options);
    options.streams = INT64_C(1) << 32;
    FAILS(MILLPOND_INVALID_ARGUMENT, "streams is 4294967296",
          millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    millpond_shuffle_options_init(&options, sizeof options);
    options.track_keys = 3;
    FAILS(MILLPOND_INVALID_ARGUMENT, "it has to be MILLPOND_SHUFFLE_TRACK_GLOBAL or",
          millpond_shuffle_queue_new(client, S("settings"), &options, &queue, &error));
    queue = queue_of(client, "settings");
    of_consumer.prefer_stream = -2;
    FAILS(MILLPOND_INVALID_ARGUMENT, "prefer_stream is -2",
          millpond_shuffle_consumer_new(queue, S("g"), S("c"), &of_consumer, &consumer, &error));
    CHECK(consumer == NULL);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

/* A queue keeps its number of streams until it is resized, whichever client writes to it. */
static void sizes(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue, *other;
    millpond_error *error;
    millpond_shuffle_options options;
    millpond_shuffle_field field = {S("n"), S("1")};
    uint32_t now = 77;

    millpond_shuffle_options_init(&options, sizeof options);
    options.streams = 5;
    OK(millpond_shuffle_queue_new(client, S("sizes"), &options, &queue, &error));
    put(queue, "t", "1");
    options.streams = 3;
    OK(millpond_shuffle_queue_new(client, S("sizes"), &options, &other, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "the queue has 5 streams, and this writer was given 3",
          millpond_shuffle_write(other, S("t"), &field, 1, NULL, &error));
    CHECK(len_of(queue) == 1);
    millpond_shuffle_queue_free(queue);
    queue = queue_of(client, "sizes");
    CHECK(put(queue, "t", "2").stream < 5);
    OK(millpond_shuffle_resize(queue, 8, &now, &error));
    CHECK(now == 8);
    OK(millpond_shuffle_resize(queue, 1, NULL, &error));
    CHECK(put(queue, "t", "3").stream == 0);
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 65536 streams, not 0",
          millpond_shuffle_resize(queue, 0, &now, &error));
    CHECK(now == 0);
    millpond_shuffle_queue_free(queue);
    millpond_shuffle_queue_free(other);
    millpond_client_free(client);
}

static void shards(const struct backend *backend) {
    (void)backend;
    millpond_error *error;
    uint32_t numbers[] = {7, 7, 7, 7, 7};
    OK(millpond_shuffle_shard(16, 4, S("tuna"), numbers, &error));
    CHECK(numbers[0] == 15 && numbers[1] == 13 && numbers[2] == 2 && numbers[3] == 12);
    CHECK(numbers[4] == 7);
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 16 of the queue's 16 streams, not 17",
          millpond_shuffle_shard(16, 17, S("tuna"), numbers, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "the shard key is empty",
          millpond_shuffle_shard(16, 1, NULL, 0, numbers, &error));
    CHECK(numbers[0] == 15);
}

static void a_loop_acknowledges_nothing(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "loop ends");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_messages *messages;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    uint64_t pending;

    for (int i = 0; i < 3; i++)
        put(queue, "t", "x");
    OK(millpond_shuffle_messages_new(consumer, 2, 0, &messages, &error));
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    BATCH(batch, "task=x; task=x");
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    BATCH(batch, "task=x");
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    CHECK(batch == NULL);
    OK(millpond_shuffle_pending_count(queue, S("g"), &pending, &error));
    CHECK(pending == 3);
    millpond_shuffle_messages_free(messages);
    OK(millpond_shuffle_messages_new(consumer, 0, 0, &messages, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 10000 messages, not 0",
          millpond_shuffle_messages_next(messages, &batch, &error));
    millpond_shuffle_messages_free(messages);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

const struct test shuffle_tests[] = {
    {"writes_and_reads", writes_and_reads},
    {"any_bytes_in_order", any_bytes_in_order},
    {"writes_many", writes_many},
    {"settings", settings},
    {"sizes", sizes},
    {"shards", shards},
    {"a_loop_acknowledges_nothing", a_loop_acknowledges_nothing},
    {NULL, NULL},
};
