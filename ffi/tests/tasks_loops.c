/* Loops of claims, and claims that wait. */

#include "tasks.h"

#include <pthread.h>
#include <string.h>

static void ends_when_nothing_is_left(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims end", NULL);
    millpond_bytes queues[] = {B("a"), B("b")};
    millpond_tasks_claims *claims;
    millpond_tasks_answer *answer;
    millpond_error *error;

    for (int i = 0; i < 3; i++)
        insert(store, i ? "a" : "b", "1");
    OK(millpond_tasks_claims_new(store, queues, 2, 60000, 2, -1, &claims, &error));
    OK(millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(millpond_tasks_answer_data(answer)->task_count == 2);
    millpond_tasks_answer_free(answer);
    OK(millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(task_of(answer)->at_ms == task_of(answer)->modified_ms + 60000);
    millpond_tasks_answer_free(answer);
    OK(millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(answer == NULL);
    /* Asking for the next ends no task. */
    CHECK(size_of(store, "a") == 2 && size_of(store, "b") == 1);
    millpond_tasks_claims_free(claims);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void waits_as_long_as_it_is_told(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims told", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_claims *claims = (void *)1;
    millpond_tasks_answer *answer = (void *)1;
    millpond_error *error;

    int64_t start = now_ms();
    OK(millpond_tasks_claim(store, &queue, 1, -1, 1, 100, &answer, &error));
    CHECK(answer == NULL && now_ms() - start >= 100);
    start = now_ms();
    OK(millpond_tasks_claims_new(store, &queue, 1, -1, 1, 100, &claims, &error));
    OK(millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(answer == NULL && now_ms() - start >= 100);
    insert(store, "q", "1");
    OK(millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(is(task_of(answer)->value, "1"));
    millpond_tasks_answer_free(answer);
    millpond_tasks_claims_free(claims);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* A task whose time comes wakes whoever waits; so does a lease that is over. */
static void is_woken_by_time(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims timed", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_answer *answer;
    millpond_new_task task;
    millpond_modification modification = {.inserts = &task, .insert_count = 1};
    millpond_error *error;

    millpond_new_task_init(&task);
    task.queue = queue;
    task.delay_ms = 200;
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    for (uint64_t claims = 1; claims <= 2; claims++) {
        int64_t start = now_ms();
        OK(millpond_tasks_claim(store, &queue, 1, 200, 1, INT64_MAX, &answer, &error));
        CHECK(task_of(answer)->claims == claims && now_ms() - start < 4000);
        millpond_tasks_answer_free(answer);
    }
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* Threads that ask a loop for tasks, or claim where there is no loop. */
struct asking {
    millpond_tasks_store *store;
    millpond_tasks_claims *claims;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refused;
    int answered;
    millpond_status status;
    millpond_tasks_answer *answer;
};

#define ASKING(store) \
    {store, NULL, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, MILLPOND_OK, NULL}

static void *ask(void *argument) {
    struct asking *asking = argument;
    millpond_bytes queue = B("q");
    millpond_tasks_answer *answer;
    millpond_error *error;
    millpond_status status =
        asking->claims != NULL
            ? millpond_tasks_claims_next(asking->claims, &answer, &error)
            : millpond_tasks_claim(asking->store, &queue, 1, -1, 1, INT64_MAX, &answer, &error);
    pthread_mutex_lock(&asking->lock);
    if (status == MILLPOND_INVALID_ARGUMENT) {
        CHECK(strstr(millpond_error_message(error), "another thread") != NULL);
        asking->refused++;
    } else {
        asking->status = status;
        asking->answer = answer;
        asking->answered++;
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
    millpond_tasks_store *store = store_of(client, "claims woken", NULL);
    millpond_bytes queue = B("q");
    millpond_error *error;
    struct asking asking = ASKING(store);
    pthread_t threads[2];

    OK(millpond_tasks_claims_new(store, &queue, 1, -1, 1, INT64_MAX, &asking.claims, &error));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &asking) == 0);
    /* One waits for ever, so the other has to be refused at once. */
    wait_until(&asking, &asking.refused);
    CHECK(asking.answered == 0);
    insert(store, "q", "1");
    wait_until(&asking, &asking.answered);
    CHECK(asking.status == MILLPOND_OK && is(task_of(asking.answer)->value, "1"));
    millpond_tasks_answer_free(asking.answer);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    millpond_tasks_claims_free(asking.claims);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void many_claim_through_one_store(const struct backend *backend) {
    enum { THREADS = 4 };
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims many", NULL);
    struct asking asking[THREADS];
    pthread_t threads[THREADS];
    bool seen[THREADS] = {false};

    for (int i = 0; i < THREADS; i++) {
        asking[i] = (struct asking)ASKING(store);
        CHECK(pthread_create(&threads[i], NULL, ask, &asking[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        insert(store, "q", (char[]){(char)('0' + i), '\0'});
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(asking[i].status == MILLPOND_OK && asking[i].answered == 1);
        int number = task_of(asking[i].answer)->value.data[0] - '0';
        CHECK(number >= 0 && number < THREADS && !seen[number]);
        seen[number] = true;
        millpond_tasks_answer_free(asking[i].answer);
    }
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void close_ends_the_wait(const struct backend *backend) {
    for (int with_loop = 0; with_loop < 2; with_loop++) {
        millpond_client *client = connect_to(backend);
        millpond_tasks_store *store = store_of(client, "claims closed", NULL);
        millpond_bytes queue = B("q");
        millpond_error *error;
        struct asking asking = ASKING(store);
        pthread_t thread;

        if (with_loop)
            OK(millpond_tasks_claims_new(store, &queue, 1, -1, 1, INT64_MAX, &asking.claims,
                                         &error));
        CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
        /* Whether it waits already or is about to: it ends. */
        sleep_ms(50);
        OK(millpond_close(client, &error));
        wait_until(&asking, &asking.answered);
        CHECK(asking.status == MILLPOND_CLOSED && asking.answer == NULL);
        pthread_join(thread, NULL);
        FAILS(MILLPOND_CLOSED, "closed",
              millpond_tasks_insert(store, S("q"), NULL, 0, NULL, &error));
        millpond_tasks_claims_free(asking.claims);
        millpond_tasks_store_free(store);
        millpond_client_free(client);
    }
}

static pthread_t waiting;
static int questions;

static bool stop_at_the_third(void) {
    CHECK(pthread_equal(pthread_self(), waiting));
    return ++questions == 3;
}

static void can_be_interrupted(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims interrupted", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_claims *claims;
    millpond_tasks_jobs *jobs;
    millpond_tasks_job *job;
    millpond_tasks_worker_options options;
    millpond_tasks_answer *answer;
    millpond_error *error;

    waiting = pthread_self();
    OK(millpond_tasks_claims_new(store, &queue, 1, -1, 1, INT64_MAX, &claims, &error));
    millpond_tasks_worker_options_init(&options);
    options.wait_ms = INT64_MAX;
    OK(millpond_tasks_jobs_new(store, &queue, 1, &options, &jobs, &error));
    millpond_on_interrupt(stop_at_the_third);
    questions = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_tasks_claim(store, &queue, 1, -1, 1, INT64_MAX, &answer, &error));
    CHECK(questions == 3 && answer == NULL);
    questions = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted", millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(questions == 3 && answer == NULL);
    questions = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted", millpond_tasks_jobs_next(jobs, &job, &error));
    CHECK(questions == 3 && job == NULL);
    millpond_on_interrupt(NULL);
    insert(store, "q", "1");
    OK(millpond_tasks_claims_next(claims, &answer, &error));
    CHECK(is(task_of(answer)->value, "1") && questions == 3);
    millpond_tasks_answer_free(answer);
    millpond_tasks_claims_free(claims);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* A claimant that waits hears of a producer in another client. */
static void is_woken_by_another_client(const struct backend *backend) {
    millpond_client *claiming = connect_to(backend), *inserting = connect_to(backend);
    millpond_tasks_store *claimed = store_of(claiming, "claims another", NULL),
                         *inserted = store_of(inserting, "claims another", NULL);
    struct asking asking = ASKING(claimed);
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
    sleep_ms(50);
    int64_t start = now_ms();
    insert(inserted, "q", "1");
    wait_until(&asking, &asking.answered);
    CHECK(now_ms() - start < 4000);
    CHECK(is(task_of(asking.answer)->value, "1"));
    millpond_tasks_answer_free(asking.answer);
    pthread_join(thread, NULL);
    millpond_tasks_store_free(claimed);
    millpond_tasks_store_free(inserted);
    millpond_client_free(claiming);
    millpond_client_free(inserting);
}

const struct test task_loop_tests[] = {
    {"claims_end_when_nothing_is_left", ends_when_nothing_is_left},
    {"claims_wait_as_long_as_told", waits_as_long_as_it_is_told},
    {"claims_are_woken_by_time", is_woken_by_time},
    {"claims_are_woken_and_are_for_one_thread", is_woken_and_is_for_one_thread},
    {"many_claim_through_one_store", many_claim_through_one_store},
    {"close_ends_the_wait_for_tasks", close_ends_the_wait},
    {"claims_can_be_interrupted", can_be_interrupted},
    {NULL, NULL},
};

const struct test redis_task_loop_tests[] = {
    {"claims_are_woken_by_another_client", is_woken_by_another_client},
    {NULL, NULL},
};
