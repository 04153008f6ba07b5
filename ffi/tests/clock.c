/* A clock that tests move, in place of sleeping. */

#include "tasks.h"

#include <string.h>
#include <time.h>

static uint64_t time_of(millpond_client *client) {
    millpond_tasks_store *store = store_of(client, "shop", NULL);
    millpond_error *error;
    uint64_t time_ms;
    OK(millpond_tasks_time(store, &time_ms, &error));
    millpond_tasks_store_free(store);
    return time_ms;
}

static void stands_still_until_it_is_moved(const struct backend *backend) {
    millpond_clock *clock = (void *)1;
    millpond_error *error;
    uint64_t now_ms = 1;
    (void)backend;

    OK(millpond_clock_new(MILLPOND_NOT_SET, &clock, &error));
    OK(millpond_clock_now(clock, &now_ms, &error));
    // time() may be some milliseconds behind.
    CHECK(now_ms / 1000 <= (uint64_t)time(NULL) + 1 && now_ms / 1000 + 60 > (uint64_t)time(NULL));
    millpond_clock_free(clock);
    FAILS(MILLPOND_INVALID_ARGUMENT, "clock is a millpond_clock that was freed",
          millpond_clock_advance(clock, 1, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "now_ms is -1", millpond_clock_new(-1, &clock, &error));
    CHECK(clock == NULL);
    FAILS(MILLPOND_INVALID_ARGUMENT, "clock is NULL", millpond_clock_now(clock, &now_ms, &error));
    CHECK(now_ms == 0);

    OK(millpond_clock_new(1700000000000, &clock, &error));
    OK(millpond_clock_advance(clock, 2, &error));
    OK(millpond_clock_now(clock, &now_ms, &error));
    CHECK(now_ms == 1700000000002);
    /* To the end of the year 9999. */
    OK(millpond_clock_advance(clock, UINT64_MAX, &error));
    OK(millpond_clock_now(clock, &now_ms, &error));
    CHECK(now_ms == 253402300799999);
    millpond_clock_free(clock);
    millpond_clock_free(clock);
    millpond_clock_free(NULL);
}

static void is_of_the_engine(const struct backend *backend) {
    millpond_clock *clock, *other;
    millpond_client *first, *second, *none = (void *)1;
    millpond_error *error;
    (void)backend;

    OK(millpond_clock_new(1000, &clock, &error));
    OK(millpond_clock_new(1000, &other, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "a server's time is the server's",
          connect_with_clock("redis://127.0.0.1:1", clock, &none, &error));
    CHECK(none == NULL);
    OK(connect_with_clock("memory:c's clock", clock, &first, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "another clock",
          connect_with_clock("memory:c's clock", other, &none, &error));
    OK(connect_with_clock("memory:c's clock", NULL, &second, &error));
    OK(millpond_clock_advance(clock, 1000, &error));
    CHECK(time_of(first) == 2000 && time_of(second) == 2000);
    millpond_clock_free(clock);
    CHECK(time_of(first) == 2000);
    FAILS(MILLPOND_INVALID_ARGUMENT, "clock is a millpond_clock that was freed",
          connect_with_clock("memory:", clock, &none, &error));
    millpond_clock_free(other);
    millpond_client_free(first);
    millpond_client_free(second);
}

const struct test clock_tests[] = {
    {"a_clock_stands_still_until_it_is_moved", stands_still_until_it_is_moved},
    {"a_clock_is_of_the_engine", is_of_the_engine},
    {NULL, NULL}};
