/* Wrong calls on tasks return an error, and nothing else happens. */

#include "tasks.h"

#include <string.h>

#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)

static void never(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    (void)job, (void)outcome, (void)context;
    CHECK(!"there is a job");
}

static void null_and_lengths(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "wrong", "ann"), *other = (void *)1;
    millpond_tasks_result *result = (void *)1;
    millpond_tasks_claims *claims = (void *)1;
    millpond_tasks_jobs *jobs = (void *)1;
    millpond_keys *keys;
    millpond_bytes queue = B("q"), bad[] = {B("q"), {NULL, 3}}, not_utf8 = B("\xff");
    millpond_error *error;
    uint64_t number = 7;
    bool flag;

    WRONG("store is NULL; it must point to where",
          millpond_tasks_store_new(client, S("x"), NULL, 0, NULL, &error));
    WRONG("name is NULL", millpond_tasks_store_new(client, NULL, 1, NULL, 0, &other, &error));
    CHECK(other == NULL);
    WRONG("claimant is NULL", millpond_tasks_store_new(client, S("x"), NULL, 1, &other, &error));
    WRONG("claimant is not UTF-8",
          millpond_tasks_store_new(client, S("x"), S("\xff"), &other, &error));
    WRONG("claimant is NULL", millpond_tasks_claimant(store, NULL, &error));
    WRONG("time is NULL", millpond_tasks_time(store, NULL, &error));
    millpond_new_task_init(NULL, 8);
    millpond_new_doc_init(NULL, 8);
    millpond_task_change_init(NULL, 8, NULL);
    millpond_doc_change_init(NULL, 8, NULL);
    millpond_task_query_init(NULL, 8);
    millpond_doc_query_init(NULL, 8);
    millpond_tasks_filter_init(NULL, 8);
    millpond_tasks_worker_options_init(NULL, 8);

    WRONG("queue is NULL", millpond_tasks_insert(store, NULL, 1, S("1"), NULL, &error));
    WRONG("queue is not UTF-8", millpond_tasks_insert(store, S("\xff"), S("1"), NULL, &error));
    WRONG("the queue's name is empty", millpond_tasks_insert(store, NULL, 0, S("1"), NULL, &error));
    WRONG("value is NULL, but", millpond_tasks_insert(store, S("q"), NULL, 1, NULL, &error));
    WRONG("not a JSON text", millpond_tasks_insert(store, S("q"), S(""), &result, &error));
    CHECK(result == NULL);

    WRONG("result is NULL", millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 1, 0, NULL, &error));
    WRONG("at least one queue", millpond_tasks_claim(store, NULL, 0, MILLPOND_NOT_SET, 1, 0, &result, &error));
    WRONG("queues is NULL", millpond_tasks_claim(store, NULL, 1, MILLPOND_NOT_SET, 1, 0, &result, &error));
    WRONG("queues[1] is NULL", millpond_tasks_claim(store, bad, 2, MILLPOND_NOT_SET, 1, 0, &result, &error));
    WRONG("queues[0] is not UTF-8",
          millpond_tasks_claim(store, &not_utf8, 1, MILLPOND_NOT_SET, 1, 0, &result, &error));
    WRONG("lease_ms is -2", millpond_tasks_claim(store, &queue, 1, -2, 1, 0, &result, &error));
    WRONG("100 years", millpond_tasks_claim(store, &queue, 1, INT64_MAX, 1, 0, &result, &error));
    WRONG("1 to 1000 tasks, not 0",
          millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 0, 0, &result, &error));
    WRONG("1 to 1000 tasks, not 1001",
          millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 1001, 0, &result, &error));
    WRONG("wait_ms is -2", millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 1, -2, &result, &error));
    CHECK(result == NULL);
    WRONG("claims is NULL",
          millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 1, 0, NULL, &error));
    WRONG("wait_ms is -2", millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 1, -2, &claims, &error));
    CHECK(claims == NULL);
    OK(millpond_tasks_claims_new(store, &queue, 1, MILLPOND_NOT_SET, 0, 0, &claims, &error));
    WRONG("result is NULL", millpond_tasks_claims_next(claims, NULL, &error));
    WRONG("1 to 1000 tasks, not 0", millpond_tasks_claims_next(claims, &result, &error));
    millpond_tasks_claims_free(claims);

    WRONG("nothing to renew",
          millpond_tasks_renew(store, NULL, 0, NULL, 0, MILLPOND_NOT_SET, NULL, NULL, NULL, NULL, &error));
    WRONG("tasks is NULL",
          millpond_tasks_renew(store, NULL, 1, NULL, 0, MILLPOND_NOT_SET, NULL, NULL, NULL, NULL, &error));
    millpond_doc_id doc = {B("n"), {NULL, 1}, 0};
    WRONG("docs[0].id is NULL",
          millpond_tasks_renew(store, NULL, 0, &doc, 1, MILLPOND_NOT_SET, NULL, NULL, NULL, &number, &error));
    WRONG("result is NULL", millpond_tasks_fetch(store, &queue, 1, NULL, &error));
    WRONG("at least one id", millpond_tasks_fetch(store, NULL, 0, &result, &error));
    WRONG("ids[1] is NULL", millpond_tasks_fetch(store, bad, 2, &result, &error));
    WRONG("at least one id", millpond_tasks_fetch_docs(store, S("n"), NULL, 0, &result, &error));
    WRONG("namespace_name is NULL",
          millpond_tasks_fetch_docs(store, NULL, 1, &queue, 1, &result, &error));
    WRONG("the key is empty",
          millpond_tasks_get_doc(store, S("n"), NULL, 0, NULL, 0, &result, &error));
    WRONG("secondary_key is NULL",
          millpond_tasks_get_doc(store, S("n"), S("k"), NULL, 1, &result, &error));
    WRONG("result is NULL",
          millpond_tasks_get_doc(store, S("n"), S("k"), NULL, 0, NULL, &error));
    millpond_new_doc new_doc;
    millpond_new_doc_init(&new_doc, sizeof new_doc);
    new_doc.namespace_name = (millpond_bytes)B("n");
    new_doc.key = (millpond_bytes)B("k");
    WRONG("doc is NULL", millpond_tasks_put_doc(store, NULL, NULL, &error));
    WRONG("needs a content", millpond_tasks_put_doc(store, &new_doc, NULL, &error));
    WRONG("the key is empty",
          millpond_tasks_claim_docs(store, S("n"), K(""), MILLPOND_NOT_SET, &result, &error));
    WRONG("a claim names at least one key",
          millpond_tasks_claim_docs(store, S("n"), NULL, 0, MILLPOND_NOT_SET, &result, &error));
    WRONG("keys is NULL", millpond_tasks_claim_docs(store, S("n"), NULL, 1, MILLPOND_NOT_SET, &result, &error));
    WRONG("the namespace is empty",
          millpond_tasks_claim_docs(store, NULL, 0, K("k"), MILLPOND_NOT_SET, &result, &error));

    millpond_task_query query;
    millpond_task_query_init(&query, sizeof query);
    query.limit = 0;
    WRONG("1 to 10000 entries, not 0", millpond_tasks_list(store, S("q"), &query, &result, &error));
    query.limit = -2;
    WRONG("limit is -2", millpond_tasks_list(store, S("q"), &query, &result, &error));
    millpond_task_query_init(&query, sizeof query);
    millpond_task_position nowhere = {.id = {NULL, 1}};
    query.after = &nowhere;
    WRONG("after.id is NULL", millpond_tasks_list(store, S("q"), &query, &result, &error));
    millpond_doc_query doc_query;
    millpond_doc_query_init(&doc_query, sizeof doc_query);
    doc_query.start = bad[1];
    WRONG("start is NULL", millpond_tasks_list_docs(store, S("n"), &doc_query, &result, &error));
    millpond_tasks_filter filter;
    millpond_tasks_filter_init(&filter, sizeof filter);
    WRONG("names no queue", millpond_tasks_are_empty(store, &filter, &flag, &error));
    WRONG("names no queue", millpond_tasks_are_empty(store, NULL, &flag, &error));
    WRONG("empty is NULL", millpond_tasks_are_empty(store, NULL, NULL, &error));
    filter.limit = 100001;
    WRONG("1 to 100000", millpond_tasks_queue_stats(store, &filter, &result, &error));
    filter.prefix_count = 1;
    WRONG("prefixes is NULL", millpond_tasks_namespace_stats(store, &filter, &result, &error));

    /* What -1 once left out. */
    WRONG("lease_ms is -1, which is out of range",
          millpond_tasks_claim(store, &queue, 1, -1, 1, 0, &result, &error));
    WRONG("lease_ms is -1", millpond_tasks_claims_new(store, &queue, 1, -1, 1, 0, &claims, &error));
    WRONG("lease_ms is -1", millpond_tasks_claim_docs(store, S("n"), K("k"), -1, &result, &error));
    WRONG("lease_ms is -1", millpond_tasks_renew(store, NULL, 0, NULL, 0, -1, NULL, NULL, NULL, NULL, &error));
    millpond_tasks_worker_options timed;
    millpond_tasks_worker *worker;
    int64_t *times[] = {&timed.lease_ms, &timed.backoff_ms, &timed.backoff_max_ms,
                        &timed.timeout_ms};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        millpond_tasks_worker_options_init(&timed, sizeof timed);
        *times[i] = -1;
        WRONG("_ms is -1, which is out of range",
              millpond_tasks_worker_new(store, &queue, 1, &timed, &worker, &error));
    }

    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    WRONG("worker is NULL", millpond_tasks_worker_new(store, &queue, 1, NULL, NULL, &error));
    options.wait_ms = -2;
    WRONG("wait_ms is -2", millpond_tasks_worker_new(store, &queue, 1, &options, &worker, &error));
    CHECK(worker == NULL);
    OK(millpond_tasks_worker_new(store, NULL, 0, NULL, &worker, &error));
    WRONG("jobs is NULL", millpond_tasks_worker_jobs(worker, NULL, &error));
    OK(millpond_tasks_worker_jobs(worker, &jobs, &error));
    WRONG("job is NULL", millpond_tasks_jobs_next(jobs, NULL, &error));
    millpond_tasks_job *job = (void *)1;
    WRONG("at least one queue", millpond_tasks_jobs_next(jobs, &job, &error));
    CHECK(job == NULL);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_run *run;
    millpond_tasks_report *report = (void *)1;
    WRONG("run is NULL", millpond_tasks_worker_start(worker, false, false, NULL, &error));
    OK(millpond_tasks_worker_start(worker, false, false, &run, &error));
    WRONG("job is NULL", millpond_tasks_run_next(run, NULL, &report, &error));
    WRONG("report is NULL", millpond_tasks_run_next(run, &job, NULL, &error));
    report = (void *)1;
    WRONG("at least one queue", millpond_tasks_run_next(run, &job, &report, &error));
    CHECK(job == NULL && report == NULL);
    OK(millpond_tasks_run_next(run, &job, &report, &error));
    CHECK(job == NULL && report == NULL);
    millpond_tasks_run_free(run);
    WRONG("handler is NULL", millpond_tasks_worker_run(worker, NULL, NULL, NULL, NULL, &error));
    WRONG("handler is NULL", millpond_tasks_worker_drain(worker, NULL, NULL, NULL, NULL, &error));
    WRONG("at least one queue", millpond_tasks_worker_run(worker, never, NULL, NULL, NULL, &error));
    WRONG("at least one queue",
          millpond_tasks_worker_drain(worker, never, NULL, NULL, NULL, &error));
    WRONG("within_ms is -2", millpond_tasks_worker_stop(worker, -2, &error));
    millpond_tasks_worker_free(worker);
    WRONG("keys is NULL", millpond_tasks_keys(S("x"), NULL, &error));
    WRONG("the store's name is empty", millpond_tasks_keys(NULL, 0, &keys, &error));
    millpond_tasks_store_free(store);
    store = store_of(client, "", NULL);
    WRONG("the store's name is empty", millpond_tasks_time(store, &number, &error));
    CHECK(number == 0);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void modifications(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "wrong", "ann");
    millpond_new_task task, whole;
    millpond_task_change change;
    millpond_new_doc doc;
    millpond_doc_change doc_change;
    millpond_task_id id = {B("t"), 0};
    millpond_doc_id doc_id = {B("n"), B("d"), 0};
    millpond_error *error;
    char many[66];

    memset(many, 'x', sizeof many);
    millpond_new_task_init(&whole, sizeof whole);
    whole.queue = (millpond_bytes)B("q");
    millpond_task_change_init(&change, sizeof change, NULL);
    millpond_new_doc_init(&doc, sizeof doc);
    millpond_doc_change_init(&doc_change, sizeof doc_change, NULL);
    WRONG("modification is NULL", millpond_tasks_modify(store, NULL, NULL, &error));

    /* Each list, and each field of what is in it. */
    millpond_tasks_modification inserts = {.size = sizeof inserts, .inserts = &task,
                                           .insert_count = 1};
#define WRONG_TASK(says, field, ...) \
    (task = whole, task.field = __VA_ARGS__, \
     WRONG(says, millpond_tasks_modify(store, &inserts, NULL, &error)))
    WRONG_TASK("the queue's name is empty", queue, (millpond_bytes){NULL, 0});
    WRONG_TASK("inserts[0].queue is NULL", queue, (millpond_bytes){NULL, 1});
    WRONG_TASK("inserts[0].id is not UTF-8", id, (millpond_bytes)B("\xff"));
    WRONG_TASK("the id is empty", id, (millpond_bytes)B(""));
    WRONG_TASK("the id has 65 characters; 64 are", id, (millpond_bytes){many, 65});
    WRONG_TASK("the id holds a NUL", id, (millpond_bytes)B("a\0b"));
    WRONG_TASK("the value is not a JSON text", value, (millpond_bytes)B("{"));
    WRONG_TASK("inserts[0].err is NULL", err, (millpond_bytes){NULL, 1});
    WRONG_TASK("inserts[0].at_ms is -2", at_ms, -2);
    WRONG_TASK("behind the year 9999", at_ms, INT64_MAX);
    WRONG_TASK("inserts[0].delay_ms is -5", delay_ms, -5);
    WRONG_TASK("100 years", delay_ms, INT64_MAX);
    WRONG_TASK("a millisecond or more", ttl_ms, 0);
    WRONG_TASK("inserts[0].attempt is 4294967296", attempt, UINT64_C(1) << 32);
    WRONG_TASK("the priority is 10", priority, 10);
    WRONG_TASK("inserts[0].priority is 256", priority, 256);
    whole.at_ms = 1;
    WRONG_TASK("inserts[0].at_ms and inserts[0].delay_ms are both given", delay_ms, 1);
    inserts.inserts = NULL;
    WRONG("inserts is NULL, but its length is 1",
          millpond_tasks_modify(store, &inserts, NULL, &error));
    inserts = (millpond_tasks_modification){.size = sizeof inserts, .inserts = &task,
                                            .insert_count = SIZE_MAX / 8};
    WRONG("inserts has the length", millpond_tasks_modify(store, &inserts, NULL, &error));
    inserts.inserts = (void *)((char *)&task + 1);
    WRONG("not aligned", millpond_tasks_modify(store, &inserts, NULL, &error));

    millpond_tasks_modification changes = {.size = sizeof changes, .changes = &change,
                                           .change_count = 1};
    WRONG("the id is empty", millpond_tasks_modify(store, &changes, NULL, &error));
    change.id = change.queue = (millpond_bytes)B("t");
    change.retry = true;
    change.retry_err = (millpond_bytes){NULL, 1};
    WRONG("changes[0].retry_err is NULL", millpond_tasks_modify(store, &changes, NULL, &error));
    changes = (millpond_tasks_modification){.size = sizeof changes, .deletes = &id,
                                            .delete_count = 1, .depends = &id, .depend_count = 1};
    WRONG("task t is named twice", millpond_tasks_modify(store, &changes, NULL, &error));
    id.id = (millpond_bytes){NULL, 1};
    WRONG("deletes[0].id is NULL", millpond_tasks_modify(store, &changes, NULL, &error));
    changes.delete_count = 0;
    WRONG("depends[0].id is NULL", millpond_tasks_modify(store, &changes, NULL, &error));

    millpond_tasks_modification docs = {.size = sizeof docs, .doc_inserts = &doc,
                                        .doc_insert_count = 1};
    WRONG("the namespace is empty", millpond_tasks_modify(store, &docs, NULL, &error));
    doc.namespace_name = (millpond_bytes)B("n");
    WRONG("without a key needs an id", millpond_tasks_modify(store, &docs, NULL, &error));
    doc.key = (millpond_bytes)B("k");
    doc.content = (millpond_bytes)B("nul");
    WRONG("the content is not a JSON text", millpond_tasks_modify(store, &docs, NULL, &error));
    doc.key = (millpond_bytes){NULL, 1};
    WRONG("doc_inserts[0].key is NULL", millpond_tasks_modify(store, &docs, NULL, &error));
    docs = (millpond_tasks_modification){.size = sizeof docs, .doc_changes = &doc_change,
                                         .doc_change_count = 1};
    doc_change.doc.id = (millpond_bytes){NULL, 1};
    WRONG("doc_changes[0].doc.id is NULL", millpond_tasks_modify(store, &docs, NULL, &error));
    docs = (millpond_tasks_modification){.size = sizeof docs, .doc_deletes = &doc_id,
                                         .doc_delete_count = 1, .doc_depends = &doc_id,
                                         .doc_depend_count = 1};
    WRONG("document n/d is named twice", millpond_tasks_modify(store, &docs, NULL, &error));

    /* Nothing of it was done. */
    millpond_tasks_result *result;
    OK(millpond_tasks_queue_stats(store, NULL, &result, &error));
    CHECK(millpond_tasks_result_data(result)->queue_count == 0);
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

const struct test task_mistake_tests[] = {
    {"tasks_null_and_lengths", null_and_lengths},
    {"tasks_wrong_modifications", modifications},
    {NULL, NULL},
};
