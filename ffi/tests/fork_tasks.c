/* Tasks and jobs of a process that forks. */

#include "fork.h"
#include "tasks.h"

#include <string.h>

/* The parent's, in the child. */
struct parents {
    const struct backend *backend;
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_tasks_claims *claims;
    millpond_tasks_jobs *jobs;
    millpond_tasks_job *job;
    uint64_t version;
};

static void claims_unless_embedded(void *argument) {
    struct parents *parents = argument;
    millpond_tasks_result *result;
    millpond_tasks_job *job;
    millpond_error *error;
    uint64_t version;
    bool lost;
    /* A job is its process's, wherever the store is. */
    FAILS(MILLPOND_FORKED, "process that claimed it", millpond_tasks_job_done(parents->job, &error));
    FAILS(MILLPOND_FORKED, "process that claimed it",
          millpond_tasks_job_claim_docs(parents->job, S("n"), K("k"), 0, &result, &error));
    OK(millpond_tasks_job_version(parents->job, &version, &error));
    OK(millpond_tasks_job_is_lost(parents->job, &lost, &error));
    CHECK(version >= parents->version && !lost);
    if (strcmp(parents->backend->kind, "redis") != 0) {
        FAILS(MILLPOND_FORKED, "fork",
              millpond_tasks_insert(parents->store, S("q"), S("1"), NULL, &error));
        FAILS(MILLPOND_FORKED, "fork",
              millpond_tasks_claims_next(parents->claims, &result, &error));
        FAILS(MILLPOND_FORKED, "fork", millpond_tasks_jobs_next(parents->jobs, &job, &error));
        return;
    }
    insert(parents->store, "q", "\"of the child\"");
    OK(millpond_tasks_claims_next(parents->claims, &result, &error));
    CHECK(is(task_of(result)->value, "\"of the child\""));
    millpond_task_id done = {task_of(result)->id, task_of(result)->version};
    millpond_tasks_modification modification = {.size = sizeof modification, .deletes = &done,
                                                .delete_count = 1};
    OK(millpond_tasks_modify(parents->store, &modification, NULL, &error));
    millpond_tasks_result_free(result);
    OK(millpond_tasks_jobs_next(parents->jobs, &job, &error));
    CHECK(job == NULL);
}

static void end_all(void *argument) {
    struct parents *parents = argument;
    millpond_tasks_job_free(parents->job);
    millpond_tasks_jobs_free(parents->jobs);
    millpond_tasks_claims_free(parents->claims);
    millpond_tasks_store_free(parents->store);
    millpond_client_free(parents->client);
}

/* Neither what a child does nor its end releases what its parent works on, or keeps it from being
   renewed. */
static void a_child_leaves_its_parents_jobs_alone(const struct backend *backend) {
    struct parents parents = {.backend = backend,
                              .client = connect_with_options(backend, RENEWING)};
    millpond_bytes queue = B("q");
    millpond_tasks_worker_options options;
    millpond_tasks_result *result;
    millpond_error *error;
    bool lost;

    parents.store = store_of(parents.client, "forked tasks", NULL);
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.lease_ms = 60000;
    OK(millpond_tasks_claims_new(parents.store, &queue, 1, MILLPOND_NOT_SET, 1, 1, &parents.claims, &error));
    parents.jobs = loop_of(parents.store, &options);
    /* The loop has waited, so it has a listener. */
    OK(millpond_tasks_claims_next(parents.claims, &result, &error));
    CHECK(result == NULL);
    insert(parents.store, "q", "\"of the parent\"");
    OK(millpond_tasks_jobs_next(parents.jobs, &parents.job, &error));
    CHECK(parents.job != NULL);
    OK(millpond_tasks_job_version(parents.job, &parents.version, &error));
    in_child(claims_unless_embedded, &parents);
    in_child(end_all, &parents);
    wait_for_renewals(parents.job, 3);
    /* The store comes to have what the parent knows, so nobody else renewed it. */
    uint64_t version, stored;
    int64_t start = now_ms();
    do {
        CHECK(now_ms() - start < PATIENCE_MS);
        OK(millpond_tasks_list(parents.store, S("q"), NULL, &result, &error));
        stored = task_of(result)->version;
        millpond_tasks_result_free(result);
        OK(millpond_tasks_job_version(parents.job, &version, &error));
    } while (stored != version);
    OK(millpond_tasks_job_is_lost(parents.job, &lost, &error));
    CHECK(!lost && claim(parents.store, "q") == NULL);
    OK(millpond_tasks_job_done(parents.job, &error));
    CHECK(size_of(parents.store, "q") == 0);
    end_all(&parents);
}

const struct test task_fork_tests[] = {
    {"a_child_leaves_its_parents_jobs_alone", a_child_leaves_its_parents_jobs_alone},
    {NULL, NULL},
};
