/* Loops of claims, and claims that wait. */

#include "tasks.h"

#include <pthread.h>
#include <string.h>

static void ends_when_nothing_is_left(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims end", NULL);
    millpond_bytes queues[] = {B("a"), B("b")};
    millpond_tasks_claims *claims;
    millpond_tasks_result *result;
    millpond_error *error;

    for (int i = 0; i < 3; i++)
        insert(store, i ? "a" : "b", "1");
    OK(millpond_tasks_claims_new(store, queues, 2, 60000, 2, 0, &claims, &error));
    OK(millpond_tasks_claims_next(claims, &result, &error));
    CHECK(millpond_tasks_result_data(result)->task_count == 2);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_claims_next(claims, &result, &error));
    CHECK(task_of(result)->at_ms == task_of(result)->modified_ms + 60000);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_claims_next(claims, &result, &error));
    CHECK(result == NULL);
    /* Asking for the next ends no task. */
    CHECK(size_of(store, "a") == 2 && size_of(store, "b") == 1);
    millpond_tasks_claims_free(claims);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void waits_up_to_wait_ms(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "claims told", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_claims *claims = (void *)1;
    millpond_tasks_result *result = (void *)1;
    millpond_error *error;

    int64_t start = now_ms();
    OK(millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 1, 100, &result, &error));
    CHECK(result == NULL && now_ms() - start >= 100);
    start = now_ms();
    OK(millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 1, 100, &claims, &error));
    OK(millpond_tasks_claims_next(claims, &result, &error));
    CHECK(result == NULL && now_ms() - start >= 100);
    insert(store, "q", "1");
    OK(millpond_tasks_claims_next(claims, &result, &error));
    CHECK(is(task_of(result)->value, "1"));
    millpond_tasks_result_free(result);
    millpond_tasks_claims_free(claims);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* A task whose time comes wakes waiting claimants; so does a lease that expires. */
static void is_woken_by_time(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, NEVER_POLLING);
    millpond_tasks_store *store = store_of(client, "claims timed", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_result *result;
    millpond_new_task task;
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = &task,
                                                .insert_count = 1};
    millpond_error *error;

    millpond_new_task_init(&task, sizeof task);
    task.queue = queue;
    task.delay_ms = 200;
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    for (uint64_t claims = 1; claims <= 2; claims++) {
        OK(millpond_tasks_claim(store, &queue, 1, 200, 1, -1, &result, &error));
        CHECK(task_of(result)->claims == claims);
        millpond_tasks_result_free(result);
    }
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* Threads that request tasks from a loop, or claim without a loop. */
struct asking {
    millpond_tasks_store *store;
    millpond_tasks_claims *claims;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int refused;
    int returned;
    millpond_status status;
    millpond_tasks_result *result;
};

#define ASKING(store) \
    {store, NULL, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, MILLPOND_OK, NULL}

static void *ask(void *argument) {
    struct asking *asking = argument;
    millpond_bytes queue = B("q");
    millpond_tasks_result *result;
    millpond_error *error;
    millpond_status status =
        asking->claims != NULL
            ? millpond_tasks_claims_next(asking->claims, &result, &error)
            : millpond_tasks_claim(asking->store, &queue, 1, MILLPOND_NOT_SET, 1, -1, &result, &error);
    pthread_mutex_lock(&asking->lock);
    if (status == MILLPOND_INVALID_ARGUMENT) {
        CHECK(strstr(millpond_error_message(error), "another thread") != NULL);
        asking->refused++;
    } else {
        asking->status = status;
        asking->result = result;
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
    millpond_client *client = connect_with_options(backend, NEVER_POLLING);
    millpond_tasks_store *store = store_of(client, "claims woken", NULL);
    millpond_bytes queue = B("q");
    millpond_error *error;
    struct asking asking = ASKING(store);
    pthread_t threads[2];

    OK(millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 1, -1, &asking.claims, &error));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &asking) == 0);
    /* One waits forever, so the other has to be refused at once. */
    wait_until(&asking, &asking.refused);
    CHECK(asking.returned == 0);
    insert(store, "q", "1");
    wait_until(&asking, &asking.returned);
    CHECK(asking.status == MILLPOND_OK && is(task_of(asking.result)->value, "1"));
    millpond_tasks_result_free(asking.result);
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
        CHECK(asking[i].status == MILLPOND_OK && asking[i].returned == 1);
        int number = task_of(asking[i].result)->value.data[0] - '0';
        CHECK(number >= 0 && number < THREADS && !seen[number]);
        seen[number] = true;
        millpond_tasks_result_free(asking[i].result);
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
            OK(millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 1, -1, &asking.claims,
                                         &error));
        CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
        /* Whether it waits already or is about to: it ends. */
        sleep_ms(50);
        OK(millpond_close(client, &error));
        wait_until(&asking, &asking.returned);
        CHECK(asking.status == MILLPOND_CLOSED && asking.result == NULL);
        pthread_join(thread, NULL);
        FAILS(MILLPOND_CLOSED, "closed",
              millpond_tasks_insert(store, S("q"), NULL, 0, NULL, &error));
        millpond_tasks_claims_free(asking.claims);
        millpond_tasks_store_free(store);
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
    millpond_tasks_store *store = store_of(client, "claims interrupted", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_claims *claims;
    millpond_tasks_jobs *jobs;
    millpond_tasks_job *job;
    millpond_tasks_worker_options options;
    millpond_tasks_result *result;
    millpond_error *error;

    waiting = pthread_self();
    OK(millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 1, -1, &claims, &error));
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.wait_ms = -1;
    jobs = loop_of(store, &options);
    millpond_on_interrupt(stop_at_the_third);
    checks = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 1, -1, &result, &error));
    CHECK(checks == 3 && result == NULL);
    checks = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted", millpond_tasks_claims_next(claims, &result, &error));
    CHECK(checks == 3 && result == NULL);
    checks = 0;
    FAILS(MILLPOND_CANCELLED, "interrupted", millpond_tasks_jobs_next(jobs, &job, &error));
    CHECK(checks == 3 && job == NULL);
    millpond_on_interrupt(NULL);
    insert(store, "q", "1");
    OK(millpond_tasks_claims_next(claims, &result, &error));
    CHECK(is(task_of(result)->value, "1") && checks == 3);
    millpond_tasks_result_free(result);
    millpond_tasks_claims_free(claims);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void *end_soon(void *job) {
    millpond_error *error;
    sleep_ms(50);
    OK(millpond_tasks_job_done(job, &error));
    return NULL;
}

static void *close_soon(void *client) {
    millpond_error *error;
    sleep_ms(50);
    OK(millpond_close(client, &error));
    return NULL;
}

/* A job waits for documents that another claimant holds. */
static void a_job_waits_for_documents(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, NEVER_POLLING);
    millpond_tasks_store *ann = store_of(client, "documents awaited", "ann"),
                         *bob = store_of(client, "documents awaited", "bob");
    millpond_new_doc doc;
    millpond_tasks_jobs *jobs;
    millpond_tasks_job *job, *other;
    millpond_tasks_result *result;
    millpond_error *error;
    pthread_t thread;

    millpond_new_doc_init(&doc, sizeof doc);
    doc.namespace_name = (millpond_bytes)B("n");
    doc.key = (millpond_bytes)B("k");
    doc.content = (millpond_bytes)B("1");
    OK(millpond_tasks_put_doc(ann, &doc, NULL, &error));
    OK(millpond_tasks_claim_docs(bob, S("n"), K("k"), 60000, &result, &error));
    millpond_tasks_result_free(result);
    insert(ann, "q", "1");
    jobs = loop_of(ann, NULL);
    OK(millpond_tasks_jobs_next(jobs, &job, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "wait_ms is -2",
          millpond_tasks_job_claim_docs(job, S("n"), K("k"), -2, &result, &error));
    FAILS(MILLPOND_DEPENDENCY, "held by another claimant",
          millpond_tasks_job_claim_docs(job, S("n"), K("k"), 0, &result, &error));
    int64_t start = now_ms();
    FAILS(MILLPOND_DEPENDENCY, "held by another claimant",
          millpond_tasks_job_claim_docs(job, S("n"), K("k"), 100, &result, &error));
    CHECK(now_ms() - start >= 100);
    OK(millpond_tasks_claim_docs(bob, S("n"), K("k"), 200, &result, &error));
    millpond_tasks_result_free(result);
    OK(millpond_tasks_job_claim_docs(job, S("n"), K("k"), -1, &result, &error));
    CHECK(strncmp(millpond_tasks_result_doc(result, 0)->claimant.data, "ann/", 4) == 0);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_job_done(job, &error));
    millpond_tasks_job_free(job);

    /* The wait without limit ends with an interrupt, with the job, and with the client. */
    OK(millpond_tasks_claim_docs(bob, S("n"), K("k"), 60000, &result, &error));
    millpond_tasks_result_free(result);
    insert(ann, "q", "2");
    insert(ann, "q", "3");
    OK(millpond_tasks_jobs_next(jobs, &job, &error));
    OK(millpond_tasks_jobs_next(jobs, &other, &error));
    waiting = pthread_self();
    checks = 0;
    millpond_on_interrupt(stop_at_the_third);
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_tasks_job_claim_docs(job, S("n"), K("k"), -1, &result, &error));
    millpond_on_interrupt(NULL);
    CHECK(checks == 3 && result == NULL);
    CHECK(pthread_create(&thread, NULL, end_soon, other) == 0);
    FAILS(MILLPOND_LEASE_LOST, "the job has ended",
          millpond_tasks_job_claim_docs(other, S("n"), K("k"), -1, &result, &error));
    pthread_join(thread, NULL);
    CHECK(pthread_create(&thread, NULL, close_soon, client) == 0);
    FAILS(MILLPOND_CLOSED, "closed",
          millpond_tasks_job_claim_docs(job, S("n"), K("k"), -1, &result, &error));
    CHECK(result == NULL);
    pthread_join(thread, NULL);
    millpond_tasks_job_free(other);
    millpond_tasks_job_free(job);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(ann);
    millpond_tasks_store_free(bob);
    millpond_client_free(client);
}

/* A waiting claimant is woken by a producer in another client. */
static void is_woken_by_another_client(const struct backend *backend) {
    millpond_client *claiming = connect_with_options(backend, NEVER_POLLING),
                    *inserting = connect_to(backend);
    millpond_tasks_store *claimed = store_of(claiming, "claims another", NULL),
                         *inserted = store_of(inserting, "claims another", NULL);
    struct asking asking = ASKING(claimed);
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, ask, &asking) == 0);
    /* It listens by now, as a rule. */
    sleep_ms(50);
    insert(inserted, "q", "1");
    wait_until(&asking, &asking.returned);
    CHECK(is(task_of(asking.result)->value, "1"));
    millpond_tasks_result_free(asking.result);
    pthread_join(thread, NULL);
    millpond_tasks_store_free(claimed);
    millpond_tasks_store_free(inserted);
    millpond_client_free(claiming);
    millpond_client_free(inserting);
}

const struct test task_loop_tests[] = {
    {"claims_end_when_nothing_is_left", ends_when_nothing_is_left},
    {"claims_wait_as_long_as_told", waits_up_to_wait_ms},
    {"claims_are_woken_by_time", is_woken_by_time},
    {"claims_are_woken_and_are_for_one_thread", is_woken_and_is_for_one_thread},
    {"many_claim_through_one_store", many_claim_through_one_store},
    {"close_ends_the_wait_for_tasks", close_ends_the_wait},
    {"claims_can_be_interrupted", can_be_interrupted},
    {"a_job_waits_for_documents", a_job_waits_for_documents},
    {NULL, NULL},
};

const struct test redis_task_loop_tests[] = {
    {"claims_are_woken_by_another_client", is_woken_by_another_client},
    {NULL, NULL},
};
