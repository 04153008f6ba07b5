/* Wrong calls on the shuffle queue return an error, and nothing else happens. */

#include "shuffle.h"

#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)

static void null_and_lengths(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "wrong"), *other = (void *)1;
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c"), *second = (void *)1;
    millpond_shuffle_batch *batch = (void *)1;
    millpond_shuffle_messages *messages = (void *)1;
    millpond_keys *keys;
    millpond_error *error;
    millpond_shuffle_field fields[] = {{S("a"), S("1")}, {NULL, 3, S("1")}, {S("a"), NULL, 3}};
    millpond_shuffle_new_message many[] = {{sizeof *many, S("t"), fields, 1}, {sizeof *many, NULL, 3, fields, 1}};
    millpond_shuffle_receipt receipts[] = {{0, 1, 0}, {-2, 1, 0}}, receipt;
    uint32_t number;
    uint64_t len;

    WRONG("queue is NULL; it must point to where",
          millpond_shuffle_queue_new(client, S("x"), NULL, NULL, &error));
    WRONG("name is NULL, but its length is 1",
          millpond_shuffle_queue_new(client, NULL, 1, NULL, &other, &error));
    CHECK(other == NULL);
    WRONG("options is", millpond_shuffle_queue_new(client, S("x"), (void *)((char *)fields + 1),
                                                   &other, &error));
    WRONG("made is NULL", millpond_shuffle_consumer_new(queue, S("g"), S("c"), NULL, NULL, &error));
    WRONG("group is NULL",
          millpond_shuffle_consumer_new(queue, NULL, 1, S("c"), NULL, &second, &error));
    WRONG("consumer is NULL",
          millpond_shuffle_consumer_new(queue, S("g"), NULL, 1, NULL, &second, &error));
    CHECK(second == NULL);
    millpond_shuffle_options_init(NULL, 8);
    millpond_shuffle_consumer_options_init(NULL, 8);

    WRONG("shard_key is NULL", millpond_shuffle_write(queue, NULL, 1, fields, 1, NULL, &error));
    WRONG("fields is NULL", millpond_shuffle_write(queue, S("t"), NULL, 1, NULL, &error));
    WRONG("fields[1].field is NULL",
          millpond_shuffle_write(queue, S("t"), fields, 2, &receipt, &error));
    CHECK(receipt.id_time_ms == 0);
    WRONG("fields[0].value is NULL",
          millpond_shuffle_write(queue, S("t"), fields + 2, 1, NULL, &error));
    WRONG("fields has the length",
          millpond_shuffle_write(queue, S("t"), fields, SIZE_MAX / 8, NULL, &error));
    WRONG("not aligned", millpond_shuffle_write(queue, S("t"), (void *)((char *)fields + 1), 1,
                                                NULL, &error));
    WRONG("the shard key is empty", millpond_shuffle_write(queue, NULL, 0, fields, 1, NULL, &error));
    WRONG("message 0 has 0 fields", millpond_shuffle_write(queue, S("t"), NULL, 0, NULL, &error));
    receipt.id_time_ms = 7;
    WRONG("messages is NULL", millpond_shuffle_write_many(queue, NULL, 1, &receipt, &error));
    CHECK(receipt.id_time_ms == 0);
    WRONG("messages has the length",
          millpond_shuffle_write_many(queue, many, SIZE_MAX / 8, &receipt, &error));
    WRONG("messages[1].shard_key is NULL",
          millpond_shuffle_write_many(queue, many, 2, NULL, &error));
    many[1] = (millpond_shuffle_new_message){sizeof *many, S("t"), fields, 2};
    WRONG("messages[1].fields[1].field is NULL",
          millpond_shuffle_write_many(queue, many, 2, NULL, &error));
    many[1] = (millpond_shuffle_new_message){sizeof *many, S("t"), NULL, 2};
    WRONG("messages[1].fields is NULL", millpond_shuffle_write_many(queue, many, 2, NULL, &error));
    WRONG("track_field is NULL",
          millpond_shuffle_write_tracked(queue, S("t"), fields, 1, NULL, 1, 0, NULL, &error));
    WRONG("fields[1].field is NULL",
          millpond_shuffle_write_tracked(queue, S("t"), fields, 2, S("a"), 0, NULL, &error));
    WRONG("value is NULL", millpond_shuffle_delete_tracked(queue, NULL, 1, NULL, NULL, &error));
    WRONG("keys is NULL", millpond_shuffle_cordon_deadline_exceeded(queue, 1, NULL, &error));
    WRONG("garbage is NULL", millpond_shuffle_garbage_new(queue, MILLPOND_NOT_SET, NULL, &error));

    WRONG("numbers is NULL", millpond_shuffle_shard(1, 1, S("t"), NULL, &error));
    WRONG("shard_key is NULL", millpond_shuffle_shard(1, 1, NULL, 1, &number, &error));
    WRONG("len is NULL", millpond_shuffle_len(queue, NULL, &error));
    WRONG("backlog is NULL", millpond_shuffle_backlog(queue, NULL, &error));
    WRONG("pending is NULL", millpond_shuffle_pending_count(queue, S("g"), NULL, &error));
    WRONG("group is NULL", millpond_shuffle_pending_count(queue, NULL, 1, &len, &error));
    WRONG("the group's name is empty",
          millpond_shuffle_pending_count(queue, NULL, 0, &len, &error));
    WRONG("stats is NULL", millpond_shuffle_stats_read(queue, S("g"), NULL, &error));
    WRONG("dead_letters is NULL", millpond_shuffle_dead_letters_read(queue, 1, NULL, &error));
    WRONG("batch is NULL", millpond_shuffle_read(consumer, 1, 0, NULL, &error));
    WRONG("1 to 10000 messages, not 0", millpond_shuffle_read(consumer, 0, 0, &batch, &error));
    CHECK(batch == NULL);
    WRONG("messages is NULL", millpond_shuffle_ack(consumer, NULL, 1, NULL, &error));
    WRONG("messages[1].stream is -2", millpond_shuffle_ack(consumer, receipts, 2, NULL, &error));
    WRONG("messages[1].stream is -2",
          millpond_shuffle_ack_and_delete(consumer, receipts, 2, NULL, &error));
    WRONG("messages[1].stream is -2", millpond_shuffle_renew(consumer, receipts, 2, NULL, &error));
    WRONG("batch is NULL", millpond_shuffle_reclaim(consumer, 1, 1, NULL, NULL, &error));
    WRONG("over 100 years", millpond_shuffle_reclaim(consumer, UINT64_MAX, 1, &batch, NULL, &error));
    WRONG("messages is NULL", millpond_shuffle_messages_new(consumer, 1, 0, NULL, &error));
    WRONG("wait_ms is -2", millpond_shuffle_messages_new(consumer, 1, -2, &messages, &error));
    CHECK(messages == NULL);
    OK(millpond_shuffle_messages_new(consumer, 1, 0, &messages, &error));
    WRONG("batch is NULL", millpond_shuffle_messages_next(messages, NULL, &error));
    millpond_shuffle_messages_free(messages);
    WRONG("keys is NULL", millpond_shuffle_keys(S("x"), NULL, &error));
    WRONG("the name is empty", millpond_shuffle_keys(NULL, 0, &keys, &error));
    WRONG("track_keys is 0",
          millpond_shuffle_tracking_keys(S("x"), 0, &keys, &error));

    /* Nothing of it was done. */
    OK(millpond_shuffle_len(queue, &len, &error));
    CHECK(len == 0);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

const struct test shuffle_mistake_tests[] = {
    {"shuffle_null_and_lengths", null_and_lengths},
    {NULL, NULL},
};
