/* Tracked messages of a shuffle queue. */

#include "shuffle.h"

#include <string.h>
#include <time.h>

/* A queue of its own name and keys: the global ones are every test's. */
static millpond_shuffle_queue *tracked_queue(millpond_client *client, const char *name) {
    millpond_shuffle_queue *queue;
    millpond_shuffle_options options;
    millpond_error *error;
    millpond_shuffle_options_init(&options, sizeof options);
    options.track_keys = MILLPOND_SHUFFLE_TRACK_QUEUE;
    OK(millpond_shuffle_queue_new(client, name, strlen(name), &options, &queue, &error));
    return queue;
}

static millpond_shuffle_receipt put_tracked(millpond_shuffle_queue *queue, const char *job,
                                            int64_t deadline_s) {
    millpond_shuffle_field fields[] = {{"job", 3, job, strlen(job)}, {S("n"), S("1")}};
    millpond_shuffle_receipt receipt;
    millpond_error *error;
    OK(millpond_shuffle_write_tracked(queue, S("t"), fields, 2, S("job"), deadline_s, &receipt,
                                      &error));
    CHECK(receipt.id_time_ms > 0);
    return receipt;
}

static bool are(millpond_keys *values, size_t count, const char *const *expected) {
    bool same = millpond_keys_length(values) == count;
    for (size_t i = 0; same && i < count; i++) {
        const millpond_bytes *value = &millpond_keys_data(values)[i];
        same = value->length == strlen(expected[i]) &&
               memcmp(value->data, expected[i], value->length) == 0;
    }
    millpond_keys_free(values);
    return same;
}

static void deletes_by_value(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = tracked_queue(client, "{tracked}deletes");
    millpond_error *error;
    millpond_shuffle_receipt receipt = put_tracked(queue, "j-1", 0), found;
    uint64_t len;
    bool deleted;

    OK(millpond_shuffle_delete_tracked(queue, S("j-2"), &deleted, &found, &error));
    CHECK(!deleted && found.id_time_ms == 0);
    OK(millpond_shuffle_delete_tracked(queue, S("j-1"), &deleted, &found, &error));
    CHECK(deleted && found.stream == receipt.stream && found.id_time_ms == receipt.id_time_ms);
    CHECK(found.id_sequence == receipt.id_sequence);
    OK(millpond_shuffle_len(queue, &len, &error));
    CHECK(len == 0);
    OK(millpond_shuffle_delete_tracked(queue, S("j-1"), &deleted, NULL, &error));
    CHECK(!deleted);

    put_tracked(queue, "j-3", 0);
    OK(millpond_shuffle_delete_tracked(queue, S("j-3"), NULL, NULL, &error));
    OK(millpond_shuffle_len(queue, &len, &error));
    CHECK(len == 0);

    millpond_shuffle_field field = {S("n"), S("1")};
    FAILS(MILLPOND_INVALID_ARGUMENT, "has no name",
          millpond_shuffle_write_tracked(queue, S("t"), &field, 1, NULL, 0, 0, NULL, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "2^53",
          millpond_shuffle_write_tracked(queue, S("t"), &field, 1, S("n"), INT64_MAX, NULL, &error));
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void many_at_once(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "tracked in one step");
    millpond_error *error;
    millpond_shuffle_field fields[] = {{S("job"), S("j-1")}, {S("job"), S("j-2")}};
    millpond_shuffle_new_message messages[] = {{sizeof *messages, S("a"), &fields[0], 1}, {sizeof *messages, S("b"), &fields[1], 1}};
    millpond_shuffle_receipt receipts[2], receipt;
    bool deleted;
    OK(millpond_shuffle_write_tracked_many(queue, messages, 2, S("job"), 0, receipts, &error));
    OK(millpond_shuffle_delete_tracked(queue, S("j-2"), &deleted, &receipt, &error));
    CHECK(deleted && same(receipt, receipts[1]));
    CHECK(len_of(queue) == 1);
    FAILS(MILLPOND_INVALID_ARGUMENT, "has no name",
          millpond_shuffle_write_tracked_many(queue, messages, 2, S(""), 0, NULL, &error));
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void collects(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = tracked_queue(client, "{tracked}collects");
    millpond_shuffle_garbage *garbage;
    millpond_keys *values;
    millpond_error *error;
    uint64_t scanned = 77, deleted = 77;
    int64_t now = (int64_t)time(NULL);

    put_tracked(queue, "long ago", 1000);
    put_tracked(queue, "just now", now - 5);
    put_tracked(queue, "to come", now + 3600);
    OK(millpond_shuffle_cordon_deadline_exceeded(queue, 60000, &values, &error));
    CHECK(are(values, 1, (const char *[]){"just now"}));
    OK(millpond_shuffle_cordon_deadline_exceeded(queue, 60000, &values, &error));
    CHECK(are(values, 0, NULL));

    OK(millpond_shuffle_garbage_new(queue, MILLPOND_NOT_SET, &garbage, &error));
    OK(millpond_shuffle_garbage_counts(garbage, &scanned, &deleted, &error));
    CHECK(scanned == 0 && deleted == 0);
    bool long_ago = false, just_now = false;
    for (;;) {
        OK(millpond_shuffle_garbage_next(garbage, &values, &error));
        if (values == NULL)
            break;
        for (size_t i = 0; i < millpond_keys_length(values); i++) {
            const millpond_bytes *value = &millpond_keys_data(values)[i];
            CHECK(value->length == 8);
            long_ago |= memcmp(value->data, "long ago", 8) == 0;
            just_now |= memcmp(value->data, "just now", 8) == 0;
        }
        millpond_keys_free(values);
    }
    CHECK(long_ago && just_now);
    OK(millpond_shuffle_garbage_counts(garbage, &scanned, &deleted, &error));
    CHECK(scanned >= 2 && deleted == 2);
    millpond_shuffle_garbage_free(garbage);

    bool was_there;
    OK(millpond_shuffle_delete_tracked(queue, S("just now"), &was_there, NULL, &error));
    CHECK(!was_there);
    OK(millpond_shuffle_delete_tracked(queue, S("to come"), &was_there, NULL, &error));
    CHECK(was_there);

    FAILS(MILLPOND_INVALID_ARGUMENT, "time_digits is 256",
          millpond_shuffle_garbage_new(queue, 256, &garbage, &error));
    CHECK(garbage == NULL);
    FAILS(MILLPOND_INVALID_ARGUMENT, "time_digits is -1, which is out of range",
          millpond_shuffle_garbage_new(queue, -1, &garbage, &error));
    OK(millpond_shuffle_garbage_new(queue, 11, &garbage, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 10",
          millpond_shuffle_garbage_next(garbage, &values, &error));
    OK(millpond_shuffle_garbage_next(garbage, &values, &error));
    CHECK(values == NULL);
    millpond_shuffle_garbage_free(garbage);
    FAILS(MILLPOND_INVALID_ARGUMENT, "10^15",
          millpond_shuffle_cordon_deadline_exceeded(queue, UINT64_MAX, &values, &error));
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void whatever_the_queue_is_named(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "global"), *other = queue_of(client, "other");
    millpond_error *error;
    bool deleted;
    put_tracked(queue, "a global job", 0);
    OK(millpond_shuffle_delete_tracked(other, S("a global job"), &deleted, NULL, &error));
    CHECK(deleted);
    millpond_shuffle_queue_free(queue);
    millpond_shuffle_queue_free(other);
    millpond_client_free(client);
}

const struct test shuffle_tracking_tests[] = {
    {"deletes_by_value", deletes_by_value},
    {"many_at_once", many_at_once},
    {"collects", collects},
    {"whatever_the_queue_is_named", whatever_the_queue_is_named},
    {NULL, NULL},
};
