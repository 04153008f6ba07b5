/* Jobs of a worker. */

#include "fork.h"
#include "tasks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A worker of queue q, with a lease of this many milliseconds. */
static millpond_tasks_jobs *jobs_of(millpond_tasks_store *store, int64_t lease_ms) {
    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.lease_ms = lease_ms;
    options.max_attempts = 2;
    options.max_crashes = 2;
    return loop_of(store, &options);
}

/* The next job, which is there. */
static millpond_tasks_job *next(millpond_tasks_jobs *jobs) {
    millpond_tasks_job *job;
    millpond_error *error;
    OK(millpond_tasks_jobs_next(jobs, &job, &error));
    CHECK(job != NULL && millpond_tasks_job_data(job)->task_count == 1);
    return job;
}

/* The one task of a queue. */
static millpond_tasks_result *only(millpond_tasks_store *store, const char *queue) {
    millpond_tasks_result *result;
    millpond_error *error;
    OK(millpond_tasks_list(store, queue, strlen(queue), NULL, &result, &error));
    task_of(result);
    return result;
}

static void end_in_every_way(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "jobs", "ann");
    millpond_tasks_jobs *jobs = jobs_of(store, 60000);
    millpond_tasks_job *job;
    millpond_tasks_result *result;
    millpond_error *error;
    uint64_t version;
    bool lost = true;

    OK(millpond_tasks_jobs_next(jobs, &job, &error));
    CHECK(job == NULL);

    /* Done. */
    insert(store, "q", "1");
    job = next(jobs);
    const millpond_task *task = millpond_tasks_job_data(job)->tasks;
    CHECK(is(task->value, "1") && task->claims == 1 && strncmp(task->claimant.data, "ann/", 4) == 0);
    OK(millpond_tasks_job_version(job, &version, &error));
    OK(millpond_tasks_job_is_lost(job, &lost, &error));
    CHECK(version == 1 && task->version == 1 && !lost);
    OK(millpond_tasks_job_done(job, &error));
    FAILS(MILLPOND_LEASE_LOST, "the job has ended", millpond_tasks_job_done(job, &error));
    millpond_tasks_job_free(job);
    CHECK(size_of(store, "q") == 0);

    /* Released. */
    insert(store, "q", "2");
    job = next(jobs);
    OK(millpond_tasks_job_is_ended(job, &lost, &error));
    CHECK(!lost);
    OK(millpond_tasks_job_release(job, 0, &error));
    OK(millpond_tasks_job_is_ended(job, &lost, &error));
    CHECK(lost);
    millpond_tasks_job_free(job);
    result = only(store, "q");
    CHECK(task_of(result)->attempt == 0 && is(task_of(result)->claimant, ""));
    millpond_tasks_result_free(result);

    /* Tried again in a minute. */
    job = next(jobs);
    OK(millpond_tasks_job_retry(job, S("no"), 60000, &error));
    millpond_tasks_job_free(job);
    result = only(store, "q");
    task = task_of(result);
    CHECK(task->attempt == 1 && is(task->err, "no") && task->at_ms == task->modified_ms + 60000);
    millpond_task_id gone = {task->id, task->version};
    millpond_tasks_modification delete = {.size = sizeof delete, .deletes = &gone,
                                          .delete_count = 1};
    OK(millpond_tasks_modify(store, &delete, NULL, &error));
    millpond_tasks_result_free(result);

    /* Tried again when the worker says, and once too often. */
    insert(store, "q", "3");
    job = next(jobs);
    OK(millpond_tasks_job_retry(job, S("no"), MILLPOND_NOT_SET, &error));
    millpond_tasks_job_free(job);
    result = only(store, "q");
    task = task_of(result);
    CHECK(task->at_ms >= task->modified_ms + 15000 && task->at_ms <= task->modified_ms + 30000);
    millpond_task_change change;
    millpond_tasks_modification changes = {.size = sizeof changes, .changes = &change,
                                           .change_count = 1};
    millpond_task_change_init(&change, sizeof change, task);
    OK(millpond_tasks_modify(store, &changes, NULL, &error));
    millpond_tasks_result_free(result);
    job = next(jobs);
    OK(millpond_tasks_job_retry(job, S("still no"), 60000, &error));
    millpond_tasks_job_free(job);
    result = only(store, "q/err");
    CHECK(task_of(result)->attempt == 2 && is(task_of(result)->err, "no\nexhausted: still no"));
    millpond_tasks_result_free(result);

    /* Moved. */
    insert(store, "q", "4");
    job = next(jobs);
    OK(millpond_tasks_job_move(job, S("other"), S("not mine"), &error));
    millpond_tasks_job_free(job);
    result = only(store, "other");
    CHECK(task_of(result)->attempt == 1 && is(task_of(result)->err, "not mine"));
    millpond_tasks_result_free(result);

    /* Claimed too often: moved to the error queue, and no job. */
    insert(store, "q", "5");
    millpond_bytes queue = B("q");
    for (int i = 0; i < 2; i++) {
        OK(millpond_tasks_claim(store, &queue, 1, 0, 1, 0, &result, &error));
        millpond_tasks_result_free(result);
    }
    OK(millpond_tasks_jobs_next(jobs, &job, &error));
    CHECK(job == NULL && size_of(store, "q") == 0 && size_of(store, "q/err") == 2);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void finish_with_documents(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "job documents", "ann");
    millpond_tasks_jobs *jobs = jobs_of(store, 60000);
    millpond_tasks_result *result, *docs;
    millpond_new_doc new[2];
    millpond_tasks_modification inserts = {.size = sizeof inserts, .doc_inserts = new,
                                           .doc_insert_count = 2};
    millpond_error *error;

    for (int i = 0; i < 2; i++) {
        millpond_new_doc_init(&new[i], sizeof new[i]);
        new[i].namespace_name = (millpond_bytes)B("n");
        new[i].key = (millpond_bytes)B("k");
        new[i].id = i ? (millpond_bytes)B("b") : (millpond_bytes)B("a");
    }
    OK(millpond_tasks_modify(store, &inserts, NULL, &error));
    insert(store, "q", "1");
    millpond_tasks_job *job = next(jobs);
    OK(millpond_tasks_job_claim_docs(job, S("n"), K("k"), 0, &docs, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(docs);
    CHECK(data->doc_count == 2 && strncmp(data->docs[0].claimant.data, "ann/", 4) == 0);

    /* The task, by what it was at, one document, and a new task; the other document is released. */
    const millpond_task *task = millpond_tasks_job_data(job)->tasks;
    millpond_task_id done = {task->id, 12345};
    millpond_new_task next_task;
    millpond_doc_change change;
    millpond_new_task_init(&next_task, sizeof next_task);
    next_task.queue = (millpond_bytes)B("out");
    millpond_doc_change_init(&change, sizeof change, &data->docs[0]);
    change.content = (millpond_bytes)B("7");
    change.delay_ms = 0;
    millpond_tasks_modification modification = {.size = sizeof modification, .deletes = &done,
                                                .delete_count = 1, .inserts = &next_task,
                                                .insert_count = 1, .doc_changes = &change,
                                                .doc_change_count = 1};
    OK(millpond_tasks_job_finish(job, &modification, &result, &error));
    const millpond_tasks_data *finished = millpond_tasks_result_data(result);
    CHECK(finished->task_count == 1 && finished->inserted_count == 1);
    CHECK(finished->doc_count == 2 && is(finished->docs[0].content, "7"));
    CHECK(is(finished->docs[0].claimant, "") && is(finished->docs[1].claimant, ""));
    CHECK(size_of(store, "q") == 0 && size_of(store, "out") == 1);
    millpond_tasks_result_free(result);
    millpond_tasks_result_free(docs);
    millpond_tasks_job_free(job);

    /* A job that is left keeps its task until the lease is over. */
    insert(store, "q", "2");
    millpond_tasks_job_free(next(jobs));
    CHECK(claim(store, "q") == NULL && size_of(store, "q") == 1);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* When the lease of this task, and of this document, is over. */
static uint64_t lease_end(millpond_tasks_store *store, const char *queue) {
    millpond_tasks_result *result = only(store, queue);
    uint64_t at_ms = task_of(result)->at_ms;
    millpond_tasks_result_free(result);
    return at_ms;
}

static uint64_t doc_lease_end(millpond_tasks_store *store) {
    millpond_tasks_result *result;
    millpond_error *error;
    OK(millpond_tasks_list_docs(store, S("n"), NULL, &result, &error));
    CHECK(millpond_tasks_result_data(result)->doc_count == 1);
    uint64_t at_ms = millpond_tasks_result_doc(result, 0)->at_ms;
    millpond_tasks_result_free(result);
    return at_ms;
}

static void are_renewed(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, RENEWING);
    millpond_tasks_store *ann = store_of(client, "job renewals", "ann"),
                         *bob = store_of(client, "job renewals", "bob");
    millpond_tasks_jobs *jobs = jobs_of(ann, 60000);
    millpond_tasks_result *result;
    millpond_new_doc doc;
    millpond_tasks_modification inserts = {.size = sizeof inserts, .doc_inserts = &doc,
                                           .doc_insert_count = 1};
    millpond_error *error;
    uint64_t first, version;
    bool lost = true;

    millpond_new_doc_init(&doc, sizeof doc);
    doc.namespace_name = (millpond_bytes)B("n");
    doc.key = (millpond_bytes)B("k");
    OK(millpond_tasks_modify(ann, &inserts, NULL, &error));
    insert(ann, "q", "1");
    millpond_tasks_job *job = next(jobs);
    CHECK(millpond_tasks_job_data(job)->tasks->version == 1);
    OK(millpond_tasks_job_claim_docs(job, S("n"), K("k"), 0, &result, &error));
    uint64_t doc_ends = millpond_tasks_result_doc(result, 0)->at_ms;
    uint64_t ends = millpond_tasks_job_data(job)->tasks->at_ms;
    millpond_tasks_result_free(result);
    OK(millpond_tasks_job_version(job, &first, &error));
    /* Meanwhile no other claimant gets either. The second renewal is the first that surely has the
       document. */
    int64_t start = now_ms();
    do {
        CHECK(claim(bob, "q") == NULL);
        FAILS(MILLPOND_DEPENDENCY, "held by another claimant",
              millpond_tasks_claim_docs(bob, S("n"), K("k"), MILLPOND_NOT_SET, &result, &error));
        CHECK(now_ms() - start < PATIENCE_MS);
        sleep_ms(20);
        OK(millpond_tasks_job_version(job, &version, &error));
    } while (version < first + 3);
    /* In the store the leases end later than they did. */
    CHECK(lease_end(bob, "q") > ends && doc_lease_end(bob) > doc_ends);
    OK(millpond_tasks_job_is_lost(job, &lost, &error));
    CHECK(!lost && millpond_tasks_job_data(job)->tasks->version == 1);
    OK(millpond_tasks_job_done(job, &error));
    millpond_tasks_job_free(job);
    OK(millpond_tasks_claim_docs(bob, S("n"), K("k"), MILLPOND_NOT_SET, &result, &error));
    millpond_tasks_result_free(result);

    /* One that another claimant changed is lost with the next renewal. */
    insert(ann, "q", "2");
    job = next(jobs);
    char claimant[65];
    millpond_bytes own = millpond_tasks_job_data(job)->tasks->claimant;
    snprintf(claimant, sizeof claimant, "%.*s", (int)own.length, own.data);
    millpond_tasks_store *same = store_of(client, "job renewals", claimant);
    millpond_task_id stolen = {millpond_tasks_job_data(job)->tasks->id, 0};
    millpond_tasks_modification delete = {.size = sizeof delete, .deletes = &stolen,
                                          .delete_count = 1};
    /* Again if it was renewed at the same moment, as another version is no other's claim. */
    for (bool refused = false; !refused;) {
        OK(millpond_tasks_job_version(job, &stolen.version, &error));
        CHECK(millpond_tasks_modify(ann, &delete, NULL, &error) == MILLPOND_DEPENDENCY);
        refused = strstr(millpond_error_message(error), "held by another claimant") != NULL;
        millpond_error_free(error);
    }
    do {
        OK(millpond_tasks_job_version(job, &stolen.version, &error));
        CHECK(millpond_tasks_modify(same, &delete, NULL, NULL) != MILLPOND_INVALID_ARGUMENT);
    } while (size_of(ann, "q") == 1);
    for (lost = false; !lost; sleep_ms(10))
        OK(millpond_tasks_job_is_lost(job, &lost, &error));
    FAILS(MILLPOND_LEASE_LOST, "lease of the job is lost", millpond_tasks_job_done(job, &error));
    millpond_tasks_job_free(job);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(same);
    millpond_tasks_store_free(ann);
    millpond_tasks_store_free(bob);
    millpond_client_free(client);
}

static void *work(void *argument) {
    millpond_tasks_store *store = argument;
    millpond_tasks_jobs *jobs = jobs_of(store, 60000);
    millpond_tasks_job *job;
    millpond_error *error;
    int done = 0;
    while (OK(millpond_tasks_jobs_next(jobs, &job, &error)), job != NULL) {
        OK(millpond_tasks_job_done(job, &error));
        millpond_tasks_job_free(job);
        done++;
    }
    millpond_tasks_jobs_free(jobs);
    return (void *)(intptr_t)done;
}

static void threads_work_together(const struct backend *backend) {
    enum { THREADS = 4, TASKS = 100 };
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "job threads", NULL);
    pthread_t threads[THREADS];
    intptr_t done = 0;
    for (int i = 0; i < TASKS; i++)
        insert(store, "q", "1");
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, store) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *count;
        pthread_join(threads[i], &count);
        done += (intptr_t)count;
    }
    CHECK(done == TASKS && size_of(store, "q") == 0);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* A job may outlive what it was made from. */
static void outlive_their_client(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "job outlives", NULL);
    millpond_tasks_jobs *jobs = jobs_of(store, 60000);
    millpond_tasks_job *job;
    millpond_error *error;
    insert(store, "q", "1");
    insert(store, "q", "2");
    job = next(jobs);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
    OK(millpond_tasks_job_done(job, &error));
    millpond_tasks_job_free(job);
    job = next(jobs);
    millpond_tasks_jobs_free(jobs);
    CHECK(millpond_tasks_job_data(job)->tasks->claims == 1);
    millpond_tasks_job_free(job);
    CHECK(millpond_tasks_job_data(job) == NULL);
}

/* The parent's, in the child. */
struct parents {
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_tasks_jobs *jobs;
    millpond_tasks_job *job;
    uint64_t version;
};

static void use_the_parents(void *argument) {
    struct parents *parents = argument;
    millpond_tasks_result *result;
    millpond_error *error;
    uint64_t version;
    bool lost;
    FAILS(MILLPOND_FORKED, "process that took it", millpond_tasks_job_done(parents->job, &error));
    FAILS(MILLPOND_FORKED, "process that took it",
          millpond_tasks_job_claim_docs(parents->job, S("n"), K("k"), 0, &result, &error));
    OK(millpond_tasks_job_version(parents->job, &version, &error));
    OK(millpond_tasks_job_is_lost(parents->job, &lost, &error));
    CHECK(version >= parents->version && !lost);
}

static void end_all(void *argument) {
    struct parents *parents = argument;
    millpond_tasks_job_free(parents->job);
    millpond_tasks_jobs_free(parents->jobs);
    millpond_tasks_store_free(parents->store);
    millpond_client_free(parents->client);
}

/* Neither what a child does nor its end releases what its parent works on, or keeps it from being
   renewed. */
static void a_child_leaves_its_parents_jobs_alone(const struct backend *backend) {
    struct parents parents = {.client = connect_with_options(backend, RENEWING)};
    millpond_tasks_result *result;
    millpond_error *error;
    bool lost;

    parents.store = store_of(parents.client, "forked tasks", NULL);
    parents.jobs = jobs_of(parents.store, 60000);
    insert(parents.store, "q", "1");
    parents.job = next(parents.jobs);
    OK(millpond_tasks_job_version(parents.job, &parents.version, &error));
    in_child(use_the_parents, &parents);
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

const struct test job_tests[] = {
    {"jobs_end_in_every_way", end_in_every_way},
    {"jobs_finish_with_documents", finish_with_documents},
    {"jobs_are_renewed", are_renewed},
    {"threads_work_together", threads_work_together},
    {"jobs_outlive_their_client", outlive_their_client},
    {"a_child_leaves_its_parents_jobs_alone", a_child_leaves_its_parents_jobs_alone},
    {NULL, NULL},
};
