/* Loops over messages of a shuffle queue, and reads that wait. */

#include "shuffle.h"

#include <pthread.h>
#include <string.h>

static void ends_when_nothing_is_left(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "loop ends");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_messages *messages;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    uint64_t pending;

    for (int i = 0; i < 3; i++)
        put(queue, "t", "x");
    OK(millpond_shuffle_messages_new(consumer, 2, 0, &messages, &error));
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    BATCH(batch, "task=x; task=x");
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    BATCH(batch, "task=x");
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    CHECK(batch == NULL);
    /* Asking for the next acknowledges nothing. */
    OK(millpond_shuffle_pending_count(queue, S("g"), &pending, &error));
    CHECK(pending == 3);
    millpond_shuffle_messages_free(messages);
    OK(millpond_shuffle_messages_new(consumer, 0, 0, &messages, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "1 to 10000 messages, not 0",
          millpond_shuffle_messages_next(messages, &batch, &error));
    millpond_shuffle_messages_free(messages);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void waits_up_to_wait_ms(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "loop told");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_messages *messages = (millpond_shuffle_messages *)1;
    millpond_shuffle_batch *batch = (millpond_shuffle_batch *)1;
    millpond_error *error;

    int64_t start = now_ms();
    OK(millpond_shuffle_read(consumer, 1, 100, &batch, &error));
    CHECK(now_ms() - start >= 100);
    BATCH(batch, "");
    start = now_ms();
    OK(millpond_shuffle_messages_new(consumer, 1, 100, &messages, &error));
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    CHECK(batch == NULL && now_ms() - start >= 100);
    put(queue, "t", "1");
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    BATCH(batch, "task=1");
    millpond_shuffle_messages_free(messages);
    FAILS(MILLPOND_INVALID_ARGUMENT, "wait_ms is -2",
          millpond_shuffle_messages_new(consumer, 1, -2, &messages, &error));
    CHECK(messages == NULL);
    FAILS(MILLPOND_INVALID_ARGUMENT, "wait_ms is -2",
          millpond_shuffle_read(consumer, 1, -2, &batch, &error));
    CHECK(batch == NULL);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

/* Threads that request messages from a loop, or read without a loop. */
struct asking {
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_messages *messages;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refused;
    int returned;
    millpond_status status;
    millpond_shuffle_batch *batch;
};

#define ASKING(consumer) \
    {consumer, NULL, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, MILLPOND_OK, NULL}

static void *ask(void *argument) {
    struct asking *asking = argument;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    millpond_status status =
        asking->messages != NULL
            ? millpond_shuffle_messages_next(asking->messages, &batch, &error)
            : millpond_shuffle_read(asking->consumer, 1, -1, &batch, &error);
    pthread_mutex_lock(&asking->lock);
    if (status == MILLPOND_INVALID_ARGUMENT) {
        CHECK(strstr(millpond_error_message(error), "another thread") != NULL);
        asking->refused++;
    } else {
        asking->status = status;
        asking->batch = batch;
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
    millpond_shuffle_queue *queue = queue_of(client, "loop woken");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_error *error;
    struct asking asking = ASKING(consumer);
    pthread_t threads[2];

    OK(millpond_shuffle_messages_new(consumer, 1, -1, &asking.messages, &error));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &asking) == 0);
    /* One waits forever, so the other has to be refused at once. */
    wait_until(&asking, &asking.refused);
    CHECK(asking.returned == 0);
    put(queue, "t", "1");
    wait_until(&asking, &asking.returned);
    CHECK(asking.status == MILLPOND_OK);
    BATCH(asking.batch, "task=1");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    millpond_shuffle_messages_free(asking.messages);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void many_read_through_one_consumer(const struct backend *backend) {
    enum { THREADS = 4 };
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "loop many");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    struct asking asking[THREADS];
    pthread_t threads[THREADS];
    bool seen[THREADS] = {false};

    for (int i = 0; i < THREADS; i++) {
        asking[i] = (struct asking)ASKING(consumer);
        CHECK(pthread_create(&threads[i], NULL, ask, &asking[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        put(queue, (char[]){(char)('a' + i), '\0'}, (char[]){(char)('0' + i), '\0'});
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(asking[i].status == MILLPOND_OK && asking[i].returned == 1);
        CHECK(millpond_shuffle_batch_length(asking[i].batch) == 1);
        int task = millpond_shuffle_batch_messages(asking[i].batch)->fields->value[0] - '0';
        CHECK(task >= 0 && task < THREADS && !seen[task]);
        seen[task] = true;
        millpond_shuffle_batch_free(asking[i].batch);
    }
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void close_ends_the_wait(const struct backend *backend) {
    for (int with_loop = 0; with_loop < 2; with_loop++) {
        millpond_client *client = connect_to(backend);
        millpond_shuffle_queue *queue = queue_of(client, "loop closed");
        millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
        millpond_error *error;
        struct asking asking = ASKING(consumer);
        pthread_t thread;

        if (with_loop)
            OK(millpond_shuffle_messages_new(consumer, 1, -1, &asking.messages, &error));
        CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
        /* Whether it waits already or is about to: it ends. */
        sleep_ms(50);
        OK(millpond_close(client, &error));
        wait_until(&asking, &asking.returned);
        CHECK(asking.status == MILLPOND_CLOSED && asking.batch == NULL);
        pthread_join(thread, NULL);
        millpond_shuffle_messages_free(asking.messages);
        millpond_shuffle_consumer_free(consumer);
        millpond_shuffle_queue_free(queue);
        millpond_client_free(client);
    }
}

static pthread_t waiting;
static int checks;

static bool stop_at_the_third(void) {
    CHECK(pthread_equal(pthread_self(), waiting));
    return ++checks == 3;
}

static void can_be_interrupted(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "loop interrupted");
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c");
    millpond_shuffle_messages *messages;
    millpond_shuffle_batch *batch;
    millpond_error *error;

    waiting = pthread_self();
    OK(millpond_shuffle_messages_new(consumer, 1, -1, &messages, &error));
    millpond_on_interrupt(stop_at_the_third);
    checks = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_shuffle_read(consumer, 1, -1, &batch, &error));
    CHECK(checks == 3 && batch == NULL);
    checks = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_shuffle_messages_next(messages, &batch, &error));
    CHECK(checks == 3 && batch == NULL);
    millpond_on_interrupt(NULL);
    put(queue, "t", "1");
    OK(millpond_shuffle_messages_next(messages, &batch, &error));
    BATCH(batch, "task=1");
    CHECK(checks == 3);
    millpond_shuffle_messages_free(messages);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

/* A waiting reader is woken by a writer in another client. */
static void is_woken_by_another_client(const struct backend *backend) {
    millpond_client *reading = connect_with_options(backend, NEVER_POLLING),
                    *writing = connect_to(backend);
    millpond_shuffle_queue *read = queue_of(reading, "loop another"),
                           *written = queue_of(writing, "loop another");
    millpond_shuffle_consumer *consumer = consumer_of(read, "g", "c");
    struct asking asking = ASKING(consumer);
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
    /* It listens by now, as a rule. */
    sleep_ms(50);
    put(written, "t", "1");
    wait_until(&asking, &asking.returned);
    BATCH(asking.batch, "task=1");
    pthread_join(thread, NULL);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(read);
    millpond_shuffle_queue_free(written);
    millpond_client_free(reading);
    millpond_client_free(writing);
}

const struct test shuffle_loop_tests[] = {
    {"messages_end_when_nothing_is_left", ends_when_nothing_is_left},
    {"messages_wait_as_long_as_told", waits_up_to_wait_ms},
    {"messages_are_woken_and_are_for_one_thread", is_woken_and_is_for_one_thread},
    {"many_read_through_one_consumer", many_read_through_one_consumer},
    {"close_ends_the_wait_for_messages", close_ends_the_wait},
    {"reads_can_be_interrupted", can_be_interrupted},
    {NULL, NULL},
};

const struct test redis_shuffle_loop_tests[] = {
    {"messages_are_woken_by_another_client", is_woken_by_another_client},
    {NULL, NULL},
};
