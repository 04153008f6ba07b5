/* Loops of claims, and what waits for the end of a lease. What holds for every loop is in loops.c. */

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

static void a_lease_that_expires_wakes(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, NEVER_POLLING);
    millpond_tasks_store *store = store_of(client, "claims timed", NULL);
    millpond_bytes queue = B("q");
    millpond_tasks_result *result;
    millpond_error *error;

    insert(store, "q", "1");
    for (uint64_t claims = 1; claims <= 2; claims++) {
        OK(millpond_tasks_claim(store, &queue, 1, 200, 1, -1, &result, &error));
        CHECK(task_of(result)->claims == claims);
        millpond_tasks_result_free(result);
    }
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
    interrupt_at_the_third_check();
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_tasks_job_claim_docs(job, S("n"), K("k"), -1, &result, &error));
    was_interrupted();
    CHECK(result == NULL);
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

const struct test task_loop_tests[] = {
    {"claims_end_when_nothing_is_left", ends_when_nothing_is_left},
    {"a_lease_that_expires_wakes", a_lease_that_expires_wakes},
    {"a_job_waits_for_documents", a_job_waits_for_documents},
    {NULL, NULL},
};
