/* The consumer's loop. */

#include "check.h"

#include <pthread.h>
#include <string.h>

static void ends_when_nothing_is_left(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;
    millpond_ick_stats stats = {.size = sizeof stats};

    add(client, "ends", "a 1 b 2 c 3");
    OK(millpond_ick_batches_new(client, S("ends"), 2, 0, &batches, &error));
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "a 1 b 2");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "c 3");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    CHECK(entries == NULL);
    OK(millpond_ick_stats_read(client, S("ends"), &stats, &error));
    CHECK(stats.total_size == 0);
    millpond_ick_batches_free(batches);
    millpond_client_free(client);
}

static void a_loop_that_is_left(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;
    uint64_t committed = 77;

    add(client, "left", "a 1 b 2");
    OK(millpond_ick_batches_new(client, S("left"), 1, 0, &batches, &error));
    OK(millpond_ick_batches_commit(batches, &committed, &error));
    CHECK(committed == 0);
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "a 1");
    OK(millpond_ick_batches_commit(batches, &committed, &error));
    CHECK(committed == 1);
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "b 2");
    /* Not committed, so it comes again. */
    millpond_ick_batches_free(batches);
    OK(millpond_ick_reserve(client, S("left"), 10, false, &entries, &error));
    ENTRIES(entries, "b 2");
    millpond_client_free(client);
}

static void waits_up_to_wait_ms(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;

    int64_t start = now_ms();
    OK(millpond_ick_batches_new(client, S("told"), 1, 100, &batches, &error));
    OK(millpond_ick_batches_next(batches, &entries, &error));
    CHECK(entries == NULL && now_ms() - start >= 100);
    millpond_ick_batches_free(batches);
    FAILS(MILLPOND_INVALID_ARGUMENT, "wait_ms is -2",
          millpond_ick_batches_new(client, S("told"), 1, -2, &batches, &error));
    CHECK(batches == NULL);
    millpond_client_free(client);
}

/* Two threads that request a batch from one loop. */
struct asking {
    millpond_ick_batches *batches;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refused;
    int returned;
    millpond_status status;
    millpond_ick_entries *entries;
};

static void *ask(void *argument) {
    struct asking *asking = argument;
    millpond_ick_entries *entries;
    millpond_error *error;
    millpond_status status = millpond_ick_batches_next(asking->batches, &entries, &error);
    pthread_mutex_lock(&asking->lock);
    if (status == MILLPOND_INVALID_ARGUMENT) {
        CHECK(strstr(millpond_error_message(error), "another thread") != NULL);
        asking->refused++;
    } else {
        asking->status = status;
        asking->entries = entries;
        asking->returned++;
    }
    pthread_cond_broadcast(&asking->changed);
    pthread_mutex_unlock(&asking->lock);
    millpond_error_free(error);
    return NULL;
}

static void wait_until(struct asking *asking, int *count) {
    pthread_mutex_lock(&asking->lock);
    while (*count == 0)
        pthread_cond_wait(&asking->changed, &asking->lock);
    pthread_mutex_unlock(&asking->lock);
}

static void is_woken_and_is_for_one_thread(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    struct asking asking = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    pthread_t threads[2];

    OK(millpond_ick_batches_new(client, S("woken"), 1, -1, &asking.batches, &error));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &asking) == 0);
    /* One waits forever, so the other has to be refused at once. */
    wait_until(&asking, &asking.refused);
    CHECK(asking.returned == 0);
    add(client, "woken", "a 1");
    wait_until(&asking, &asking.returned);
    CHECK(asking.status == MILLPOND_OK);
    ENTRIES(asking.entries, "a 1");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    millpond_ick_batches_free(asking.batches);
    millpond_client_free(client);
}

static void close_ends_the_wait(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    struct asking asking = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;

    OK(millpond_ick_batches_new(client, S("closed"), 1, -1, &asking.batches, &error));
    CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
    /* Whether it waits already or is about to: it ends. */
    sleep_ms(50);
    OK(millpond_close(client, &error));
    wait_until(&asking, &asking.returned);
    CHECK(asking.status == MILLPOND_CLOSED && asking.entries == NULL);
    pthread_join(thread, NULL);
    millpond_ick_batches_free(asking.batches);
    millpond_client_free(client);
}

static pthread_t waiting;
static int checks;

static bool stop_at_the_third(void) {
    CHECK(pthread_equal(pthread_self(), waiting));
    return ++checks == 3;
}

static void can_be_interrupted(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;

    waiting = pthread_self();
    checks = 0;
    OK(millpond_ick_batches_new(client, S("interrupted"), 1, -1, &batches, &error));
    millpond_on_interrupt(stop_at_the_third);
    FAILS(MILLPOND_CANCELLED, "interrupted", millpond_ick_batches_next(batches, &entries, &error));
    CHECK(checks == 3);
    millpond_on_interrupt(NULL);
    add(client, "interrupted", "a 1");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "a 1");
    CHECK(checks == 3);
    millpond_ick_batches_free(batches);
    millpond_client_free(client);
}

/* A waiting loop is woken by a producer in another client. */
static void is_woken_by_another_client(const struct backend *backend) {
    millpond_client *consumer = connect_with_options(backend, NEVER_POLLING),
                    *producer = connect_to(backend);
    millpond_error *error;
    struct asking asking = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;

    OK(millpond_ick_batches_new(consumer, S("another"), 1, -1, &asking.batches, &error));
    CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
    /* It listens by now, as a rule. */
    sleep_ms(50);
    add(producer, "another", "a 1");
    wait_until(&asking, &asking.returned);
    ENTRIES(asking.entries, "a 1");
    pthread_join(thread, NULL);
    millpond_ick_batches_free(asking.batches);
    millpond_client_free(consumer);
    millpond_client_free(producer);
}

const struct test loop_tests[] = {
    {"ends_when_nothing_is_left", ends_when_nothing_is_left},
    {"a_loop_that_is_left", a_loop_that_is_left},
    {"waits_up_to_wait_ms", waits_up_to_wait_ms},
    {"is_woken_and_is_for_one_thread", is_woken_and_is_for_one_thread},
    {"close_ends_the_wait", close_ends_the_wait},
    {"can_be_interrupted", can_be_interrupted},
    {NULL, NULL},
};

const struct test redis_loop_tests[] = {
    {"is_woken_by_another_client", is_woken_by_another_client},
    {NULL, NULL},
};
