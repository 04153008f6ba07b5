/* A clock that tests move, in place of sleeping. */

#include "tasks.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define HOUR_MS 3600000

static millpond_status connect_with_clock(const char *url, millpond_clock *clock,
                                          millpond_client **client, millpond_error **error) {
    millpond_options options;
    millpond_options_init(&options, sizeof options);
    CHECK(options.clock == NULL);
    options.url.data = url;
    options.url.length = strlen(url);
    options.clock = clock;
    return millpond_connect_with(&options, client, error);
}

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
    CHECK(now_ms / 1000 <= (uint64_t)time(NULL) && now_ms / 1000 + 60 > (uint64_t)time(NULL));
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

static void *claim_waiting(void *argument) {
    millpond_bytes queue = B("q");
    millpond_tasks_result *result;
    millpond_error *error;
    OK(millpond_tasks_claim(argument, &queue, 1, MILLPOND_NOT_SET, 1, 60000, &result, &error));
    return result;
}

static void wakes_those_that_wait(const struct backend *backend) {
    millpond_bytes queue = B("q");
    millpond_clock *clock;
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_tasks_result *result;
    millpond_new_task task;
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = &task,
                                                .insert_count = 1};
    millpond_error *error;
    pthread_t thread;
    void *claimed;
    (void)backend;

    OK(millpond_clock_new(MILLPOND_NOT_SET, &clock, &error));
    OK(connect_with_clock("memory:", clock, &client, &error));
    store = store_of(client, "shop", NULL);
    millpond_new_task_init(&task, sizeof task);
    task.queue = queue;
    task.delay_ms = HOUR_MS;
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    CHECK(pthread_create(&thread, NULL, claim_waiting, store) == 0);
    sleep_ms(50);
    OK(millpond_clock_advance(clock, HOUR_MS - 1, &error));
    OK(millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 1, 0, &result, &error));
    CHECK(result == NULL);
    OK(millpond_clock_advance(clock, 1, &error));
    CHECK(pthread_join(thread, &claimed) == 0 && claimed != NULL);
    CHECK(task_of(claimed)->claims == 1);
    millpond_tasks_result_free(claimed);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
    millpond_clock_free(clock);
}

const struct test clock_tests[] = {
    {"a_clock_stands_still_until_it_is_moved", stands_still_until_it_is_moved},
    {"a_clock_is_of_the_engine", is_of_the_engine},
    {"an_advance_wakes_those_that_wait", wakes_those_that_wait},
    {NULL, NULL}};
