/* Volatile hashes: fields and locks that expire, locks that are renewed, families, and wrong calls. */

#include "redis.h"
#include "tasks.h"

#include <stdio.h>
#include <string.h>

#define HOUR_MS 3600000
#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)
#define DATA(result) (millpond_volatile_result_data(result))

static millpond_volatile_hash *hash_named(millpond_client *client, const char *name) {
    millpond_volatile_hash *hash;
    millpond_error *error;
    OK(millpond_volatile_hash_new(client, name, strlen(name), &hash, &error));
    return hash;
}

static void set(millpond_volatile_hash *hash, const char *field, const char *value, uint64_t ttl_ms) {
    millpond_error *error;
    OK(millpond_volatile_set(hash, field, strlen(field), value, strlen(value), ttl_ms, &error));
}

/* The field has this value; NULL: it is not live. */
static bool has(millpond_volatile_hash *hash, const char *field, const char *expected) {
    millpond_volatile_result *result;
    millpond_error *error;
    OK(millpond_volatile_get(hash, field, strlen(field), &result, &error));
    if (result == NULL)
        return expected == NULL;
    CHECK(DATA(result)->value_count == 1 && millpond_volatile_result_value(result, 1) == NULL);
    bool found = is(*millpond_volatile_result_value(result, 0), expected);
    millpond_volatile_result_free(result);
    return found;
}

static void fields_are_set_read_and_deleted(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "fields");
    millpond_hash_pair pairs[] = {{B("ann"), B("a\0b")}, {B(""), B("")}, {B("cy"), B("3")}};
    millpond_bytes fields[] = {B("cy"), B("none"), B(""), B("ann")}, none = {NULL, 0};
    const millpond_bytes *value;
    millpond_volatile_result *result;
    millpond_error *error;
    uint64_t number;
    int64_t ttl_ms;
    bool done;

    OK(millpond_volatile_set_many(hash, pairs, 3, HOUR_MS, &error));
    OK(millpond_volatile_get_many(hash, fields, 4, &result, &error));
    CHECK(DATA(result)->value_count == 4 && DATA(result)->text_length == 4);
    CHECK(is(*millpond_volatile_result_value(result, 0), "3"));
    CHECK(is(*millpond_volatile_result_value(result, 1), NULL));
    CHECK(is(*millpond_volatile_result_value(result, 2), ""));
    value = millpond_volatile_result_value(result, 3);
    CHECK(value->length == 3 && memcmp(value->data, "a\0b", 3) == 0);
    CHECK(DATA(result)->fields == NULL || DATA(result)->field_count == 0);
    millpond_volatile_result_free(result);

    OK(millpond_volatile_set_if_absent(hash, S("cy"), S("4"), HOUR_MS, &done, &error));
    CHECK(!done && has(hash, "cy", "3"));
    OK(millpond_volatile_set_if_absent(hash, S("dee"), S("4"), HOUR_MS, &done, &error));
    CHECK(done && has(hash, "dee", "4"));
    OK(millpond_volatile_set_if_present(hash, S("dee"), S("5"), HOUR_MS, &done, &error));
    CHECK(done && has(hash, "dee", "5"));
    OK(millpond_volatile_set_if_present(hash, S("eve"), S("5"), HOUR_MS, &done, &error));
    CHECK(!done && has(hash, "eve", NULL));
    /* NULL of the length 0 is the empty string. */
    OK(millpond_volatile_set_if_present(hash, NULL, 0, NULL, 0, HOUR_MS, NULL, &error));
    CHECK(has(hash, "", ""));
    OK(millpond_volatile_get_many(hash, &none, 1, &result, &error));
    CHECK(is(*millpond_volatile_result_value(result, 0), ""));
    millpond_volatile_result_free(result);

    OK(millpond_volatile_touch(hash, S("cy"), 2 * HOUR_MS, &done, &error));
    CHECK(done);
    OK(millpond_volatile_ttl(hash, S("cy"), &ttl_ms, &error));
    CHECK(ttl_ms > HOUR_MS && ttl_ms <= 2 * HOUR_MS);
    OK(millpond_volatile_touch(hash, S("eve"), HOUR_MS, &done, &error));
    CHECK(!done);
    OK(millpond_volatile_ttl(hash, S("eve"), &ttl_ms, &error));
    CHECK(ttl_ms == -1);

    OK(millpond_volatile_len(hash, &number, &error));
    CHECK(number == 4);
    OK(millpond_volatile_delete(hash, fields, 4, &number, &error));
    CHECK(number == 3);
    OK(millpond_volatile_clear(hash, &number, &error));
    CHECK(number == 1);
    OK(millpond_volatile_stats(hash, &result, &error));
    CHECK(DATA(result)->stats->fields == 0 && DATA(result)->stats->expired == 0);
    millpond_volatile_result_free(result);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

static void fields_are_listed_by_their_expiry(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "pages");
    const millpond_hash_field *first, *last;
    millpond_volatile_result *page, *rest;
    millpond_field_query query;
    millpond_error *error;

    set(hash, "late", "3", 3 * HOUR_MS);
    set(hash, "soon", "1", HOUR_MS);
    set(hash, "then", "2", 2 * HOUR_MS);
    millpond_field_query_init(NULL, sizeof query);
    millpond_field_query_init(&query, sizeof query);
    CHECK(query.limit == MILLPOND_NOT_SET && query.after == NULL && !query.omit_values);
    query.limit = 1;
    OK(millpond_volatile_fields(hash, &query, &page, &error));
    CHECK(DATA(page)->field_count == 1 && millpond_volatile_result_field(page, 1) == NULL);
    first = millpond_volatile_result_field(page, 0);
    CHECK(is(first->field, "soon") && is(first->value, "1"));
    CHECK(is(DATA(page)->next->field, "soon") && DATA(page)->next->expires_us == first->expires_us);

    query.limit = MILLPOND_NOT_SET;
    query.after = DATA(page)->next;
    query.omit_values = true;
    OK(millpond_volatile_fields(hash, &query, &rest, &error));
    CHECK(DATA(rest)->field_count == 2 && DATA(rest)->next == NULL);
    last = millpond_volatile_result_field(rest, 1);
    CHECK((const char *)last - (const char *)DATA(rest)->fields == (ptrdiff_t)DATA(rest)->field_size);
    CHECK(is(millpond_volatile_result_field(rest, 0)->field, "then") && is(last->field, "late"));
    CHECK(is(last->value, NULL) && last->expires_us > first->expires_us);
    millpond_volatile_result_free(rest);
    millpond_volatile_result_free(page);

    OK(millpond_volatile_fields(hash, NULL, &page, &error));
    CHECK(DATA(page)->field_count == 3 && DATA(page)->next == NULL);
    millpond_volatile_result_free(page);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

/* The fence, or MILLPOND_NOT_SET while another token holds the lock. */
static int64_t acquire(millpond_volatile_hash *hash, const char *token, uint64_t ttl_ms) {
    millpond_volatile_result *result;
    millpond_error *error;
    OK(millpond_volatile_acquire(hash, S("/"), token, strlen(token), ttl_ms, &result, &error));
    const millpond_lock_acquired *acquired = DATA(result)->acquired;
    int64_t fence = acquired->fence;
    /* One of the two is set. */
    CHECK((fence == MILLPOND_NOT_SET) != (acquired->remaining_ms == MILLPOND_NOT_SET));
    millpond_volatile_result_free(result);
    return fence;
}

static void one_of_many_computes_a_value(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "locks");
    const millpond_value_or_lock *found;
    millpond_volatile_result *result;
    millpond_error *error;
    int64_t fence;
    bool done;

    OK(millpond_volatile_get_or_acquire(hash, S("/"), S("one"), HOUR_MS, &result, &error));
    found = DATA(result)->value_or_lock;
    CHECK(is(found->value, NULL) && found->fence > 0 && found->remaining_ms == MILLPOND_NOT_SET);
    fence = found->fence;
    millpond_volatile_result_free(result);
    CHECK(acquire(hash, "one", HOUR_MS) == fence && acquire(hash, "two", HOUR_MS) == MILLPOND_NOT_SET);
    OK(millpond_volatile_get_or_acquire(hash, S("/"), S("two"), HOUR_MS, &result, &error));
    found = DATA(result)->value_or_lock;
    CHECK(is(found->value, NULL) && found->fence == MILLPOND_NOT_SET);
    CHECK(found->remaining_ms > 0 && found->remaining_ms <= HOUR_MS);
    millpond_volatile_result_free(result);

    OK(millpond_volatile_holder(hash, S("/"), &result, &error));
    CHECK(is(DATA(result)->holder->token, "one") && DATA(result)->holder->fence == (uint64_t)fence);
    CHECK(DATA(result)->holder->remaining_ms > 0 && DATA(result)->holder->remaining_ms <= HOUR_MS);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_renew(hash, S("/"), S("one"), 2 * HOUR_MS, &done, &error));
    CHECK(done);
    OK(millpond_volatile_renew(hash, S("/"), S("two"), HOUR_MS, &done, &error));
    CHECK(!done);
    OK(millpond_volatile_release(hash, S("/"), S("two"), &done, &error));
    CHECK(!done);
    OK(millpond_volatile_holder(hash, S("/"), &result, &error));
    CHECK(DATA(result)->holder->remaining_ms > HOUR_MS);
    millpond_volatile_result_free(result);

    FAILS(MILLPOND_LEASE_LOST, "",
          millpond_volatile_set_locked(hash, S("/"), S("two"), S("no"), HOUR_MS, &error));
    FAILS(MILLPOND_LEASE_LOST, "",
          millpond_volatile_set_and_release(hash, S("/"), S("two"), S("no"), HOUR_MS, &error));
    CHECK(has(hash, "/", NULL));
    OK(millpond_volatile_set_locked(hash, S("/"), S("one"), S("draft"), HOUR_MS, &error));
    CHECK(has(hash, "/", "draft"));
    OK(millpond_volatile_set_and_release(hash, S("/"), S("one"), S("page"), HOUR_MS, &error));
    FAILS(MILLPOND_LEASE_LOST, "",
          millpond_volatile_set_locked(hash, S("/"), S("one"), S("no"), HOUR_MS, &error));
    OK(millpond_volatile_holder(hash, S("/"), &result, &error));
    CHECK(result == NULL);
    OK(millpond_volatile_get_or_acquire(hash, S("/"), S("two"), HOUR_MS, &result, &error));
    found = DATA(result)->value_or_lock;
    CHECK(is(found->value, "page") && found->fence == MILLPOND_NOT_SET);
    CHECK(found->remaining_ms == MILLPOND_NOT_SET);
    millpond_volatile_result_free(result);

    /* The next holder's fence is higher. */
    CHECK(acquire(hash, "two", HOUR_MS) > fence);
    OK(millpond_volatile_stats(hash, &result, &error));
    CHECK(DATA(result)->stats->fields == 1 && DATA(result)->stats->locks == 1);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_release(hash, S("/"), S("two"), NULL, &error));
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

static void what_expires_is_not_read_and_reaped(const struct backend *backend) {
    bool is_embedded = strcmp(backend->kind, "redis") != 0;
    const millpond_hash_reaped *reaped;
    millpond_volatile_result *result;
    millpond_clock *clock = NULL;
    millpond_client *client;
    millpond_error *error;
    uint64_t number;
    int64_t ttl_ms;

    /* A server has a time of its own. */
    if (is_embedded) {
        OK(millpond_clock_new(MILLPOND_NOT_SET, &clock, &error));
        OK(connect_with_clock(backend->url, clock, &client, &error));
    } else {
        client = connect_to(backend);
    }
    millpond_volatile_hash *hash = hash_named(client, "expiring");
    set(hash, "later", "2", HOUR_MS);
    set(hash, "/", "1", 1);
    CHECK(acquire(hash, "one", 1) != MILLPOND_NOT_SET);
    if (is_embedded) {
        OK(millpond_volatile_reap(hash, 10, &result, &error));
        CHECK(DATA(result)->reaped->fields == 0 && DATA(result)->reaped->next_in_ms == 1);
        millpond_volatile_result_free(result);
        OK(millpond_volatile_ttl(hash, S("/"), &ttl_ms, &error));
        CHECK(ttl_ms == 1);
        OK(millpond_clock_advance(clock, 1, &error));
    }
    while (!is_embedded && !has(hash, "/", NULL))
        sleep_ms(1);
    do {
        OK(millpond_volatile_holder(hash, S("/"), &result, &error));
    } while (!is_embedded && result != NULL && (millpond_volatile_result_free(result), true));
    CHECK(result == NULL && has(hash, "/", NULL));

    OK(millpond_volatile_stats(hash, &result, &error));
    CHECK(DATA(result)->stats->fields == 1 && DATA(result)->stats->expired == 1);
    CHECK(DATA(result)->stats->locks == 0);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_reap(hash, 1, &result, &error));
    CHECK(DATA(result)->reaped->fields == 1 && DATA(result)->reaped->locks == 0);
    CHECK(DATA(result)->reaped->more == 1 && DATA(result)->reaped->next_in_ms == 0);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_reap(hash, 1, &result, &error));
    reaped = DATA(result)->reaped;
    CHECK(reaped->fields == 0 && reaped->locks == 1 && reaped->orphans == 0 && reaped->more == 0);
    CHECK(reaped->next_in_ms > 0 && reaped->next_in_ms <= HOUR_MS);
    CHECK(!is_embedded || reaped->next_in_ms == HOUR_MS - 1);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_clear(hash, &number, &error));
    CHECK(number == 1);
    OK(millpond_volatile_reap(hash, 1, &result, &error));
    CHECK(DATA(result)->reaped->more == 0 && DATA(result)->reaped->next_in_ms == MILLPOND_NOT_SET);
    millpond_volatile_result_free(result);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
    millpond_clock_free(clock);
}

/* The lock of the field, or NULL while another holder has it. */
static millpond_volatile_lock *lock_of(millpond_volatile_hash *hash, const char *field, uint64_t ttl_ms) {
    millpond_volatile_lock *lock;
    millpond_error *error;
    OK(millpond_volatile_lock_acquire(hash, field, strlen(field), ttl_ms, &lock, &error));
    return lock;
}

static uint64_t fence_of(const millpond_volatile_lock *lock) {
    millpond_error *error;
    uint64_t fence;
    OK(millpond_volatile_lock_fence(lock, &fence, &error));
    return fence;
}

static bool is_lost(const millpond_volatile_lock *lock) {
    millpond_error *error;
    bool lost;
    OK(millpond_volatile_lock_is_lost(lock, &lost, &error));
    return lost;
}

/* The result that says who holds the lock of a field; somebody does. */
static millpond_volatile_result *holder_of(millpond_volatile_hash *hash, const char *field) {
    millpond_volatile_result *result;
    millpond_error *error;
    OK(millpond_volatile_holder(hash, field, strlen(field), &result, &error));
    CHECK(result != NULL && DATA(result)->holder != NULL);
    return result;
}

static void a_lock_has_one_holder(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "one holder");
    millpond_volatile_result *result;
    millpond_volatile_lock *second;
    millpond_error *error;
    bool was_held = false;

    millpond_volatile_lock *lock = lock_of(hash, "/", HOUR_MS);
    CHECK(lock != NULL && lock_of(hash, "/", HOUR_MS) == NULL && !is_lost(lock));
    uint64_t fence = fence_of(lock);
    result = holder_of(hash, "/");
    CHECK(DATA(result)->holder->fence == fence && DATA(result)->holder->token.length > 0);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_lock_set(lock, S("page"), HOUR_MS, &error));
    CHECK(has(hash, "/", "page"));
    WRONG("time to live", millpond_volatile_lock_set(lock, S("no"), 0, &error));
    WRONG("value is NULL", millpond_volatile_lock_set(lock, NULL, 1, HOUR_MS, &error));

    OK(millpond_volatile_lock_release(lock, &was_held, &error));
    CHECK(was_held);
    /* Now another one can take it, and the first one is useless. */
    second = lock_of(hash, "/", HOUR_MS);
    CHECK(second != NULL && fence_of(second) > fence);
    FAILS(MILLPOND_LEASE_LOST, "the lock was released",
          millpond_volatile_lock_set(lock, S("no"), HOUR_MS, &error));
    FAILS(MILLPOND_LEASE_LOST, "the lock was released",
          millpond_volatile_lock_release(lock, &was_held, &error));
    CHECK(!was_held && is_lost(lock) && fence_of(lock) == fence);
    CHECK(has(hash, "/", "page") && !is_lost(second));
    millpond_volatile_lock_free(lock);
    millpond_volatile_lock_free(lock);
    OK(millpond_volatile_lock_release(second, NULL, &error));
    millpond_volatile_lock_free(second);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

static void a_lock_that_is_lost_sets_nothing(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, RENEWING);
    millpond_volatile_hash *hash = hash_named(client, "lost");
    millpond_error *error;
    bool done = false, was_held = true;

    millpond_volatile_lock *lock = lock_of(hash, "/", HOUR_MS);
    /* As if its holder had been stopped for longer than its term. */
    millpond_volatile_result *result = holder_of(hash, "/");
    const millpond_lock_holder *holder = DATA(result)->holder;
    OK(millpond_volatile_release(hash, S("/"), holder->token.data, holder->token.length, &done, &error));
    CHECK(done);
    millpond_volatile_result_free(result);
    millpond_volatile_lock *second = lock_of(hash, "/", HOUR_MS);
    CHECK(second != NULL && fence_of(second) > fence_of(lock));

    FAILS(MILLPOND_LEASE_LOST, "", millpond_volatile_lock_set(lock, S("old"), HOUR_MS, &error));
    CHECK(has(hash, "/", NULL));
    /* A renewal is refused. */
    for (int64_t start = now_ms(); !is_lost(lock); sleep_ms(5))
        CHECK(now_ms() - start < PATIENCE_MS);
    OK(millpond_volatile_lock_release(lock, &was_held, &error));
    CHECK(!was_held);
    OK(millpond_volatile_lock_set(second, S("new"), HOUR_MS, &error));
    CHECK(has(hash, "/", "new"));
    millpond_volatile_lock_free(lock);
    millpond_volatile_lock_free(second);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

static void a_freed_lock_is_released(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "freed");
    millpond_volatile_lock *lock = lock_of(hash, "/", HOUR_MS);
    CHECK(lock != NULL);
    millpond_volatile_lock_free(lock);
    /* In the background, but long before its term is over. */
    for (int64_t start = now_ms(); (lock = lock_of(hash, "/", HOUR_MS)) == NULL; sleep_ms(1))
        CHECK(now_ms() - start < PATIENCE_MS);
    millpond_volatile_lock_free(lock);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

/* The holder makes no call meanwhile. */
static void a_busy_holder_keeps_its_lock(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, RENEWING);
    millpond_volatile_hash *hash = hash_named(client, "busy");
    millpond_volatile_result *result;
    millpond_error *error;
    bool done = false, was_held = false;

    millpond_volatile_lock *lock = lock_of(hash, "/", HOUR_MS);
    for (int renewals = 0; renewals < 3; renewals++) {
        result = holder_of(hash, "/");
        const millpond_lock_holder *holder = DATA(result)->holder;
        OK(millpond_volatile_renew(hash, S("/"), holder->token.data, holder->token.length, HOUR_MS / 2,
                                   &done, &error));
        CHECK(done);
        millpond_volatile_result_free(result);
        int64_t start = now_ms();
        for (bool is_renewed = false; !is_renewed; sleep_ms(5)) {
            CHECK(now_ms() - start < PATIENCE_MS);
            result = holder_of(hash, "/");
            is_renewed = DATA(result)->holder->remaining_ms > HOUR_MS / 2;
            millpond_volatile_result_free(result);
        }
    }
    CHECK(!is_lost(lock) && lock_of(hash, "/", HOUR_MS) == NULL);
    OK(millpond_volatile_lock_set(lock, S("page"), HOUR_MS, &error));
    OK(millpond_volatile_lock_release(lock, &was_held, &error));
    CHECK(was_held);
    millpond_volatile_lock_free(lock);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

static millpond_volatile_hash *hash_in(millpond_volatile_hashes *hashes, const char *base) {
    millpond_volatile_hash *hash;
    millpond_error *error;
    OK(millpond_volatile_hashes_hash_new(hashes, base, strlen(base), &hash, &error));
    return hash;
}

static void a_family_reaps_what_has_expired(const struct backend *backend) {
    bool is_embedded = strcmp(backend->kind, "redis") != 0;
    millpond_volatile_result *result;
    millpond_volatile_hashes *hashes;
    millpond_volatile_hash *carts[20];
    millpond_clock *clock = NULL;
    millpond_client *client;
    millpond_error *error;
    uint64_t number;
    char base[16];

    if (is_embedded) {
        OK(millpond_clock_new(MILLPOND_NOT_SET, &clock, &error));
        OK(connect_with_clock(backend->url, clock, &client, &error));
    } else {
        client = connect_to(backend);
    }
    OK(millpond_volatile_hashes_new(client, S("carts"), 16, &hashes, &error));
    OK(millpond_volatile_hashes_reap(hashes, 5, &result, &error));
    CHECK(DATA(result)->reaped->fields == 0 && DATA(result)->reaped->more == 0);
    CHECK(DATA(result)->reaped->next_in_ms == MILLPOND_NOT_SET);
    millpond_volatile_result_free(result);
    for (int i = 0; i < 20; i++) {
        snprintf(base, sizeof base, "%d", i);
        carts[i] = hash_in(hashes, base);
        set(carts[i], "book", base, HOUR_MS);
    }
    set(carts[7], "lamp", "1", 1);
    if (is_embedded)
        OK(millpond_clock_advance(clock, 1, &error));
    while (!has(carts[7], "lamp", NULL))
        sleep_ms(1);

    /* Each is a hash of its own. */
    OK(millpond_volatile_len(carts[7], &number, &error));
    CHECK(number == 1 && has(carts[7], "book", "7") && has(carts[8], "book", "8"));
    OK(millpond_volatile_clear(carts[8], &number, &error));
    CHECK(number == 1 && has(carts[7], "book", "7"));
    millpond_volatile_hash *alone = hash_named(client, "carts"), *again = hash_in(hashes, "7");
    CHECK(has(alone, "book", NULL) && has(again, "book", "7"));
    millpond_volatile_hash_free(again);

    OK(millpond_volatile_hashes_reap(hashes, 5, &result, &error));
    CHECK(DATA(result)->reaped->fields == 1 && DATA(result)->reaped->locks == 0);
    CHECK(DATA(result)->reaped->more == 0);
    CHECK(DATA(result)->reaped->next_in_ms > 0 && DATA(result)->reaped->next_in_ms <= HOUR_MS);
    millpond_volatile_result_free(result);
    OK(millpond_volatile_stats(carts[7], &result, &error));
    CHECK(DATA(result)->stats->fields == 1 && DATA(result)->stats->expired == 0);
    millpond_volatile_result_free(result);

    for (int i = 0; i < 20; i++) {
        OK(millpond_volatile_clear(carts[i], NULL, &error));
        millpond_volatile_hash_free(carts[i]);
    }
    millpond_volatile_hash_free(alone);
    millpond_volatile_hashes_free(hashes);
    millpond_client_free(client);
    millpond_clock_free(clock);
}

/* It is 0 or none only when it is over. */
static void what_is_left_is_rounded_up(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "left");
    millpond_volatile_result *result;
    millpond_error *error;
    int64_t ttl_ms, next_in_ms;
    bool is_held, more;

    set(hash, "/", "1", 20);
    do {
        OK(millpond_volatile_ttl(hash, S("/"), &ttl_ms, &error));
        CHECK(ttl_ms != 0 && ttl_ms <= 20);
    } while (ttl_ms != -1);
    OK(millpond_volatile_clear(hash, NULL, &error));

    CHECK(acquire(hash, "one", 20) != MILLPOND_NOT_SET);
    do {
        OK(millpond_volatile_holder(hash, S("/"), &result, &error));
        is_held = result != NULL;
        CHECK(!is_held || DATA(result)->holder->remaining_ms != 0);
        millpond_volatile_result_free(result);
    } while (is_held);

    set(hash, "/", "1", 20);
    do {
        OK(millpond_volatile_reap(hash, 1, &result, &error));
        more = DATA(result)->reaped->more == 1;
        next_in_ms = DATA(result)->reaped->next_in_ms;
        CHECK(more == (next_in_ms == 0));
        millpond_volatile_result_free(result);
    } while (next_in_ms != MILLPOND_NOT_SET);
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

static void wrong_calls(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_volatile_hash *hash = hash_named(client, "wrong"), *other = (void *)1;
    millpond_hash_pair pairs[] = {{B("a"), B("1")}, {B("b"), {NULL, 3}}};
    millpond_bytes fields[] = {B("a"), {NULL, 3}};
    millpond_field_position after = {1, {NULL, 3}};
    millpond_volatile_result *result = (void *)1;
    millpond_volatile_lock *lock = (void *)1;
    millpond_volatile_hashes *hashes;
    static millpond_hash_pair many[10001];
    static char long_field[65537];
    millpond_field_query query;
    millpond_error *error;
    uint64_t number = 1;
    int64_t ttl_ms = 1;
    bool done = true;

    WRONG("hash is NULL", millpond_volatile_hash_new(client, S("x"), NULL, &error));
    WRONG("name is NULL", millpond_volatile_hash_new(client, NULL, 1, &other, &error));
    CHECK(other == NULL);
    OK(millpond_volatile_hash_new(client, NULL, 0, &other, &error));
    WRONG("name is empty", millpond_volatile_set(other, S("a"), S("1"), 1, &error));
    millpond_volatile_hash_free(other);

    WRONG("hash is NULL", millpond_volatile_set(NULL, S("a"), S("1"), 1, &error));
    WRONG("field is NULL", millpond_volatile_set(hash, NULL, 1, S("1"), 1, &error));
    WRONG("value is NULL", millpond_volatile_set(hash, S("a"), NULL, 1, 1, &error));
    WRONG("time to live", millpond_volatile_set(hash, S("a"), S("1"), 0, &error));
    WRONG("time to live", millpond_volatile_set(hash, S("a"), S("1"), UINT64_MAX, &error));
    WRONG("65537 bytes", millpond_volatile_set(hash, long_field, sizeof long_field, S("1"), 1, &error));
    WRONG("names no field", millpond_volatile_set_many(hash, NULL, 0, 1, &error));
    WRONG("fields is NULL", millpond_volatile_set_many(hash, NULL, 1, 1, &error));
    WRONG("fields[1].value is NULL", millpond_volatile_set_many(hash, pairs, 2, 1, &error));
    WRONG("at most 10000", millpond_volatile_set_many(hash, many, 10001, 1, &error));
    WRONG("time to live", millpond_volatile_set_if_absent(hash, S("a"), S("1"), 0, &done, &error));
    CHECK(!done);
    WRONG("token is empty", millpond_volatile_set_locked(hash, S("a"), S(""), S("1"), 1, &error));
    WRONG("token is NULL", millpond_volatile_set_and_release(hash, S("a"), NULL, 1, S("1"), 1, &error));

    WRONG("result is NULL", millpond_volatile_get(hash, S("a"), NULL, &error));
    WRONG("field is NULL", millpond_volatile_get(hash, NULL, 1, &result, &error));
    CHECK(result == NULL);
    WRONG("names no field", millpond_volatile_get_many(hash, NULL, 0, &result, &error));
    WRONG("fields[1]", millpond_volatile_get_many(hash, fields, 2, &result, &error));
    WRONG("fields[1]", millpond_volatile_delete(hash, fields, 2, &number, &error));
    CHECK(number == 0);
    WRONG("ttl_ms is NULL", millpond_volatile_ttl(hash, S("a"), NULL, &error));
    WRONG("65537 bytes", millpond_volatile_ttl(hash, long_field, sizeof long_field, &ttl_ms, &error));
    CHECK(ttl_ms == -1);
    WRONG("len is NULL", millpond_volatile_len(hash, NULL, &error));
    WRONG("time to live", millpond_volatile_touch(hash, S("a"), 0, NULL, &error));

    millpond_field_query_init(&query, sizeof query);
    query.limit = 0;
    WRONG("1 to 1000 fields", millpond_volatile_fields(hash, &query, &result, &error));
    query.limit = -2;
    WRONG("limit is -2", millpond_volatile_fields(hash, &query, &result, &error));
    query.limit = MILLPOND_NOT_SET;
    query.after = &after;
    WRONG("after.field is NULL", millpond_volatile_fields(hash, &query, &result, &error));
    after.field = (millpond_bytes){long_field, sizeof long_field};
    WRONG("65537 bytes", millpond_volatile_fields(hash, &query, &result, &error));
    WRONG("1 to 1000 fields and locks", millpond_volatile_reap(hash, 0, &result, &error));

    WRONG("token is empty", millpond_volatile_acquire(hash, S("a"), S(""), 1, &result, &error));
    WRONG("65 bytes", millpond_volatile_acquire(hash, S("a"), long_field, 65, 1, &result, &error));
    WRONG("time to live", millpond_volatile_get_or_acquire(hash, S("a"), S("t"), 0, &result, &error));
    WRONG("time to live", millpond_volatile_renew(hash, S("a"), S("t"), 0, &done, &error));
    WRONG("token is empty", millpond_volatile_release(hash, S("a"), S(""), &done, &error));
    WRONG("result is NULL", millpond_volatile_holder(hash, S("a"), NULL, &error));
    WRONG("lock is NULL", millpond_volatile_lock_acquire(hash, S("a"), 1, NULL, &error));
    WRONG("time to live", millpond_volatile_lock_acquire(hash, S("a"), 0, &lock, &error));
    CHECK(lock == NULL);
    WRONG("hashes is NULL", millpond_volatile_hashes_new(client, S("x"), 16, NULL, &error));
    OK(millpond_volatile_hashes_new(client, S("x"), 0, &hashes, &error));
    WRONG("shards, not 0", millpond_volatile_hashes_reap(hashes, 1, &result, &error));
    millpond_volatile_hashes_free(hashes);
    OK(millpond_volatile_hashes_new(client, S("wrong"), 16, &hashes, &error));
    WRONG("1 to 1000 fields and locks", millpond_volatile_hashes_reap(hashes, 0, &result, &error));
    WRONG("base is NULL", millpond_volatile_hashes_hash_new(hashes, NULL, 1, &other, &error));
    OK(millpond_volatile_hashes_hash_new(hashes, S(""), &other, &error));
    WRONG("empty", millpond_volatile_set(other, S("a"), S("1"), 1, &error));
    millpond_volatile_hash_free(other);
    millpond_volatile_hashes_free(hashes);
    CHECK(DATA(NULL) == NULL && millpond_volatile_result_field(NULL, 0) == NULL);
    CHECK(millpond_volatile_result_value(NULL, 0) == NULL);

    /* Nothing was sent. */
    OK(millpond_volatile_stats(hash, &result, &error));
    CHECK(DATA(result)->stats->fields == 0 && DATA(result)->stats->locks == 0);
    millpond_volatile_result_free(result);
    if (strcmp(backend->kind, "redis") == 0) {
        redisContext *redis = redis_connect(backend);
        freeReplyObject(redis_command(redis, "SET vhash-map:{wrong} 1"));
        FAILS(MILLPOND_WRONG_TYPE, "vhash-map:{wrong}",
              millpond_volatile_get(hash, S("a"), &result, &error));
        CHECK(result == NULL);
        freeReplyObject(redis_command(redis, "DEL vhash-map:{wrong}"));
        redisFree(redis);
    }
    millpond_volatile_hash_free(hash);
    millpond_client_free(client);
}

const struct test volatile_tests[] = {
    {"fields_are_set_read_and_deleted", fields_are_set_read_and_deleted},
    {"fields_are_listed_by_their_expiry", fields_are_listed_by_their_expiry},
    {"one_of_many_computes_a_value", one_of_many_computes_a_value},
    {"what_expires_is_not_read_and_reaped", what_expires_is_not_read_and_reaped},
    {"what_is_left_is_rounded_up", what_is_left_is_rounded_up},
    {"a_lock_has_one_holder", a_lock_has_one_holder},
    {"a_lock_that_is_lost_sets_nothing", a_lock_that_is_lost_sets_nothing},
    {"a_freed_lock_is_released", a_freed_lock_is_released},
    {"a_busy_holder_keeps_its_lock", a_busy_holder_keeps_its_lock},
    {"a_family_reaps_what_has_expired", a_family_reaps_what_has_expired},
    {"wrong_hash_calls", wrong_calls},
    {NULL, NULL}};
