/* A channel of several Icks. */

#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void spreads_and_drains(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_channel *channel;
    millpond_error *error;
    uint32_t number;

    OK(millpond_ick_channel_new(client, S("c\0h"), 4, 0, &channel, &error));
    OK(millpond_ick_channel_shards(channel, &number, &error));
    CHECK(number == 4);
    OK(millpond_ick_channel_readable(channel, &number, &error));
    CHECK(number == 4);
    /* FNV-1a-64 of "foobar" is 0x85944171f73967e8. */
    OK(millpond_ick_channel_ick_of(channel, S("foobar"), &number, &error));
    CHECK(number == 0);
    OK(millpond_ick_channel_ick_of(channel, S("a"), &number, &error));
    CHECK(number == 0xc % 4);
    OK(millpond_ick_channel_ick_of(channel, NULL, 0, &number, &error));
    CHECK(number == 0x25 % 4);

    static char members[100][8];
    millpond_ick_pair pairs[100];
    for (int i = 0; i < 100; i++) {
        int length = snprintf(members[i], sizeof members[i], "%d", i);
        pairs[i] = (millpond_ick_pair){members[i], (size_t)length, i, false};
    }
    millpond_ick_added added;
    OK(millpond_ick_channel_add(channel, pairs, 100, &added, &error));
    CHECK(added.new_members == 100);

    /* Each member is in its Ick, which has the name that the channel says. */
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        millpond_keys *name;
        millpond_ick_stats stats = {.size = sizeof stats};
        OK(millpond_ick_channel_ick_name(channel, i, &name, &error));
        CHECK(millpond_keys_length(name) == 1);
        const millpond_bytes *bytes = millpond_keys_data(name);
        CHECK(bytes->length == 5 && memcmp(bytes->data, "c\0h/", 4) == 0);
        OK(millpond_ick_stats_read(client, bytes->data, bytes->length, &stats, &error));
        CHECK(stats.pset_size > 10);
        sum += stats.pset_size;
        millpond_keys_free(name);
    }
    CHECK(sum == 100);

    /* Now there are two, and consumers read the four that there were. */
    millpond_ick_channel *smaller;
    OK(millpond_ick_channel_new(client, S("c\0h"), 2, 4, &smaller, &error));
    OK(millpond_ick_channel_shards(smaller, &number, &error));
    CHECK(number == 2);
    OK(millpond_ick_channel_readable(smaller, &number, &error));
    CHECK(number == 4);

    uint32_t all[] = {0, 1, 2, 3};
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    size_t seen = 0;
    OK(millpond_ick_channel_batches_new(smaller, all, 4, 10, 0, &batches, &error));
    millpond_ick_channel_free(smaller);
    do {
        OK(millpond_ick_batches_next(batches, &entries, &error));
        seen += millpond_ick_entries_length(entries);
        millpond_ick_entries_free(entries);
    } while (entries != NULL);
    CHECK(seen == 100);
    millpond_ick_batches_free(batches);

    FAILS(MILLPOND_INVALID_ARGUMENT, "there is no ick 4",
          millpond_ick_channel_batches_new(channel, (uint32_t[]){4}, 1, 1, 0, &batches, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "at least one ick",
          millpond_ick_channel_batches_new(channel, NULL, 0, 1, 0, &batches, &error));
    CHECK(batches == NULL);
    millpond_ick_channel *none;
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 65536 icks, not 0",
          millpond_ick_channel_new(client, S("ch"), 0, 0, &none, &error));
    CHECK(none == NULL);
    millpond_ick_channel_free(channel);
    millpond_client_free(client);
}

struct consumer {
    millpond_ick_channel *channel;
    uint32_t number;
    size_t worked;
};

static void *consume(void *argument) {
    struct consumer *consumer = argument;
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;
    OK(millpond_ick_channel_batches_new(consumer->channel, &consumer->number, 1, 7, 10000, &batches,
                                    &error));
    do {
        OK(millpond_ick_batches_next(batches, &entries, &error));
        const millpond_ick_entry *entry = millpond_ick_entries_data(entries);
        size_t length = millpond_ick_entries_length(entries);
        consumer->worked += length;
        /* "end" is the last one in each. */
        bool over = length > 0 && entry[length - 1].score == 1e9;
        millpond_ick_entries_free(entries);
        if (over)
            break;
    } while (entries != NULL);
    OK(millpond_ick_batches_commit(batches, NULL, &error));
    millpond_ick_batches_free(batches);
    return NULL;
}

static void many_consumers(const struct backend *backend) {
    enum { SHARDS = 3, MEMBERS = 300 };
    millpond_client *client = connect_to(backend);
    struct consumer consumers[SHARDS];
    pthread_t threads[SHARDS];
    millpond_ick_channel *channel;
    millpond_error *error;
    OK(millpond_ick_channel_new(client, S("many"), SHARDS, 0, &channel, &error));

    static char members[MEMBERS][8];
    for (int i = 0; i < MEMBERS; i++) {
        int length = snprintf(members[i], sizeof members[i], "%d", i);
        millpond_ick_pair pair = {members[i], (size_t)length, i, false};
        OK(millpond_ick_channel_add(channel, &pair, 1, NULL, &error));
    }
    bool has_end[SHARDS] = {false};
    for (int i = 0, left = SHARDS; left > 0; i++) {
        char end[16];
        uint32_t number;
        int length = snprintf(end, sizeof end, "end %d", i);
        OK(millpond_ick_channel_ick_of(channel, end, (size_t)length, &number, &error));
        if (has_end[number])
            continue;
        has_end[number] = true;
        left--;
        millpond_ick_pair pair = {end, (size_t)length, 1e9, false};
        OK(millpond_ick_channel_add(channel, &pair, 1, NULL, &error));
    }
    size_t worked = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        consumers[i] = (struct consumer){channel, i, 0};
        CHECK(pthread_create(&threads[i], NULL, consume, &consumers[i]) == 0);
    }
    for (int i = 0; i < SHARDS; i++) {
        pthread_join(threads[i], NULL);
        worked += consumers[i].worked;
    }
    CHECK(worked == MEMBERS + SHARDS);
    millpond_ick_channel_free(channel);
    millpond_client_free(client);
}

const struct test channel_tests[] = {
    {"spreads_and_drains", spreads_and_drains},
    {"many_consumers", many_consumers},
    {NULL, NULL},
};
