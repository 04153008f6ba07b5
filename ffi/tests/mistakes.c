/* Wrong calls return an error, and nothing else happens. */

#include "shuffle.h"
#include "tasks.h"

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
    batches = (void *)1;
    WRONG("wait_ms is -2", millpond_ick_batches_new(client, S("x"), 1, -2, &batches, &error));
    CHECK(batches == NULL);
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

/* A handle of which one bit is another, while there is no other handle. */
static void with_every_bit(void *handle) {
    for (uintptr_t bit = 1; bit != 0; bit <<= 1)
        with_every_handle((void *)((uintptr_t)handle ^ bit), "is ");
}

static void handles(const struct backend *none) {
    struct backend backend = {none->kind, "memory:"};
    millpond_client *client = connect_to(&backend);
    millpond_events_queue *events;
    millpond_volatile_hash *hash;
    millpond_recruiter *recruiter;
    millpond_tracker *tracker;
    millpond_error *error, *kept;
    int local;
    void *allocated = malloc(64);

    /* None of all: NULL, addresses, numbers. */
    with_every_handle(NULL, "is NULL");
    with_every_handle(&local, "which is not a handle of Millpond");
    with_every_handle(allocated, "which is not a handle of Millpond");
    with_every_handle((void *)(uintptr_t)with_every_handle, "which is not a handle of Millpond");
    with_every_handle((void *)UINTPTR_MAX, "which is not a handle of Millpond");
    for (uintptr_t bit = 1; bit != 0; bit <<= 1)
        with_every_handle((void *)bit, "which is not a handle of Millpond");
    free(allocated);

    /* Of each queue, and freed, once or twice. */
    with_every_bit(client);
    millpond_shuffle_queue *queue = queue_of(client, "handles");
    millpond_client_free(client);
    with_every_handle(client, "is a millpond_client that was freed");
    CHECK(millpond_error_dependency((void *)client) == NULL);
    with_every_bit(queue);
    millpond_shuffle_queue_free(queue);
    millpond_shuffle_queue_free(queue);
    with_every_handle(queue, "is a millpond_shuffle_queue that was freed");
    client = connect_to(&backend);
    millpond_tasks_store *store = store_of(client, "handles", NULL);
    millpond_client_free(client);
    with_every_bit(store);
    millpond_tasks_store_free(store);
    millpond_tasks_store_free(store);
    with_every_handle(store, "is a millpond_tasks_store that was freed");
    client = connect_to(&backend);
    OK(millpond_events_queue_new(client, S("handles"), &events, &error));
    millpond_client_free(client);
    with_every_bit(events);
    millpond_events_queue_free(events);
    millpond_events_queue_free(events);
    with_every_handle(events, "is a millpond_events_queue that was freed");
    client = connect_to(&backend);
    OK(millpond_volatile_hash_new(client, S("handles"), &hash, &error));
    millpond_client_free(client);
    with_every_bit(hash);
    millpond_volatile_hash_free(hash);
    millpond_volatile_hash_free(hash);
    with_every_handle(hash, "is a millpond_volatile_hash that was freed");
    client = connect_to(&backend);
    OK(millpond_recruiter_new(client, S("handles"), &recruiter, &error));
    millpond_client_free(client);
    with_every_bit(recruiter);
    millpond_recruiter_free(recruiter);
    millpond_recruiter_free(recruiter);
    with_every_handle(recruiter, "is a millpond_recruiter that was freed");
    client = connect_to(&backend);
    OK(millpond_tracker_new(client, S("handles"), &tracker, &error));
    millpond_client_free(client);
    with_every_bit(tracker);
    millpond_tracker_free(tracker);
    millpond_tracker_free(tracker);
    with_every_handle(tracker, "is a millpond_tracker that was freed");

    /* One of another kind. It stays what it is, freed by whichever wrong function. */
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
}

/* What is set where it is not 0: a lease and a job that are none are lost, and have no time left. */
static void lost_without_a_handle(const struct backend *none) {
    millpond_error *error;
    millpond_bytes text = B("x");
    int64_t left_ms = 7;
    bool flag;
    (void)none;
#define LOST(call) (flag = false, WRONG("is NULL", call), CHECK(flag))
    LOST(millpond_ick_lease_is_lost(NULL, &flag, &error));
    LOST(millpond_volatile_lock_is_lost(NULL, &flag, &error));
    LOST(millpond_shuffle_job_is_lost(NULL, &flag, &error));
    LOST(millpond_tasks_job_is_lost(NULL, &flag, &error));
    LOST(millpond_events_job_is_lost(NULL, &flag, &error));
    LOST(millpond_recruiter_slice_is_lost(NULL, &flag, &error));
    LOST(millpond_recruiter_slice_is_over(NULL, &flag, &error));
    WRONG("is NULL", millpond_tasks_job_is_ended(NULL, &flag, &error));
    CHECK(!flag);
    WRONG("is NULL", millpond_shuffle_job_time_left_ms(NULL, &left_ms, &error));
    CHECK(left_ms == -1);
    WRONG("is NULL", millpond_tasks_job_time_left_ms(NULL, &left_ms, &error));
    CHECK(left_ms == -1);
    WRONG("is NULL", millpond_tasks_claimant(NULL, &text, &error));
    CHECK(text.data == NULL);
}

static void freed_early(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_channel *channel;
    millpond_ick_lease *lease;
    millpond_ick_entries *entries;
    millpond_error *error;

    add(client, "early", "a 1");
    OK(millpond_ick_lease_acquire(client, S("early"), 1000, &lease, &error));
    OK(millpond_ick_channel_new(client, S("early"), 1, 0, &channel, &error));
    millpond_client_free(client);
    /* What was made from it has what it needs. */
    OK(millpond_ick_lease_reserve(lease, 1, &entries, &error));
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

/* Nothing is read of what no call takes, and none of its results is written. */
static void counts_that_no_call_takes(const struct backend *backend) {
    const size_t counts[] = {(size_t)1 << 60, (size_t)1 << 61, (size_t)1 << 40, 1000001};
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    bool flag = true;
    uint32_t outcome = 7;
    uint64_t version = 7;
    millpond_bytes id = {S("a")};
    millpond_task_id task = {.id = {S("a")}};
    millpond_event_receipt delivery = {.id = {S("a")}};
    millpond_shuffle_receipt receipt = {.id_time_ms = 7};
    millpond_shuffle_id letter = {0};
    millpond_shuffle_new_message message = {sizeof message, S("t"), NULL, 0};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t count = counts[i];
        WRONG("pairs has ", millpond_ick_add(client, S("x"), (void *)&id, count, NULL, &error));
        WRONG("members has ", millpond_ick_commit(client, S("x"), &id, count, NULL, &error));
        if (strcmp(backend->kind, "memory") != 0)
            continue;
        millpond_tasks_store *store = store_of(client, "x", NULL);
        WRONG("ids has ", millpond_tasks_cancel(store, &id, count, false, &flag, &error));
        WRONG("tasks has ", millpond_tasks_renew(store, &task, count, NULL, 0, 1000, &version, NULL, &flag,
                                                 NULL, &error));
        millpond_tasks_store_free(store);

        millpond_shuffle_queue *queue = queue_of(client, "x");
        millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
        WRONG("messages has ", millpond_shuffle_ack_each(consumer, &receipt, count, &flag, &error));
        WRONG("messages has ", millpond_shuffle_ack_and_delete_each(consumer, &receipt, count, &flag, &error));
        WRONG("messages has ", millpond_shuffle_write_many(queue, &message, count, &receipt, &error));
        WRONG("messages has ", millpond_shuffle_write_tracked_many(queue, &message, count, S("f"), 1, &receipt,
                                                                   &error));
        WRONG("letters has ", millpond_shuffle_redrive(queue, &letter, count, &receipt, &error));
        millpond_shuffle_consumer_free(consumer);
        millpond_shuffle_queue_free(queue);

        millpond_events_queue *events;
        OK(millpond_events_queue_new(client, S("x"), &events, &error));
        WRONG("ids has ", millpond_events_redrive(events, &id, count, &outcome, &error));
        WRONG("deliveries has ", millpond_events_ack_many(events, &delivery, count, &outcome, &error));
        WRONG("deliveries has ", millpond_events_renew(events, &delivery, count, 1000, &outcome, &error));
        WRONG("ids has ", millpond_events_cancel(events, &id, count, false, false, &outcome, &error));
        WRONG("ids has ", millpond_events_reschedule(events, &id, count, 1, &outcome, &error));
        WRONG("ids has ", millpond_events_reschedule_at_ms(events, &id, count, 1, &outcome, &error));
        millpond_events_queue_free(events);

        millpond_tracker *tracker;
        OK(millpond_tracker_new(client, S("x"), &tracker, &error));
        WRONG("ids has ", millpond_tracker_are_queued(tracker, &id, count, &flag, &error));
        millpond_tracker_free(tracker);
        CHECK(flag && outcome == 7 && version == 7 && receipt.id_time_ms == 7);
    }
    millpond_client_free(client);
}

const struct test mistake_tests[] = {
    {"null_and_lengths", null_and_lengths},
    {"counts_that_no_call_takes", counts_that_no_call_takes},
    {"freed_early", freed_early},
    {"stale_handles_in_many_threads", stale_handles_in_many_threads},
    {NULL, NULL},
};

const struct test handle_tests[] = {
    {"handles", handles},
    {"lost_without_a_handle", lost_without_a_handle},
    {NULL, NULL},
};
