/* What holds for every loop and every call that waits: each test goes over each row of the table. */

#include "fork.h"
#include "rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place of the number of an item: there is none. */
#define NONE -1

/* Opens a queue that no other test uses, and its loop. */
static struct use begin(const struct loop_row *row, millpond_client *client, int64_t wait_ms) {
    static int count;
    struct use use = {.client = client, .wait_ms = wait_ms};
    millpond_error *error;
    snprintf(use.name, sizeof use.name, "loop %d", ++count);
    row->queue->open(&use);
    OK(row->open(&use, &error));
    return use;
}

static void put(const struct loop_row *row, const struct use *use, int number) {
    char item[16];
    millpond_error *error;
    snprintf(item, sizeof item, "%d", number);
    OK(row->queue->put(use, item, MILLPOND_NOT_SET, &error));
}

/* The number of the item that was taken. */
static int number(const struct loop_row *row, const struct use *use) {
    char digits[16];
    millpond_bytes item = row->item(use);
    if (item.data == NULL)
        return NONE;
    snprintf(digits, sizeof digits, "%.*s", (int)item.length, item.data);
    return atoi(digits);
}

/* The same, and ends it. */
static int ended(const struct loop_row *row, struct use *use) {
    int item = number(row, use);
    if (item != NONE)
        row->end(use);
    return item;
}

/* Takes an item and ends it. */
static int next(const struct loop_row *row, struct use *use) {
    millpond_error *error;
    OK(row->take(use, &error));
    return ended(row, use);
}

/* A thread that takes one item. */
struct waiter {
    const struct loop_row *row;
    struct use use;
    pthread_t thread;
    millpond_status status;
    millpond_error *error;
    bool has_ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_has_ended = PTHREAD_COND_INITIALIZER;

static void *take(void *argument) {
    struct waiter *waiter = argument;
    waiter->status = waiter->row->take(&waiter->use, &waiter->error);
    pthread_mutex_lock(&lock);
    waiter->has_ended = true;
    pthread_cond_broadcast(&one_has_ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start(struct waiter *waiter, const struct loop_row *row, const struct use *use) {
    *waiter = (struct waiter){.row = row, .use = *use};
    CHECK(pthread_create(&waiter->thread, NULL, take, waiter) == 0);
}

/* Waits for a thread, and ends what it took. */
static int taken(struct waiter *waiter) {
    pthread_join(waiter->thread, NULL);
    millpond_error *error = waiter->error;
    OK(waiter->status);
    return ended(waiter->row, &waiter->use);
}

static void ends_when_nothing_is_left(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), 0);
        int sum = 0;
        for (int i = 0; i < 3; i++)
            put(row, &use, 1 << i);
        for (int i = 0; i < 3; i++)
            sum += next(row, &use);
        CHECK(sum == 7 && next(row, &use) == NONE);
        free_use(&use);
    }
}

static void waits_up_to_wait_ms(const struct backend *backend) {
    EVERY_LOOP(row) {
        if (row->kind == RUN)
            continue;
        struct use use = begin(row, connect_to(backend), 100),
                   refused = {.client = connect_to(backend), .name = "refused", .wait_ms = -2};
        millpond_error *error;
        int64_t start = now_ms();
        CHECK(next(row, &use) == NONE && now_ms() - start >= 100);
        put(row, &use, 1);
        CHECK(next(row, &use) == 1);
        free_use(&use);

        row->queue->open(&refused);
        millpond_status status = row->open(&refused, &error);
        if (row->kind == CALL)
            status = row->take(&refused, &error);
        FAILS(MILLPOND_INVALID_ARGUMENT, "wait_ms is -2", status);
        free_use(&refused);
    }
}

static void is_woken_and_is_for_one_thread(const struct backend *backend) {
    EVERY_LOOP(row) {
        if (row->kind != LOOP)
            continue;
        struct use use = begin(row, connect_with_options(backend, NEVER_POLLING), -1);
        struct waiter waiters[2];
        for (int i = 0; i < 2; i++)
            start(&waiters[i], row, &use);
        /* One waits forever, so the other has to be refused. */
        pthread_mutex_lock(&lock);
        while (!waiters[0].has_ended && !waiters[1].has_ended)
            pthread_cond_wait(&one_has_ended, &lock);
        struct waiter *refused = &waiters[waiters[0].has_ended ? 0 : 1],
                      *waiting = &waiters[waiters[0].has_ended ? 1 : 0];
        CHECK(!waiting->has_ended);
        pthread_mutex_unlock(&lock);
        pthread_join(refused->thread, NULL);
        millpond_error *error = refused->error;
        FAILS(MILLPOND_INVALID_ARGUMENT, "another thread", refused->status);
        CHECK(number(row, &refused->use) == NONE);
        put(row, &use, 1);
        CHECK(taken(waiting) == 1);
        free_use(&use);
    }
}

static void wakes_each_of_many_threads(const struct backend *backend) {
    enum { WAITERS = 4 };
    EVERY_LOOP(row) {
        if (row->kind == LOOP)
            continue;
        struct use use = begin(row, connect_with_options(backend, NEVER_POLLING), -1);
        struct waiter waiters[WAITERS];
        int sum = 0;
        for (int i = 0; i < WAITERS; i++)
            start(&waiters[i], row, &use);
        for (int i = 0; i < WAITERS; i++)
            put(row, &use, 1 << i);
        for (int i = 0; i < WAITERS; i++)
            sum += taken(&waiters[i]);
        CHECK(sum == 15);
        free_use(&use);
    }
}

static void is_woken_by_time(const struct backend *backend) {
    EVERY_LOOP(row) {
        if (!row->queue->has_delays)
            continue;
        struct use use = begin(row, connect_with_options(backend, NEVER_POLLING), -1);
        millpond_error *error;
        int64_t start = now_ms();
        OK(row->queue->put(&use, "1", 150, &error));
        CHECK(next(row, &use) == 1 && now_ms() - start >= 140);
        free_use(&use);
    }
}

/* What is put off by an hour comes when the engine's clock has moved by one, and not before. */
static void is_woken_by_a_clock(const struct backend *backend) {
    struct backend unpolled = with_options(backend, NEVER_POLLING);
    if (strcmp(backend->kind, "redis") == 0)
        return;
    EVERY_LOOP(row) {
        if (!row->queue->has_delays)
            continue;
        millpond_clock *clock;
        millpond_client *client;
        millpond_error *error;
        struct waiter waiter;
        OK(millpond_clock_new(MILLPOND_NOT_SET, &clock, &error));
        OK(connect_with_clock(unpolled.url, clock, &client, &error));
        struct use use = begin(row, client, -1), early = {.client = client};
        strcpy(early.name, use.name);
        row->queue->open(&early);
        OK(row->open(&early, &error));
        OK(row->queue->put(&use, "1", 3600000, &error));
        start(&waiter, row, &use);
        sleep_ms(50);
        OK(millpond_clock_advance(clock, 3600000 - 1, &error));
        CHECK(next(row, &early) == NONE);
        OK(millpond_clock_advance(clock, 1, &error));
        CHECK(taken(&waiter) == 1);
        free_use(&early);
        free_use(&use);
        millpond_clock_free(clock);
    }
}

static void close_ends_the_wait(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), -1);
        struct waiter waiter;
        millpond_error *error;
        start(&waiter, row, &use);
        /* Whether it waits already or is about to: it ends. */
        sleep_ms(50);
        OK(millpond_close(use.client, &error));
        pthread_join(waiter.thread, NULL);
        error = waiter.error;
        FAILS(MILLPOND_CLOSED, "closed", waiter.status);
        CHECK(number(row, &waiter.use) == NONE);
        /* And so does each call from now on. */
        OK(millpond_close(use.client, &error));
        FAILS(MILLPOND_CLOSED, "closed", row->queue->put(&use, "1", MILLPOND_NOT_SET, &error));
        struct use late = {.client = use.client, .name = "late", .wait_ms = -1};
        row->queue->open(&late);
        millpond_status status = row->open(&late, &error);
        if (status == MILLPOND_OK)
            status = row->take(&late, &error);
        FAILS(MILLPOND_CLOSED, "closed", status);
        /* The error has ended the loop; a call has no end. */
        if (row->kind != CALL)
            CHECK(next(row, &use) == NONE);
        free_use(&late);
        free_use(&use);
    }
}

static void can_be_interrupted(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), -1);
        millpond_error *error;
        interrupt_at_the_third_check();
        FAILS(MILLPOND_CANCELLED, "interrupted", row->take(&use, &error));
        was_interrupted();
        CHECK(number(row, &use) == NONE);
        put(row, &use, 1);
        CHECK(next(row, &use) == 1);
        free_use(&use);
    }
}

static void outlives_its_client(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), 0);
        millpond_error *error;
        put(row, &use, 1);
        if (row->kind == CALL)
            millpond_client_free(use.client);
        else
            free_queue(&use);
        OK(row->take(&use, &error));
        free_loop(&use);
        CHECK(number(row, &use) == 1);
        free_use(&use);
        FAILS(MILLPOND_INVALID_ARGUMENT, "freed", row->take(&use, &error));
    }
}

/* A thread of several that put into one queue. */
enum { THREADS = 8, PUTS = 20 };

struct producer {
    const struct loop_row *row;
    const struct use *use;
    int number;
};

static void *put_own(void *argument) {
    struct producer *producer = argument;
    millpond_error *error;
    for (int i = 0; i < PUTS; i++) {
        put(producer->row, producer->use, producer->number * PUTS + i);
        /* Errors are each thread's own. */
        FAILS(MILLPOND_INVALID_ARGUMENT, "client is NULL", millpond_close(NULL, &error));
    }
    return NULL;
}

static void has_what_many_threads_put(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), 0);
        struct producer producers[THREADS];
        pthread_t threads[THREADS];
        bool seen[THREADS * PUTS] = {false};
        for (int i = 0; i < THREADS; i++) {
            producers[i] = (struct producer){row, &use, i};
            CHECK(pthread_create(&threads[i], NULL, put_own, &producers[i]) == 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS * PUTS; i++) {
            int item = next(row, &use);
            CHECK(item >= 0 && item < THREADS * PUTS && !seen[item]);
            seen[item] = true;
        }
        CHECK(next(row, &use) == NONE);
        free_use(&use);
    }
}

/* The parent's, in the child. */
struct parents {
    const struct loop_row *row;
    struct use use;
    bool is_embedded;
};

static void use_the_parents(void *argument) {
    struct parents *parents = argument;
    const struct loop_row *row = parents->row;
    struct use *use = &parents->use;
    millpond_error *error;
    if (parents->is_embedded)
        FAILS(MILLPOND_FORKED, "fork", row->queue->put(use, "2", MILLPOND_NOT_SET, &error));
    else
        put(row, use, 2);
    if (row->kind == RUN)
        FAILS(MILLPOND_FORKED, "process", row->take(use, &error));
    else if (parents->is_embedded)
        FAILS(MILLPOND_FORKED, "fork", row->take(use, &error));
    else
        CHECK(next(row, use) == 2 && next(row, use) == NONE);
}

static void end_the_parents(void *argument) {
    struct parents *parents = argument;
    free_use(&parents->use);
    use_own(NULL);
}

static void a_child_leaves_its_parents_alone(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), row->kind == RUN ? -1 : 1);
        bool is_embedded = strcmp(backend->kind, "redis") != 0;
        millpond_error *error;
        /* A loop that has waited has a listener. */
        if (row->kind != RUN)
            CHECK(next(row, &use) == NONE);
        put(row, &use, 1);
        OK(row->take(&use, &error));
        struct parents parents = {row, use, is_embedded};
        in_child(use_the_parents, &parents);
        in_child(end_the_parents, &parents);
        CHECK(ended(row, &use) == 1);
        if (row->kind == RUN && !is_embedded)
            CHECK(next(row, &use) == 2);
        put(row, &use, 3);
        CHECK(next(row, &use) == 3);
        free_use(&use);
    }
}

/* The child does not have the thread that waits, and cannot unlock its locks. */
static void a_child_of_one_that_waits(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_to(backend), -1);
        struct parents parents = {row, use, false};
        struct waiter waiter;
        start(&waiter, row, &use);
        for (int i = 0; i < 5; i++)
            in_child(end_the_parents, &parents);
        put(row, &use, 1);
        CHECK(taken(&waiter) == 1);
        free_use(&use);
    }
}

static void is_woken_by_another_client(const struct backend *backend) {
    EVERY_LOOP(row) {
        struct use use = begin(row, connect_with_options(backend, NEVER_POLLING), -1),
                   producer = {.client = connect_to(backend)};
        struct waiter waiter;
        strcpy(producer.name, use.name);
        row->queue->open(&producer);
        start(&waiter, row, &use);
        /* It listens by now, as a rule. */
        sleep_ms(50);
        put(row, &producer, 1);
        CHECK(taken(&waiter) == 1);
        free_use(&producer);
        free_use(&use);
    }
}

const struct test loop_tests[] = {
    {"every_loop_ends_when_nothing_is_left", ends_when_nothing_is_left},
    {"every_loop_waits_up_to_wait_ms", waits_up_to_wait_ms},
    {"every_loop_is_woken_and_is_for_one_thread", is_woken_and_is_for_one_thread},
    {"every_shared_loop_wakes_each_of_many_threads", wakes_each_of_many_threads},
    {"every_loop_is_woken_by_time", is_woken_by_time},
    {"every_loop_is_woken_by_a_clock", is_woken_by_a_clock},
    {"close_ends_every_wait", close_ends_the_wait},
    {"every_loop_can_be_interrupted", can_be_interrupted},
    {"every_loop_outlives_its_client", outlives_its_client},
    {"every_loop_has_what_many_threads_put", has_what_many_threads_put},
    {"a_child_leaves_every_loop_of_its_parents_alone", a_child_leaves_its_parents_alone},
    {NULL, NULL},
};

const struct test redis_loop_tests[] = {
    {"a_child_of_one_that_waits", a_child_of_one_that_waits},
    {"every_loop_is_woken_by_another_client", is_woken_by_another_client},
    {NULL, NULL},
};
