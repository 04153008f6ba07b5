/* The consumer lease. */

#include "redis.h"
#include "tasks.h"

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

    OK(millpond_ick_lease_acquire(client, S("given back"), 2 * PATIENCE_MS, &lease, &error));
    CHECK(lease != NULL);
    millpond_ick_lease_free(lease);
    /* In the background, but long before its term is over. */
    int64_t start = now_ms();
    do {
        OK(millpond_ick_lease_acquire(client, S("given back"), TERM_MS, &lease, &error));
    } while (lease == NULL && now_ms() - start < PATIENCE_MS);
    CHECK(lease != NULL);
    millpond_ick_lease_free(lease);
    millpond_client_free(client);
}

/* A server's lease, of 60 s, whose end others see: it is put off again and again. */
static void is_renewed_on_a_server(const struct backend *backend) {
    redisContext *redis = redis_connect(backend);
    for (int renewals = 0; renewals < 3; renewals++) {
        redisReply *shortened = redis_command(redis, "EXPIRE busy/ick/{busy}/lease 50");
        CHECK(shortened->integer == 1);
        freeReplyObject(shortened);
        int64_t start = now_ms();
        for (bool longer = false; !longer; sleep_ms(5)) {
            CHECK(now_ms() - start < PATIENCE_MS);
            redisReply *left = redis_command(redis, "TTL busy/ick/{busy}/lease");
            longer = left->integer > 50;
            freeReplyObject(left);
        }
    }
    redisFree(redis);
}

/* An engine's lease, of 60 s: it is there after two minutes of the engine's clock. A job beside it says
   when renewals were made, which begin with the lease's. */
static void is_renewed_by_a_clock(millpond_client *client, millpond_clock *clock) {
    millpond_tasks_store *store = store_of(client, "renewed beside", NULL);
    millpond_tasks_worker_options options;
    millpond_tasks_job *job;
    millpond_error *error;

    millpond_tasks_worker_options_init(&options, sizeof options);
    options.lease_ms = 3600000;
    insert(store, "q", "1");
    millpond_tasks_jobs *jobs = loop_of(store, &options);
    OK(millpond_tasks_jobs_next(jobs, &job, &error));
    for (int part = 0; part < 3; part++) {
        OK(millpond_clock_advance(clock, 40000, &error));
        wait_for_renewals(job, 3);
    }
    millpond_tasks_job_free(job);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(store);
}

static void a_busy_consumer_keeps_it(const struct backend *backend) {
    struct backend renewing = with_options(backend, RENEWING);
    bool embedded = strcmp(backend->kind, "redis") != 0;
    millpond_options options;
    millpond_clock *clock = NULL;
    millpond_client *client;
    millpond_ick_lease *lease, *second;
    millpond_ick_entries *entries;
    millpond_error *error;

    millpond_options_init(&options, sizeof options);
    options.url = (millpond_bytes){renewing.url, strlen(renewing.url)};
    if (embedded)
        OK(millpond_clock_new(MILLPOND_NOT_SET, &clock, &error));
    options.clock = clock;
    OK(millpond_connect_with(&options, &client, &error));
    OK(millpond_ick_lease_acquire(client, S("busy"), 60000, &lease, &error));
    if (embedded)
        is_renewed_by_a_clock(client, clock);
    else
        is_renewed_on_a_server(backend);
    OK(millpond_ick_lease_acquire(client, S("busy"), 60000, &second, &error));
    CHECK(second == NULL);
    OK(millpond_ick_lease_reserve(lease, 1, &entries, &error));
    ENTRIES(entries, "");
    millpond_ick_lease_free(lease);
    millpond_client_free(client);
    millpond_clock_free(clock);
}

const struct test lease_tests[] = {
    {"is_for_one_consumer", is_for_one_consumer},
    {"a_freed_one_is_released", a_freed_one_is_released},
    {"a_busy_consumer_keeps_it", a_busy_consumer_keeps_it},
    {NULL, NULL},
};
