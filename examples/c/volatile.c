/* What a volatile hash is for: sessions that expire, each at its own time, and pages that many ask for and
   one computes.

   cc volatile.c -o volatile $(pkg-config --cflags --libs millpond) && ./volatile [URL] */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MINUTE_MS = 60 * 1000 };

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

/* A hash of its own for each run. */
static millpond_volatile_hash *hash_of(millpond_client *client, const char *kind) {
    char name[64];
    millpond_volatile_hash *hash;
    millpond_error *error;
    int length = snprintf(name, sizeof name, "examples/%s/%ld", kind, (long)getpid());
    ok(millpond_volatile_hash_new(client, name, (size_t)length, &hash, &error), &error);
    return hash;
}

static int is(millpond_bytes bytes, const char *text) {
    return bytes.data != NULL && bytes.length == strlen(text) &&
           memcmp(bytes.data, text, bytes.length) == 0;
}

static void use_sessions(millpond_volatile_hash *sessions) {
    millpond_volatile_result *result, *rest;
    millpond_field_query query;
    millpond_error *error;
    bool done;

    /* A session lives for half an hour after it was last used. */
    ok(millpond_volatile_set_if_absent(sessions, "ann", 3, "cart 3", 6, 30 * MINUTE_MS, &done, &error),
       &error);
    assert(done);
    ok(millpond_volatile_set_if_absent(sessions, "ann", 3, "cart 4", 6, 30 * MINUTE_MS, &done, &error),
       &error);
    assert(!done);
    millpond_hash_pair both[] = {{{"bob", 3}, {"cart 5", 6}}, {{"cy", 2}, {"cart 6", 6}}};
    ok(millpond_volatile_set_many(sessions, both, 2, 10 * MINUTE_MS, &error), &error);
    ok(millpond_volatile_touch(sessions, "bob", 3, 30 * MINUTE_MS, &done, &error), &error);
    assert(done);
    millpond_bytes fields[] = {{"ann", 3}, {"dee", 3}};
    ok(millpond_volatile_get_many(sessions, fields, 2, &result, &error), &error);
    assert(is(*millpond_volatile_result_value(result, 0), "cart 3"));
    assert(millpond_volatile_result_value(result, 1)->data == NULL);
    millpond_volatile_result_free(result);

    /* Those first that expire first. */
    millpond_field_query_init(&query, sizeof query);
    query.limit = 1;
    ok(millpond_volatile_fields(sessions, &query, &result, &error), &error);
    assert(is(millpond_volatile_result_field(result, 0)->field, "cy"));
    millpond_field_query_init(&query, sizeof query);
    query.after = millpond_volatile_result_data(result)->next;
    query.omit_values = true;
    ok(millpond_volatile_fields(sessions, &query, &rest, &error), &error);
    assert(millpond_volatile_result_data(rest)->field_count == 2);
    assert(is(millpond_volatile_result_field(rest, 0)->field, "ann"));
    assert(is(millpond_volatile_result_field(rest, 1)->field, "bob"));
    millpond_volatile_result_free(rest);
    millpond_volatile_result_free(result);
}

/* Sets a page under a lock, which is renewed however long the work takes. A minute is how long others wait if this
   process dies. */
static void refresh(millpond_volatile_hash *pages, const char *prices) {
    millpond_volatile_lock *lock, *second;
    millpond_error *error;
    bool was_held;
    ok(millpond_volatile_lock_acquire(pages, "/prices", 7, MINUTE_MS, &lock, &error), &error);
    assert(lock != NULL);
    ok(millpond_volatile_lock_acquire(pages, "/prices", 7, MINUTE_MS, &second, &error), &error);
    assert(second == NULL);
    ok(millpond_volatile_lock_set(lock, prices, strlen(prices), 10 * MINUTE_MS, &error), &error);
    ok(millpond_volatile_lock_release(lock, &was_held, &error), &error);
    assert(was_held);
    millpond_volatile_lock_free(lock);
}

/* The fence of the lock that was taken, or MILLPOND_NOT_SET while another server holds it. */
static int64_t acquire(millpond_volatile_hash *pages, const char *server, uint64_t ttl_ms) {
    millpond_volatile_result *result;
    millpond_error *error;
    ok(millpond_volatile_acquire(pages, "/prices", 7, server, strlen(server), ttl_ms, &result, &error),
       &error);
    int64_t fence = millpond_volatile_result_data(result)->acquired->fence;
    millpond_volatile_result_free(result);
    return fence;
}

static void use_pages(millpond_volatile_hash *pages) {
    const struct timespec moment = {0, 1000000};
    const millpond_value_or_lock *found;
    millpond_volatile_result *result;
    millpond_error *error;
    int64_t first, second;

    /* Two requests ask for a page that is not there: one of them computes it, the other one
       waits. */
    ok(millpond_volatile_get_or_acquire(pages, "/", 1, "req-1", 5, MINUTE_MS, &result, &error), &error);
    first = millpond_volatile_result_data(result)->value_or_lock->fence;
    assert(first != MILLPOND_NOT_SET);
    millpond_volatile_result_free(result);
    ok(millpond_volatile_get_or_acquire(pages, "/", 1, "req-2", 5, MINUTE_MS, &result, &error), &error);
    found = millpond_volatile_result_data(result)->value_or_lock;
    assert(found->fence == MILLPOND_NOT_SET && found->remaining_ms > 0);
    millpond_volatile_result_free(result);
    ok(millpond_volatile_set_and_release(pages, "/", 1, "req-1", 5, "<h1>Shop</h1>", 13, 10 * MINUTE_MS,
                                         &error),
       &error);
    ok(millpond_volatile_get_or_acquire(pages, "/", 1, "req-2", 5, MINUTE_MS, &result, &error), &error);
    found = millpond_volatile_result_data(result)->value_or_lock;
    assert(is(found->value, "<h1>Shop</h1>"));
    printf("req-2 shows %.*s\n", (int)found->value.length, found->value.data);
    millpond_volatile_result_free(result);

    /* One that was stopped for too long has lost its lock to another one, whose fence is higher. */
    acquire(pages, "req-1", 1);
    while ((second = acquire(pages, "req-2", MINUTE_MS)) == MILLPOND_NOT_SET)
        nanosleep(&moment, NULL);
    assert(second > first);
    millpond_status status = millpond_volatile_set_and_release(pages, "/prices", 7, "req-1", 5,
                                                               "old prices", 10, 10 * MINUTE_MS, NULL);
    assert(status == MILLPOND_LEASE_LOST);
    puts("req-1 sets no old prices");
    ok(millpond_volatile_release(pages, "/prices", 7, "req-2", 5, NULL, &error), &error);
    refresh(pages, "new prices");
    ok(millpond_volatile_get(pages, "/prices", 7, &result, &error), &error);
    assert(is(*millpond_volatile_result_value(result, 0), "new prices"));
    millpond_volatile_result_free(result);
}

int main(int argc, char **argv) {
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_error *error;
    uint64_t sessions_left, pages_left;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    millpond_volatile_hash *sessions = hash_of(client, "sessions"), *pages = hash_of(client, "pages");
    use_sessions(sessions);
    use_pages(pages);

    /* Nothing is left. */
    ok(millpond_volatile_clear(sessions, &sessions_left, &error), &error);
    ok(millpond_volatile_clear(pages, &pages_left, &error), &error);
    assert(sessions_left == 3 && pages_left == 2);
    millpond_volatile_hash_free(sessions);
    millpond_volatile_hash_free(pages);
    millpond_client_free(client);
    return 0;
}
