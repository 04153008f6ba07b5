/* The calls of a store of tasks. */

#include "task_values.h"

static json_t *json_number(uint64_t number) {
    return json_integer((json_int_t)number);
}

/* The tasks and the documents of a result; frees it. */
static json_t *tasks_of(millpond_tasks_result *result) {
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    json_t *tasks = data == NULL ? json_array() : json_tasks(result, 0, data->task_count);
    millpond_tasks_result_free(result);
    return tasks;
}

static json_t *docs_of(millpond_tasks_result *result) {
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    json_t *docs = data == NULL ? json_array() : json_docs(result, 0, data->doc_count);
    millpond_tasks_result_free(result);
    return docs;
}

static json_t *call_insert(struct request *request) {
    millpond_bytes queue = text(request, request->json, "queue");
    millpond_bytes value = text(request, request->json, "value");
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_insert(store, queue.data, queue.length, value.data, value.length, &result,
                              &request->error);
    millpond_tasks_store_free(store);
    json_t *tasks = tasks_of(result), *task = json_incref(json_array_get(tasks, 0));
    json_decref(tasks);
    return task;
}

static json_t *call_modify(struct request *request) {
    millpond_tasks_modification given = modification(request, json_object_get(request->json, "modification"));
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_modify(store, &given, &result, &request->error);
    millpond_tasks_store_free(store);
    return json_modified(result);
}

static json_t *claim(struct request *request, uint64_t max) {
    size_t queue_count;
    millpond_bytes *queues = texts(request, request->json, "queues", &queue_count);
    int64_t lease_ms = whole(request, request->json, "lease_ms");
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_claim(store, queues, queue_count, lease_ms, (size_t)max, 0, &result,
                             &request->error);
    millpond_tasks_store_free(store);
    return tasks_of(result);
}

static json_t *call_claim(struct request *request) {
    json_t *tasks = claim(request, 1), *task = json_incref(json_array_get(tasks, 0));
    json_decref(tasks);
    return task != NULL ? task : json_null();
}

static json_t *call_claim_many(struct request *request) {
    return claim(request, count(request, request->json, "max"));
}

static json_t *call_claims(struct request *request) {
    size_t queue_count;
    millpond_bytes *queues = texts(request, request->json, "queues", &queue_count);
    int64_t lease_ms = whole(request, request->json, "lease_ms");
    int64_t wait_ms = wait_of(request, request->json, "wait_ms");
    size_t max = is_given(request->json, "max") ? count(request, request->json, "max") : 1;
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_claims *claims = NULL;
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_claims_new(store, queues, queue_count, lease_ms, max, wait_ms, &claims,
                                  &request->error);
    if (claims != NULL)
        millpond_tasks_claims_next(claims, &result, &request->error);
    millpond_tasks_claims_free(claims);
    millpond_tasks_store_free(store);
    return tasks_of(result);
}

static json_t *call_renew(struct request *request) {
    size_t task_count, doc_count;
    millpond_task_id *tasks = task_ids(request, request->json, "tasks", &task_count);
    millpond_doc_id *docs = doc_ids(request, request->json, "docs", &doc_count);
    uint64_t *task_versions = allocate(request, task_count, sizeof *task_versions);
    uint64_t *doc_versions = allocate(request, doc_count, sizeof *doc_versions), at_ms = 0;
    bool *is_cancelled = allocate(request, task_count, sizeof *is_cancelled);
    int64_t lease_ms = whole(request, request->json, "lease_ms");
    millpond_tasks_store *store = store_of(request);
    if (store != NULL)
        millpond_tasks_renew(store, tasks, task_count, docs, doc_count, lease_ms, task_versions,
                             doc_versions, is_cancelled, &at_ms, &request->error);
    millpond_tasks_store_free(store);
    json_t *renewed_tasks = json_array(), *renewed_docs = json_array(), *cancelled = json_array();
    for (size_t i = 0; i < task_count; i++) {
        json_array_append_new(renewed_tasks,
                              json_pack("{s:o,s:o}", "id", json_text(tasks[i].id), "version",
                                        json_number(task_versions[i])));
        if (is_cancelled[i])
            json_array_append_new(cancelled, json_text(tasks[i].id));
    }
    for (size_t i = 0; i < doc_count; i++)
        json_array_append_new(
            renewed_docs,
            json_pack("{s:o,s:o,s:o}", "namespace", json_text(docs[i].namespace_name), "id",
                      json_text(docs[i].id), "version", json_number(doc_versions[i])));
    return json_pack("{s:o,s:o,s:o,s:o}", "tasks", renewed_tasks, "docs", renewed_docs, "at_ms",
                     json_number(at_ms), "cancelled", cancelled);
}

static json_t *call_cancel(struct request *request) {
    size_t id_count;
    millpond_bytes *ids = texts(request, request->json, "ids", &id_count);
    bool *flags = allocate(request, id_count, sizeof *flags), force = is_true(request->json, "force");
    millpond_tasks_store *store = store_of(request);
    if (store != NULL)
        millpond_tasks_cancel(store, ids, id_count, force, flags, &request->error);
    millpond_tasks_store_free(store);
    json_t *cancelled = json_array();
    for (size_t i = 0; i < id_count; i++)
        json_array_append_new(cancelled, json_boolean(flags[i]));
    return cancelled;
}

static json_t *call_fetch(struct request *request) {
    size_t id_count;
    millpond_bytes *ids = texts(request, request->json, "ids", &id_count);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_fetch(store, ids, id_count, &result, &request->error);
    millpond_tasks_store_free(store);
    return tasks_of(result);
}

static millpond_task_position position(struct request *request) {
    json_t *after = json_object_get(request->json, "after");
    return (millpond_task_position){.id = text(request, after, "id"),
                                    .at_ms = count(request, after, "at_ms")};
}

/* What the next page, or the next step, comes after. */
static json_t *next_of(const millpond_tasks_data *data) {
    if (data == NULL || data->next == NULL)
        return json_null();
    return json_pack("{s:o,s:o}", "at_ms", json_number(data->next->at_ms), "id",
                     json_text(data->next->id));
}

static json_t *sweep(struct request *request,
                     millpond_status (*call)(millpond_tasks_store *, millpond_bytes, millpond_bytes,
                                             const millpond_task_filter *, millpond_tasks_result **,
                                             millpond_error **)) {
    json_t *json = request->json;
    millpond_bytes queue = text(request, json, "queue"), to = text(request, json, "to");
    millpond_task_position after = position(request);
    millpond_task_filter filter;
    millpond_task_filter_init(&filter, sizeof filter);
    if (is_given(json, "after"))
        filter.after = &after;
    filter.limit = whole(request, json, "limit");
    filter.available = is_true(json, "available");
    filter.claimed = is_true(json, "claimed");
    filter.future = is_true(json, "future");
    filter.claimant = text(request, json, "claimant");
    filter.err = text(request, json, "err");
    filter.include_held = is_true(json, "include_held");
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        call(store, queue, to, &filter, &result, &request->error);
    millpond_tasks_store_free(store);
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    json_t *swept = json_pack("{s:o,s:o}", "tasks", json_number(data == NULL ? 0 : data->swept_count),
                              "next", next_of(data));
    millpond_tasks_result_free(result);
    return swept;
}

static millpond_status purge(millpond_tasks_store *store, millpond_bytes queue, millpond_bytes to,
                             const millpond_task_filter *filter, millpond_tasks_result **result,
                             millpond_error **error) {
    (void)to;
    return millpond_tasks_purge(store, queue.data, queue.length, filter, result, error);
}

static millpond_status move_tasks(millpond_tasks_store *store, millpond_bytes queue,
                                  millpond_bytes to, const millpond_task_filter *filter,
                                  millpond_tasks_result **result, millpond_error **error) {
    return millpond_tasks_move_tasks(store, queue.data, queue.length, to.data, to.length, filter,
                                     result, error);
}

static millpond_status redrive(millpond_tasks_store *store, millpond_bytes queue, millpond_bytes to,
                               const millpond_task_filter *filter, millpond_tasks_result **result,
                               millpond_error **error) {
    return millpond_tasks_redrive(store, queue.data, queue.length, to.data, to.length, filter,
                                  result, error);
}

static json_t *call_purge(struct request *request) {
    return sweep(request, purge);
}

static json_t *call_move_tasks(struct request *request) {
    return sweep(request, move_tasks);
}

static json_t *call_redrive(struct request *request) {
    return sweep(request, redrive);
}

static json_t *call_list(struct request *request) {
    json_t *json = request->json, *next;
    millpond_bytes queue = text(request, json, "queue");
    millpond_task_position after = position(request);
    millpond_task_query query;
    millpond_task_query_init(&query, sizeof query);
    query.limit = whole(request, json, "limit");
    query.claimant = text(request, json, "claimant");
    query.omit_values = is_true(json, "omit_values");
    if (is_given(json, "after"))
        query.after = &after;
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_list(store, queue.data, queue.length, &query, &result, &request->error);
    millpond_tasks_store_free(store);
    next = next_of(millpond_tasks_result_data(result));
    return json_pack("{s:o,s:o}", "next", next, "tasks", tasks_of(result));
}

static millpond_tasks_filter filter(struct request *request) {
    millpond_tasks_filter filter;
    millpond_tasks_filter_init(&filter, sizeof filter);
    filter.exact = texts(request, request->json, "exact", &filter.exact_count);
    filter.prefixes = texts(request, request->json, "prefixes", &filter.prefix_count);
    filter.limit = whole(request, request->json, "limit");
    return filter;
}

static millpond_tasks_result *queue_stats(struct request *request) {
    millpond_tasks_filter given = filter(request);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_queue_stats(store, &given, &result, &request->error);
    millpond_tasks_store_free(store);
    return result;
}

static json_t *call_queues(struct request *request) {
    millpond_tasks_result *result = queue_stats(request);
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    json_t *list = json_array();
    for (size_t i = 0; data != NULL && i < data->queue_count; i++)
        json_array_append_new(
            list, json_pack("[o,o]", json_text(millpond_tasks_result_queue(result, i)->queue),
                            json_number(millpond_tasks_result_queue(result, i)->size)));
    millpond_tasks_result_free(result);
    return list;
}

static json_t *optional_time(int64_t at_ms) {
    return at_ms == MILLPOND_NOT_SET ? json_null() : json_number(at_ms);
}

static json_t *call_queue_stats(struct request *request) {
    millpond_tasks_result *result = queue_stats(request);
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    json_t *list = json_array();
    for (size_t i = 0; data != NULL && i < data->queue_count; i++) {
        const millpond_task_queue_stats *stats = millpond_tasks_result_queue(result, i);
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:o,s:o}", "queue", json_text(stats->queue), "size",
                            json_number(stats->size), "available", json_number(stats->available),
                            "claimed", json_number(stats->claimed), "retrying",
                            json_number(stats->retrying), "future",
                            json_number(stats->future), "max_claims",
                            json_number(stats->max_claims), "paused", stats->paused == 1,
                            "oldest_available_ms", optional_time(stats->oldest_available_ms),
                            "first_lease_end_ms", optional_time(stats->first_lease_end_ms)));
    }
    millpond_tasks_result_free(result);
    return list;
}

static json_t *call_namespace_stats(struct request *request) {
    millpond_tasks_filter given = filter(request);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    json_t *list = json_array();
    if (store != NULL)
        millpond_tasks_namespace_stats(store, &given, &result, &request->error);
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    for (size_t i = 0; data != NULL && i < data->namespace_count; i++) {
        const millpond_task_namespace_stats *stats = millpond_tasks_result_namespace(result, i);
        json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "namespace",
                                              json_text(stats->namespace_name), "size",
                                              json_number(stats->size), "claimed",
                                              json_number(stats->claimed)));
    }
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
    return list;
}

/* A call that takes a queue and returns nothing. */
static json_t *with_queue(struct request *request,
                          millpond_status (*call)(millpond_tasks_store *, const char *, size_t,
                                                  millpond_error **)) {
    millpond_bytes queue = text(request, request->json, "queue");
    millpond_tasks_store *store = store_of(request);
    if (store != NULL)
        call(store, queue.data, queue.length, &request->error);
    millpond_tasks_store_free(store);
    return json_null();
}

static json_t *call_pause(struct request *request) {
    return with_queue(request, millpond_tasks_pause);
}

static json_t *call_resume(struct request *request) {
    return with_queue(request, millpond_tasks_resume);
}

static json_t *call_are_empty(struct request *request) {
    millpond_tasks_filter given = filter(request);
    millpond_tasks_store *store = store_of(request);
    bool empty = false;
    if (store != NULL)
        millpond_tasks_are_empty(store, &given, &empty, &request->error);
    millpond_tasks_store_free(store);
    return json_boolean(empty);
}

static json_t *call_claim_docs(struct request *request) {
    millpond_bytes namespace_name = text(request, request->json, "namespace");
    int64_t lease_ms = whole(request, request->json, "lease_ms");
    size_t count;
    millpond_bytes *keys = texts(request, request->json, "keys", &count);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_claim_docs(store, namespace_name.data, namespace_name.length, keys, count,
                                  lease_ms, &result, &request->error);
    millpond_tasks_store_free(store);
    return docs_of(result);
}

/* The document, or null. */
static json_t *doc_of(millpond_tasks_result *result) {
    json_t *docs = docs_of(result), *doc = json_array_get(docs, 0);
    doc = doc == NULL ? json_null() : json_incref(doc);
    json_decref(docs);
    return doc;
}

static json_t *call_get_doc(struct request *request) {
    millpond_bytes namespace_name = text(request, request->json, "namespace");
    millpond_bytes key = text(request, request->json, "key");
    millpond_bytes secondary_key = text(request, request->json, "secondary_key");
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_get_doc(store, namespace_name.data, namespace_name.length, key.data,
                               key.length, secondary_key.data, secondary_key.length, &result,
                               &request->error);
    millpond_tasks_store_free(store);
    return doc_of(result);
}

static json_t *call_put_doc(struct request *request) {
    millpond_new_doc doc;
    read_new_doc(request, request->json, &doc);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_put_doc(store, &doc, &result, &request->error);
    millpond_tasks_store_free(store);
    return doc_of(result);
}

static json_t *call_fetch_docs(struct request *request) {
    size_t id_count;
    millpond_bytes namespace_name = text(request, request->json, "namespace");
    millpond_bytes *ids = texts(request, request->json, "ids", &id_count);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_fetch_docs(store, namespace_name.data, namespace_name.length, ids, id_count,
                                  &result, &request->error);
    millpond_tasks_store_free(store);
    return docs_of(result);
}

static json_t *call_list_docs(struct request *request) {
    json_t *json = request->json, *after = json_object_get(json, "after"), *next = json_null();
    millpond_bytes namespace_name = text(request, json, "namespace");
    millpond_doc_position position = {text(request, after, "key"),
                                      text(request, after, "secondary_key"),
                                      text(request, after, "id")};
    millpond_doc_query query;
    millpond_doc_query_init(&query, sizeof query);
    query.limit = whole(request, json, "limit");
    query.start = text(request, json, "start");
    query.end = text(request, json, "end");
    query.omit_contents = is_true(json, "omit_contents");
    if (is_given(json, "after"))
        query.after = &position;
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_result *result = NULL;
    if (store != NULL)
        millpond_tasks_list_docs(store, namespace_name.data, namespace_name.length, &query,
                                 &result, &request->error);
    millpond_tasks_store_free(store);
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    if (data != NULL && data->next_doc != NULL)
        next = json_pack("{s:o,s:o,s:o}", "key", json_text(data->next_doc->key), "secondary_key",
                         json_text(data->next_doc->secondary_key), "id",
                         json_text(data->next_doc->id));
    return json_pack("{s:o,s:o}", "next", next, "docs", docs_of(result));
}

static json_t *call_time(struct request *request) {
    millpond_tasks_store *store = store_of(request);
    uint64_t time_ms = 0;
    if (store != NULL)
        millpond_tasks_time(store, &time_ms, &request->error);
    millpond_tasks_store_free(store);
    return json_number(time_ms);
}

const struct call task_calls[] = {
    {"tasks.insert", call_insert},
    {"tasks.modify", call_modify},
    {"tasks.claim", call_claim},
    {"tasks.claim_many", call_claim_many},
    {"tasks.claims", call_claims},
    {"tasks.renew", call_renew},
    {"tasks.cancel", call_cancel},
    {"tasks.fetch", call_fetch},
    {"tasks.list", call_list},
    {"tasks.queues", call_queues},
    {"tasks.are_empty", call_are_empty},
    {"tasks.queue_stats", call_queue_stats},
    {"tasks.pause", call_pause},
    {"tasks.resume", call_resume},
    {"tasks.purge", call_purge},
    {"tasks.move_tasks", call_move_tasks},
    {"tasks.redrive", call_redrive},
    {"tasks.claim_docs", call_claim_docs},
    {"tasks.get_doc", call_get_doc},
    {"tasks.put_doc", call_put_doc},
    {"tasks.fetch_docs", call_fetch_docs},
    {"tasks.list_docs", call_list_docs},
    {"tasks.namespace_stats", call_namespace_stats},
    {"tasks.time", call_time},
    {NULL, NULL},
};
