/* The consumer lease. */

#include "check.h"

#include <pthread.h>
#include <string.h>

#define TERM_MS 30000

static void is_for_one_consumer(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_lease *lease, *second;
    millpond_bytes token;
    millpond_ick_entries *entries;
    millpond_error *error;
    uint64_t committed;
    bool lost = true, was_held = false;

    add(client, "one", "a 1 b 2 c 3");
    OK(millpond_ick_lease_acquire(client, S("one"), TERM_MS, &lease, &error));
    CHECK(lease != NULL);
    OK(millpond_ick_lease_acquire(client, S("one"), TERM_MS, &second, &error));
    CHECK(second == NULL);
    OK(millpond_ick_lease_is_lost(lease, &lost, &error));
    CHECK(!lost);
    OK(millpond_ick_lease_token(lease, &token, &error));
    CHECK(token.data != NULL && token.length > 0);

    millpond_bytes members[] = {{S("a")}};
    OK(millpond_ick_lease_reserve(lease, 1, &entries, &error));
    ENTRIES(entries, "a 1");
    OK(millpond_ick_lease_commit(lease, members, 1, &committed, &error));
    CHECK(committed == 1);
    OK(millpond_ick_lease_exchange(lease, 1, members, 1, &entries, &error));
    ENTRIES(entries, "b 2");

    millpond_ick_batches *batches;
    OK(millpond_ick_lease_batches_new(lease, 10, 0, &batches, &error));
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "b 2 c 3");
    OK(millpond_ick_batches_commit(batches, &committed, &error));
    CHECK(committed == 2);

    OK(millpond_ick_lease_release(lease, &was_held, &error));
    CHECK(was_held);
    /* Now another consumer can take it, and the first one is useless. */
    OK(millpond_ick_lease_acquire(client, S("one"), TERM_MS, &second, &error));
    CHECK(second != NULL);
    FAILS(MILLPOND_LEASE_LOST, "lease", millpond_ick_batches_next(batches, &entries, &error));
    FAILS(MILLPOND_LEASE_LOST, "released", millpond_ick_lease_reserve(lease, 1, &entries, &error));
    FAILS(MILLPOND_LEASE_LOST, "released", millpond_ick_lease_commit(lease, NULL, 0, NULL, &error));
    FAILS(MILLPOND_LEASE_LOST, "released",
          millpond_ick_lease_exchange(lease, 1, NULL, 0, &entries, &error));
    millpond_ick_batches *none;
    FAILS(MILLPOND_LEASE_LOST, "released", millpond_ick_lease_batches_new(lease, 1, 0, &none, &error));
    FAILS(MILLPOND_LEASE_LOST, "released", millpond_ick_lease_release(lease, &was_held, &error));
    CHECK(!was_held);
    OK(millpond_ick_lease_is_lost(lease, &lost, &error));
    CHECK(lost);

    millpond_ick_batches_free(batches);
    millpond_ick_lease_free(lease);
    millpond_ick_lease_free(second);
    for (uint64_t term = 0; term <= 86400001; term += 86400001)
        FAILS(MILLPOND_INVALID_ARGUMENT, "between a millisecond and a day",
              millpond_ick_lease_acquire(client, S("one"), term, &lease, &error));
    CHECK(lease == NULL);
    millpond_client_free(client);
}

static void a_freed_one_is_released(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_lease *lease;
    millpond_error *error;

    OK(millpond_ick_lease_acquire(client, S("given back"), TERM_MS, &lease, &error));
    CHECK(lease != NULL);
    millpond_ick_lease_free(lease);
    /* In the background, but long before its term is over. */
    int64_t start = now_ms();
    do {
        OK(millpond_ick_lease_acquire(client, S("given back"), TERM_MS, &lease, &error));
    } while (lease == NULL && now_ms() - start < TERM_MS / 2);
    CHECK(lease != NULL);
    millpond_ick_lease_free(lease);
    millpond_client_free(client);
}

static void a_busy_consumer_keeps_it(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_lease *lease, *second;
    millpond_ick_entries *entries;
    millpond_error *error;

    OK(millpond_ick_lease_acquire(client, S("busy"), 3000, &lease, &error));
    sleep_ms(4000);
    OK(millpond_ick_lease_acquire(client, S("busy"), 3000, &second, &error));
    CHECK(second == NULL);
    OK(millpond_ick_lease_reserve(lease, 1, &entries, &error));
    ENTRIES(entries, "");
    millpond_ick_lease_free(lease);
    millpond_client_free(client);
}

const struct test lease_tests[] = {
    {"is_for_one_consumer", is_for_one_consumer},
    {"a_freed_one_is_released", a_freed_one_is_released},
    {"a_busy_consumer_keeps_it", a_busy_consumer_keeps_it},
    {NULL, NULL},
};
