/* A shuffle queue over a connection that is not Millpond's, and from the original's writers. */

#include "redis.h"
#include "shuffle.h"

#include <stdio.h>
#include <string.h>

static void shuffle_steps_over_hiredis(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    redisContext *redis = redis_connect(backend);
    millpond_shuffle_queue *queue = queue_of(client, "foreign shuffle");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_batch *batch;
    millpond_keys *keys, *tracking;
    millpond_error *error;
    redisReply *reply;

    OK(millpond_shuffle_keys(S("foreign shuffle"), &keys, &error));
    CHECK(millpond_keys_length(keys) == 4);
    CHECK(strncmp(millpond_keys_data(keys)[3].data, "foreign shuffle:dead", 20) == 0);
    uint32_t shard[1];
    char number[8];
    OK(millpond_shuffle_shard(4, 1, S("t"), shard, &error));
    snprintf(number, sizeof number, "%u", shard[0]);
    reply = redis_script(redis, "shuffle.write", keys, 3, 9,
                         (const char *[]){"60000", "4", "1", "", "", number, "1", "task", "1"});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    CHECK(reply->element[1]->integer == shard[0]);
    freeReplyObject(reply);
    OK(millpond_shuffle_read(consumer, 10, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_messages(batch)->receipt.stream == shard[0]);
    BATCH(batch, "task=1");

    put(queue, "t", "2");
    reply = redis_script(redis, "shuffle.read", keys, 3, 6,
                         (const char *[]){"g", "c", "10", "60000", "", "0"});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 3);
    freeReplyObject(reply);
    reply = redis_script(redis, "shuffle.dead_letters", keys, 4, 2, (const char *[]){"10", ""});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 0);
    freeReplyObject(reply);

    /* A tracked message, which is then found by its value. */
    OK(millpond_shuffle_tracking_keys(S("foreign shuffle"), MILLPOND_SHUFFLE_TRACK_GLOBAL, &tracking,
                                      &error));
    CHECK(millpond_keys_length(tracking) == 3);
    CHECK(strncmp(millpond_keys_data(tracking)[0].data, "meta:cancelation", 16) == 0);
    millpond_shuffle_field field = {S("job"), S("foreign job")};
    OK(millpond_shuffle_write_tracked(queue, S("t"), &field, 1, S("job"), 0, NULL, &error));
    reply = redis_script(redis, "shuffle.delete_tracked", tracking, 3, 1,
                         (const char *[]){"foreign job"});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    freeReplyObject(reply);
    millpond_keys_free(tracking);
    OK(millpond_shuffle_tracking_keys(S("q"), MILLPOND_SHUFFLE_TRACK_QUEUE, &tracking, &error));
    CHECK(strncmp(millpond_keys_data(tracking)[1].data, "q:meta:deadlines", 16) == 0);
    millpond_keys_free(tracking);
    millpond_keys_free(keys);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    redisFree(redis);
    millpond_client_free(client);
}

static void takes_from_the_default_stream(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    redisContext *redis = redis_connect(backend);
    millpond_shuffle_queue *queue = queue_of(client, "plain");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c"), *moving;
    millpond_shuffle_consumer_options options;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    uint64_t count;

    freeReplyObject(redis_command(redis, "XADD plain 5-6 task old"));
    OK(millpond_shuffle_read(consumer, 10, 0, &batch, &error));
    BATCH(batch, "");
    millpond_shuffle_consumer_options_init(&options, sizeof options);
    options.default_stream = true;
    OK(millpond_shuffle_consumer_new(queue, S("g"), S("c"), &options, &moving, &error));
    OK(millpond_shuffle_read(moving, 10, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 1);
    millpond_shuffle_receipt receipt = millpond_shuffle_batch_messages(batch)->receipt;
    CHECK(receipt.stream == -1 && receipt.id_time_ms == 5 && receipt.id_sequence == 6);
    BATCH(batch, "task=old");
    OK(millpond_shuffle_ack_and_delete(moving, &receipt, 1, &count, &error));
    CHECK(count == 1);
    redisReply *left = redis_command(redis, "XLEN plain");
    CHECK(left->integer == 0);
    freeReplyObject(left);

    /* A key of another kind is reported. */
    freeReplyObject(redis_command(redis, "SET broken:meta x"));
    millpond_shuffle_queue *broken = queue_of(client, "broken");
    FAILS(MILLPOND_WRONG_TYPE, "broken:meta", millpond_shuffle_len(broken, &count, &error));
    millpond_shuffle_queue_free(broken);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_consumer_free(moving);
    millpond_shuffle_queue_free(queue);
    redisFree(redis);
    millpond_client_free(client);
}

const struct test foreign_shuffle_tests[] = {
    {"shuffle_steps_over_hiredis", shuffle_steps_over_hiredis},
    {"takes_from_the_default_stream", takes_from_the_default_stream},
    {NULL, NULL},
};
