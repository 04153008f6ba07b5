/* A program that knows millpond.h of another time: compiled with the header as it is, as it was in
   tests/fixtures, and without the last field of each structure, it does the same with the library.
   So it names no field that is the last of its structure. */

#include <millpond.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define OK(call) CHECK((call) == MILLPOND_OK)
#define S(literal) (literal), sizeof(literal) - 1

/* Bytes behind a structure, which nobody may touch. */
#define GUARDED(type) GUARDED_ARRAY(type, )
#define GUARDED_ARRAY(type, count) \
    struct { \
        type it count; \
        unsigned char guard[64]; \
    }
#define GUARD(guarded) memset(&(guarded), 0x5a, sizeof(guarded))
#define CHECK_GUARD(guarded) check_guard((guarded).guard, sizeof (guarded).guard)

static void check_guard(const unsigned char *guard, size_t length) {
    for (size_t i = 0; i < length; i++)
        CHECK(guard[i] == 0x5a);
}

static int is(millpond_bytes bytes, const char *text) {
    return bytes.length == strlen(text) && memcmp(bytes.data, text, bytes.length) == 0;
}

static void ick(millpond_client *client) {
    millpond_ick_pair pairs[] = {{S("a"), 1, false}, {S("b"), 2, false}, {S("c"), 3, false}};
    GUARDED(millpond_ick_stats) stats;
    millpond_ick_entries *entries;
    OK(millpond_ick_add(client, S("grown"), pairs, 3, NULL, NULL));
    GUARD(stats);
    millpond_ick_stats_init(&stats.it, sizeof stats.it);
    CHECK(stats.it.pset_size == 0 && !stats.it.exists);
    OK(millpond_ick_stats_read(client, S("grown"), &stats.it, NULL));
    CHECK(stats.it.exists && stats.it.pset_size == 3 && stats.it.pset_max == 3);
    CHECK_GUARD(stats);

    OK(millpond_ick_reserve(client, S("grown"), 10, false, &entries, NULL));
    const char *next = (const char *)millpond_ick_entries_data(entries);
    CHECK(millpond_ick_entries_length(entries) == 3);
    for (size_t i = 0; i < 3; i++, next += millpond_ick_entries_stride()) {
        CHECK((const void *)next == millpond_ick_entries_at(entries, i));
        CHECK(*millpond_ick_entries_at(entries, i)->member == "abc"[i]);
    }
    CHECK(millpond_ick_entries_at(entries, 3) == NULL);
    millpond_ick_entries_free(entries);
}

static void shuffle(millpond_client *client) {
    GUARDED(millpond_shuffle_options) options;
    GUARDED(millpond_shuffle_consumer_options) of_consumer;
    millpond_shuffle_field field = {S("n"), S("1")};
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_batch *batch;
    millpond_shuffle_stats *stats;
    GUARD(options);
    GUARD(of_consumer);
    millpond_shuffle_options_init(&options.it, sizeof options.it);
    options.it.streams = 4;
    CHECK(options.it.ttl_ms == MILLPOND_NOT_SET);
    CHECK_GUARD(options);
    OK(millpond_shuffle_queue_new(client, S("grown"), &options.it, &queue, NULL));
    for (int i = 0; i < 3; i++)
        OK(millpond_shuffle_write(queue, S("t"), &field, 1, NULL, NULL));
    millpond_shuffle_consumer_options_init(&of_consumer.it, sizeof of_consumer.it);
    of_consumer.it.prefer_stream = 3;
    CHECK_GUARD(of_consumer);
    OK(millpond_shuffle_consumer_new(queue, S("g"), S("c"), &of_consumer.it, &consumer, NULL));

    OK(millpond_shuffle_read(consumer, 10, 0, &batch, NULL));
    CHECK(millpond_shuffle_batch_length(batch) == 3);
    const char *next = (const char *)millpond_shuffle_batch_messages(batch);
    for (size_t i = 0; i < 3; i++, next += millpond_shuffle_batch_stride()) {
        const millpond_shuffle_message *message = millpond_shuffle_batch_at(batch, i);
        CHECK((const void *)next == message && message->deliveries == 1);
        CHECK(*millpond_shuffle_message_field(message, S("n"))->value == '1');
        CHECK(message->fields->value_length == 1);
    }
    millpond_shuffle_batch_free(batch);
    OK(millpond_shuffle_stats_read(queue, S("g"), &stats, NULL));
    uint64_t pending = 0;
    for (size_t i = 0; i < 4; i++)
        pending += millpond_shuffle_stats_at(stats, i)->pending;
    CHECK(pending == 3 && millpond_shuffle_stats_total(stats)->pending == 3);
    millpond_shuffle_stats_free(stats);

    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
}

static void tasks(millpond_client *client) {
    millpond_tasks_store *store;
    millpond_tasks_result *result;
    millpond_error *error;
    OK(millpond_tasks_store_new(client, S("grown"), NULL, 0, &store, NULL));

    GUARDED_ARRAY(millpond_new_task, [3]) new;
    GUARDED_ARRAY(millpond_new_doc, [2]) docs;
    GUARD(new);
    GUARD(docs);
    const char *ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        millpond_new_task_init(&new.it[i], sizeof new.it[i]);
        new.it[i].queue = (millpond_bytes){S("in")};
        new.it[i].id = (millpond_bytes){ids[i], 1};
        new.it[i].value = (millpond_bytes){"123" + i, 1};
    }
    for (int i = 0; i < 2; i++) {
        millpond_new_doc_init(&docs.it[i], sizeof docs.it[i]);
        docs.it[i].namespace_name = (millpond_bytes){S("n")};
        docs.it[i].key = (millpond_bytes){ids[i], 1};
        docs.it[i].content = (millpond_bytes){"78" + i, 1};
    }
    CHECK_GUARD(new);
    CHECK_GUARD(docs);
    GUARDED(millpond_tasks_modification) modification;
    GUARD(modification);
    millpond_tasks_modification_init(&modification.it, sizeof modification.it);
    CHECK_GUARD(modification);
    modification.it.inserts = new.it;
    modification.it.insert_count = 3;
    modification.it.doc_inserts = docs.it;
    modification.it.doc_insert_count = 2;
    OK(millpond_tasks_modify(store, &modification.it, &result, NULL));
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data->task_count == 3 && data->doc_count == 2 && data->inserted_doc_count == 2);
    for (size_t i = 0; i < 3; i++) {
        const millpond_task *task = millpond_tasks_result_task(result, i);
        CHECK((const char *)task == (const char *)data->tasks + i * data->task_size);
        CHECK(is(task->id, ids[i]) && task->value.data[0] == "123"[i] && task->attempt == 0);
    }
    for (size_t i = 0; i < 2; i++) {
        const millpond_doc *doc = millpond_tasks_result_doc(result, i);
        CHECK((const char *)doc == (const char *)data->docs + i * data->doc_size);
        CHECK(is(doc->id, ids[i]) && doc->content.data[0] == "78"[i]);
    }
    CHECK(millpond_tasks_result_task(result, 3) == NULL);

    /* An array of changes, of tasks as the library returned them. */
    GUARDED_ARRAY(millpond_task_change, [2]) changes;
    GUARDED(millpond_doc_change) doc_change;
    GUARD(changes);
    GUARD(doc_change);
    for (size_t i = 0; i < 2; i++) {
        const millpond_task *task = millpond_tasks_result_task(result, i + 1);
        millpond_task_change_init(&changes.it[i], sizeof changes.it[i], task);
        changes.it[i].retry = true;
        changes.it[i].retry_err = (millpond_bytes){S("why")};
    }
    millpond_doc_change_init(&doc_change.it, sizeof doc_change.it,
                             millpond_tasks_result_doc(result, 1));
    doc_change.it.content = (millpond_bytes){S("9")};
    CHECK_GUARD(changes);
    CHECK_GUARD(doc_change);
    millpond_tasks_modification_init(&modification.it, sizeof modification.it);
    modification.it.changes = changes.it;
    modification.it.change_count = 2;
    modification.it.doc_changes = &doc_change.it;
    modification.it.doc_change_count = 1;
    millpond_tasks_result *changed;
    OK(millpond_tasks_modify(store, &modification.it, &changed, NULL));
    for (size_t i = 0; i < 2; i++) {
        const millpond_task *task = millpond_tasks_result_task(changed, i);
        CHECK(is(task->id, ids[i + 1]) && is(task->err, "why") && task->attempt == 1);
    }
    millpond_tasks_result_free(changed);
    millpond_tasks_result_free(result);

    /* What lists and counts. */
    GUARDED(millpond_task_query) query;
    GUARDED(millpond_tasks_filter) filter;
    millpond_bytes any = {S("")};
    GUARD(query);
    GUARD(filter);
    millpond_task_query_init(&query.it, sizeof query.it);
    query.it.limit = 2;
    CHECK_GUARD(query);
    OK(millpond_tasks_list(store, S("in"), &query.it, &result, NULL));
    CHECK(millpond_tasks_result_data(result)->task_count == 2);
    CHECK(millpond_tasks_result_data(result)->next != NULL);
    millpond_tasks_result_free(result);
    millpond_tasks_filter_init(&filter.it, sizeof filter.it);
    filter.it.prefixes = &any;
    filter.it.prefix_count = 1;
    CHECK_GUARD(filter);
    OK(millpond_tasks_queue_stats(store, &filter.it, &result, NULL));
    CHECK(millpond_tasks_result_queue(result, 0)->available == 3);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_namespace_stats(store, NULL, &result, NULL));
    CHECK(millpond_tasks_result_namespace(result, 0)->size == 2);
    millpond_tasks_result_free(result);

    GUARDED(millpond_tasks_worker_options) options;
    millpond_tasks_worker *worker;
    millpond_tasks_jobs *jobs;
    millpond_tasks_job *job;
    millpond_bytes in = {S("in")};
    GUARD(options);
    millpond_tasks_worker_options_init(&options.it, sizeof options.it);
    options.it.max_attempts = 3;
    CHECK_GUARD(options);
    OK(millpond_tasks_worker_new(store, &in, 1, &options.it, &worker, NULL));
    OK(millpond_tasks_worker_jobs(worker, &jobs, NULL));
    OK(millpond_tasks_jobs_next(jobs, &job, NULL));
    CHECK(millpond_tasks_job_data(job)->tasks->claims == 1);
    OK(millpond_tasks_job_done(job, NULL));
    millpond_tasks_job_free(job);
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_worker_free(worker);

    /* A size that cannot be. */
    modification.it.size = 0;
    CHECK(millpond_tasks_modify(store, &modification.it, NULL, &error) ==
          MILLPOND_INVALID_ARGUMENT);
    CHECK(strstr(millpond_error_message(error), "modification.size is 0; "
                                                "millpond_tasks_modification_init sets it"));
    millpond_error_free(error);
    modification.it.size = 100000;
    CHECK(millpond_tasks_modify(store, &modification.it, NULL, &error) ==
          MILLPOND_INVALID_ARGUMENT);
    CHECK(strstr(millpond_error_message(error), "modification.size is 100000, but this version"));
    millpond_error_free(error);
    millpond_tasks_modification_init(&modification.it, sizeof modification.it);
    modification.it.inserts = new.it;
    modification.it.insert_count = 3;
    new.it[1].size -= 8;
    CHECK(millpond_tasks_modify(store, &modification.it, NULL, &error) ==
          MILLPOND_INVALID_ARGUMENT);
    CHECK(strstr(millpond_error_message(error), "inserts[1].size is "));
    millpond_error_free(error);
    millpond_tasks_store_free(store);
}

int main(void) {
    GUARDED(millpond_options) options;
    millpond_client *client;
    GUARD(options);
    millpond_options_init(&options.it, sizeof options.it);
    CHECK(options.it.timeout_ms == MILLPOND_NOT_SET);
    options.it.url = (millpond_bytes){S("memory:")};
    options.it.timeout_ms = 1000;
    OK(millpond_connect_with(&options.it, &client, NULL));
    CHECK_GUARD(options);
    ick(client);
    shuffle(client);
    tasks(client);
    CHECK(millpond_limits_data()->items > 0 && millpond_error_kind_at(0)->code == 1);
    millpond_client_free(client);
    printf("%zu %zu %zu %zu\n", sizeof(millpond_options), sizeof(millpond_new_task),
           sizeof(millpond_task), sizeof(millpond_ick_entry));
    return 0;
}
