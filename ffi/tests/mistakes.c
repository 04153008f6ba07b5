/* Wrong calls return an error, and nothing else happens. */

#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)

static void null_and_lengths(const struct backend *backend) {
    millpond_client *client = connect_to(backend), *other = (millpond_client *)1;
    millpond_ick_entries *entries;
    millpond_keys *keys;
    millpond_ick_lease *lease;
    millpond_ick_batches *batches;
    millpond_ick_channel *channel;
    millpond_error *error;
    millpond_ick_pair pairs[] = {{S("a"), 1, false}, {NULL, 3, 1, false}};
    millpond_bytes members[] = {{S("a")}, {NULL, 3}};
    millpond_bytes endless[] = {{"a", SIZE_MAX}};

    WRONG("url is NULL, but its length is 7", millpond_connect(NULL, 7, &other, &error));
    CHECK(other == NULL);
    WRONG("client is NULL; it must point to where", millpond_connect(S("memory:"), NULL, &error));
    WRONG("url is not UTF-8", millpond_connect(S("file:\xff"), &other, &error));
    WRONG("options is NULL", millpond_connect_with(NULL, &other, &error));

    WRONG("client is NULL", millpond_ick_add(NULL, S("x"), pairs, 1, NULL, &error));
    WRONG("name is NULL, but its length is 1", millpond_ick_add(client, NULL, 1, pairs, 1, NULL, &error));
    WRONG("pairs is NULL, but its length is 2", millpond_ick_add(client, S("x"), NULL, 2, NULL, &error));
    WRONG("pairs[1].member is NULL, but its length is 3",
          millpond_ick_add(client, S("x"), pairs, 2, NULL, &error));
    WRONG("pairs has the length", millpond_ick_add(client, S("x"), pairs, SIZE_MAX / 2, NULL, &error));
    WRONG("not aligned", millpond_ick_add(client, S("x"), (void *)((char *)pairs + 1), 1, NULL, &error));
    WRONG("name has the length", millpond_ick_add(client, "x", SIZE_MAX, pairs, 1, NULL, &error));
    WRONG("entries is NULL", millpond_ick_reserve(client, S("x"), 1, false, NULL, &error));
    WRONG("members[1].data is NULL", millpond_ick_commit(client, S("x"), members, 2, NULL, &error));
    WRONG("members[0].data has the length",
          millpond_ick_commit(client, S("x"), endless, 1, NULL, &error));
    WRONG("members is NULL",
          millpond_ick_exchange(client, S("x"), 1, NULL, 2, false, &entries, &error));
    WRONG("entries is NULL", millpond_ick_exchange(client, S("x"), 1, NULL, 0, false, NULL, &error));
    WRONG("stats is NULL", millpond_ick_stats_read(client, S("x"), NULL, &error));
    WRONG("entries is NULL",
          millpond_ick_peek(client, S("x"), MILLPOND_ICK_PRODUCER, 1, NULL, &error));
    WRONG("keys is NULL", millpond_ick_keys(S("x"), NULL, &error));
    WRONG("name is NULL", millpond_ick_keys(NULL, 1, &keys, &error));
    WRONG("name is NULL", millpond_ick_lease_keys(NULL, 1, &keys, &error));
    WRONG("lease is NULL", millpond_ick_lease_acquire(client, S("x"), 1000, NULL, &error));
    WRONG("name is NULL", millpond_ick_lease_acquire(client, NULL, 2, 1000, &lease, &error));
    WRONG("batches is NULL", millpond_ick_batches_new(client, S("x"), 1, 0, NULL, &error));
    WRONG("name is NULL", millpond_ick_batches_new(client, NULL, 2, 1, 0, &batches, &error));
    WRONG("channel is NULL", millpond_ick_channel_new(client, S("x"), 1, 0, NULL, &error));
    WRONG("name is NULL", millpond_ick_channel_new(client, NULL, 2, 1, 0, &channel, &error));
    OK(millpond_ick_channel_new(client, S("x"), 1, 0, &channel, &error));
    WRONG("shards is NULL", millpond_ick_channel_shards(channel, NULL, &error));
    WRONG("readable is NULL", millpond_ick_channel_readable(channel, NULL, &error));
    WRONG("ick is NULL", millpond_ick_channel_ick_of(channel, S("x"), NULL, &error));
    WRONG("keys is NULL", millpond_ick_channel_ick_name(channel, 0, NULL, &error));
    WRONG("numbers is NULL", millpond_ick_channel_batches_new(channel, NULL, 1, 1, 0, &batches, &error));
    millpond_ick_channel_free(channel);

    /* Nothing of it was done, and the error may be NULL. */
    CHECK(millpond_ick_add(NULL, S("x"), pairs, 1, NULL, NULL) == MILLPOND_INVALID_ARGUMENT);
    millpond_ick_stats stats = {.size = sizeof stats};
    OK(millpond_ick_stats_read(client, S("x"), &stats, &error));
    CHECK(!stats.exists);
    millpond_client_free(client);
}

/* Every function that takes a handle, with one of another kind. */
static void with_every_handle(void *handle, const char *says) {
    millpond_error *error;
    millpond_ick_entries *entries;
    millpond_ick_batches *batches;
    millpond_keys *keys;
    millpond_ick_lease *lease;
    millpond_ick_channel *channel;
    millpond_ick_stats stats = {.size = sizeof stats};
    millpond_bytes token;
    uint32_t number;
    bool lost;

    WRONG(says, millpond_close(handle, &error));
    WRONG(says, millpond_ick_add(handle, S("x"), NULL, 0, NULL, &error));
    WRONG(says, millpond_ick_reserve(handle, S("x"), 1, false, &entries, &error));
    WRONG(says, millpond_ick_commit(handle, S("x"), NULL, 0, NULL, &error));
    WRONG(says, millpond_ick_exchange(handle, S("x"), 1, NULL, 0, false, &entries, &error));
    WRONG(says, millpond_ick_stats_read(handle, S("x"), &stats, &error));
    WRONG(says, millpond_ick_peek(handle, S("x"), MILLPOND_ICK_PRODUCER, 1, &entries, &error));
    WRONG(says, millpond_ick_delete(handle, S("x"), false, NULL, &error));
    WRONG(says, millpond_ick_lease_acquire(handle, S("x"), 1000, &lease, &error));
    WRONG(says, millpond_ick_batches_new(handle, S("x"), 1, 0, &batches, &error));
    WRONG(says, millpond_ick_channel_new(handle, S("x"), 1, 0, &channel, &error));
    WRONG(says, millpond_ick_lease_is_lost(handle, &lost, &error));
    CHECK(lost);
    WRONG(says, millpond_ick_lease_token(handle, &token, &error));
    WRONG(says, millpond_ick_lease_reserve(handle, 1, &entries, &error));
    WRONG(says, millpond_ick_lease_commit(handle, NULL, 0, NULL, &error));
    WRONG(says, millpond_ick_lease_exchange(handle, 1, NULL, 0, &entries, &error));
    WRONG(says, millpond_ick_lease_batches_new(handle, 1, 0, &batches, &error));
    WRONG(says, millpond_ick_lease_release(handle, NULL, &error));
    WRONG(says, millpond_ick_batches_next(handle, &entries, &error));
    WRONG(says, millpond_ick_batches_commit(handle, NULL, &error));
    WRONG(says, millpond_ick_channel_shards(handle, &number, &error));
    WRONG(says, millpond_ick_channel_readable(handle, &number, &error));
    WRONG(says, millpond_ick_channel_ick_of(handle, S("x"), &number, &error));
    WRONG(says, millpond_ick_channel_ick_name(handle, 0, &keys, &error));
    WRONG(says, millpond_ick_channel_add(handle, NULL, 0, NULL, &error));
    WRONG(says, millpond_ick_channel_batches_new(handle, &number, 1, 1, 0, &batches, &error));
    CHECK(millpond_ick_entries_data(handle) == NULL && millpond_ick_entries_length(handle) == 0);
    CHECK(millpond_ick_entries_bytes(handle) == NULL && millpond_ick_entries_bytes_length(handle) == 0);
    CHECK(millpond_keys_data(handle) == NULL && millpond_keys_length(handle) == 0);
    millpond_client_free(handle);
    millpond_ick_entries_free(handle);
    millpond_keys_free(handle);
    millpond_ick_lease_free(handle);
    millpond_ick_batches_free(handle);
    millpond_ick_channel_free(handle);
}

static void handles(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    int local;
    void *allocated = malloc(64);

    /* None of all: NULL, addresses, numbers. */
    with_every_handle(NULL, "is NULL");
    with_every_handle(&local, "which is not a handle of Millpond");
    with_every_handle(allocated, "which is not a handle of Millpond");
    with_every_handle((void *)(uintptr_t)with_every_handle, "which is not a handle of Millpond");
    with_every_handle((void *)UINTPTR_MAX, "which is not a handle of Millpond");
    for (uintptr_t bit = 1; bit != 0; bit <<= 1) {
        with_every_handle((void *)bit, "which is not a handle of Millpond");
        with_every_handle((void *)((uintptr_t)client ^ bit), "is ");
    }
    free(allocated);
    millpond_client_free(client);

    /* One of another kind. It stays what it is, freed by whichever wrong function. */
    millpond_error *kept;
    CHECK(millpond_connect(S("nonsense"), &client, &kept) == MILLPOND_INVALID_URL);
    with_every_handle(kept, "is a millpond_error, not a millpond_");
    CHECK(millpond_error_code(kept) == MILLPOND_INVALID_URL);

    /* One that was freed, also when another object uses its slot. */
    void *freed = kept;
    millpond_error_free(kept);
    with_every_handle(freed, "is a millpond_error that was freed");
    millpond_error_free(freed);
    CHECK(millpond_connect(S("nonsense"), &client, &kept) == MILLPOND_INVALID_URL);
    with_every_handle(freed, "is a millpond_error that was freed");
    millpond_error_free(freed);
    CHECK(millpond_error_code(kept) == MILLPOND_INVALID_URL);
    millpond_error_free(kept);

    client = connect_to(backend);
    freed = client;
    millpond_client_free(client);
    WRONG("client is a millpond_client that was freed",
          millpond_ick_add(client, S("x"), NULL, 0, NULL, &error));
    with_every_handle(freed, "is a millpond_client that was freed");
}

static void freed_early(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_batches *batches;
    millpond_ick_channel *channel;
    millpond_ick_lease *lease;
    millpond_ick_entries *entries;
    millpond_error *error;

    add(client, "early", "a 1");
    OK(millpond_ick_batches_new(client, S("early"), 1, 0, &batches, &error));
    OK(millpond_ick_lease_acquire(client, S("early"), 1000, &lease, &error));
    OK(millpond_ick_channel_new(client, S("early"), 1, 0, &channel, &error));
    millpond_client_free(client);
    /* What was made from it has what it needs. */
    OK(millpond_ick_lease_reserve(lease, 1, &entries, &error));
    ENTRIES(entries, "a 1");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    millpond_ick_batches_free(batches);
    ENTRIES(entries, "a 1");
    OK(millpond_ick_channel_add(channel, NULL, 0, NULL, &error));
    millpond_ick_channel_free(channel);
    millpond_ick_lease_free(lease);
}

static void *use_and_free(void *argument) {
    millpond_client *client = argument;
    for (int i = 0; i < 2000; i++) {
        millpond_ick_entries *entries, *again;
        millpond_error *error;
        OK(millpond_ick_reserve(client, S("shared"), 1, false, &entries, &error));
        CHECK(millpond_ick_entries_length(entries) == 1);
        again = entries;
        millpond_ick_entries_free(entries);
        /* Other objects reuse the slot at once, and none of them may be seen or freed. */
        CHECK(millpond_ick_entries_length(again) == 0);
        millpond_ick_entries_free(again);
        FAILS(MILLPOND_INVALID_ARGUMENT, "that was freed",
              millpond_close((millpond_client *)again, &error));
    }
    return NULL;
}

static void stale_handles_in_many_threads(const struct backend *backend) {
    enum { THREADS = 4 };
    millpond_client *client = connect_to(backend);
    pthread_t threads[THREADS];
    add(client, "shared", "a 1");
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, use_and_free, client) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    millpond_client_free(client);
}

const struct test mistake_tests[] = {
    {"null_and_lengths", null_and_lengths},
    {"handles", handles},
    {"freed_early", freed_early},
    {"stale_handles_in_many_threads", stale_handles_in_many_threads},
    {NULL, NULL},
};
