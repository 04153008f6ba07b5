/* Reading tasks and documents: by id, page by page, and counted. */

#include "tasks.h"

#include <stdio.h>
#include <string.h>

/* The ids of the tasks or documents of a result, one behind the other; frees it. */
static void check_ids(int line, millpond_tasks_result *result, const char *expected) {
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    char found[256] = "";
    for (size_t i = 0; i < data->task_count; i++)
        strncat(found, data->tasks[i].id.data, data->tasks[i].id.length);
    for (size_t i = 0; i < data->doc_count; i++)
        strncat(found, data->docs[i].id.data, data->docs[i].id.length);
    if (strcmp(found, expected) != 0) {
        fprintf(stderr, "\"%s\" in place of \"%s\"\n", found, expected);
        check_failed(__FILE__, line, "the ids are those");
    }
    millpond_tasks_result_free(result);
}
#define IDS(result, expected) check_ids(__LINE__, result, expected)

/* Tasks a to e, of which c and d have the same time and e is in the future. */
static void insert_five(millpond_tasks_store *store) {
    const char *ids = "abcde";
    const int64_t at_ms[] = {10, 20, 30, 30, MILLPOND_NOT_SET};
    millpond_new_task tasks[5];
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = tasks,
                                                .insert_count = 5};
    millpond_error *error;
    for (int i = 0; i < 5; i++) {
        millpond_new_task_init(&tasks[i], sizeof tasks[i]);
        tasks[i].queue = (millpond_bytes)B("q");
        tasks[i].id = (millpond_bytes){&ids[i], 1};
        tasks[i].value = (millpond_bytes)B("[1]");
        tasks[i].at_ms = at_ms[i];
    }
    tasks[4].delay_ms = 60000;
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
}

static void pages_of_tasks(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "pages", "ann");
    millpond_bytes ids[] = {B("d"), B("nobody"), B("a"), B("e")};
    millpond_tasks_result *result, *page;
    millpond_task_query query;
    millpond_error *error;

    OK(millpond_tasks_list(store, S("q"), NULL, &result, &error));
    IDS(result, "");
    insert_five(store);
    OK(millpond_tasks_fetch(store, ids, 4, &result, &error));
    CHECK(is(millpond_tasks_result_data(result)->tasks[2].value, "[1]"));
    IDS(result, "dae");
    OK(millpond_tasks_list(store, S("q"), NULL, &result, &error));
    CHECK(millpond_tasks_result_data(result)->next == NULL);
    IDS(result, "abcde");

    millpond_task_query_init(&query, sizeof query);
    query.limit = 3;
    query.omit_values = true;
    OK(millpond_tasks_list(store, S("q"), &query, &page, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(page);
    CHECK(data->tasks->value.data == NULL && data->next != NULL);
    CHECK(is(data->next->id, "c") && data->next->at_ms == 30);
    query.after = data->next;
    OK(millpond_tasks_list(store, S("q"), &query, &result, &error));
    CHECK(millpond_tasks_result_data(result)->next == NULL);
    IDS(result, "de");
    IDS(page, "abc");

    /* Those that bob could have. */
    millpond_task_query_init(&query, sizeof query);
    query.claimant = (millpond_bytes)B("bob");
    OK(millpond_tasks_list(store, S("q"), &query, &result, &error));
    IDS(result, "abcd");
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* What a program sets up each time that it runs. */
static void seeds(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "seeds", "ann");
    millpond_new_doc doc;
    millpond_tasks_modification inserts = {.size = sizeof inserts, .doc_inserts = &doc,
                                           .doc_insert_count = 1};
    millpond_tasks_modification puts = {.size = sizeof puts, .doc_puts = &doc, .doc_put_count = 1};
    millpond_tasks_result *result;
    millpond_error *error;

    millpond_new_doc_init(&doc, sizeof doc);
    doc.namespace_name = (millpond_bytes)B("n");
    doc.key = (millpond_bytes)B("k");
    doc.secondary_key = (millpond_bytes)B("s");
    doc.content = (millpond_bytes)B("1");
    OK(millpond_tasks_get_doc(store, S("n"), S("k"), S("s"), &result, &error));
    CHECK(millpond_tasks_result_data(result)->doc_count == 0);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_modify(store, &inserts, NULL, &error));
    FAILS(MILLPOND_DEPENDENCY, "document n/k|s exists already, at version 0",
          millpond_tasks_modify(store, &inserts, NULL, &error));
    doc.content = (millpond_bytes)B("[2]");
    OK(millpond_tasks_put_doc(store, &doc, &result, &error));
    const millpond_doc *put = millpond_tasks_result_data(result)->docs;
    CHECK(put->version == 1 && is(put->id, "k|s") && is(put->content, "[2]"));
    millpond_tasks_result_free(result);
    OK(millpond_tasks_put_doc(store, &doc, NULL, &error));
    OK(millpond_tasks_modify(store, &puts, &result, &error));
    CHECK(millpond_tasks_result_data(result)->inserted_doc_count == 1);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_get_doc(store, S("n"), S("k"), S("s"), &result, &error));
    CHECK(millpond_tasks_result_data(result)->docs->version == 3);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_get_doc(store, S("n"), S("k"), NULL, 0, &result, &error));
    CHECK(millpond_tasks_result_data(result)->doc_count == 0);
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void documents(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "documents", "ann");
    millpond_bytes ids[] = {B("3"), B("nobody"), B("1")};
    const char *id[] = {"1", "2", "3"}, *key[] = {"k", "k", "l"}, *second[] = {"b", "a", ""};
    millpond_new_doc new[3];
    millpond_tasks_modification modification = {.size = sizeof modification, .doc_inserts = new,
                                                .doc_insert_count = 3};
    millpond_tasks_result *result, *page;
    millpond_doc_query query;
    millpond_error *error;

    for (int i = 0; i < 3; i++) {
        millpond_new_doc_init(&new[i], sizeof new[i]);
        new[i].namespace_name = (millpond_bytes)B("n");
        new[i].id = (millpond_bytes){id[i], 1};
        new[i].key = (millpond_bytes){key[i], 1};
        new[i].secondary_key = (millpond_bytes){second[i], strlen(second[i])};
    }
    new[0].content = (millpond_bytes)B("{\"balance\": 7}");
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data->doc_count == 3 && data->inserted_doc_count == 3 && data->task_count == 0);
    const millpond_doc *doc = data->docs;
    CHECK(is(doc->namespace_name, "n") && is(doc->id, "1") && is(doc->key, "k"));
    CHECK(is(doc->secondary_key, "b") && is(doc->content, "{\"balance\": 7}"));
    CHECK(is(doc->claimant, "") && doc->version == 0 && doc->created_ms == doc->modified_ms);
    CHECK(doc[1].content.data == NULL && is(doc[2].secondary_key, ""));
    CHECK(data->text == doc->namespace_name.data);
    CHECK(data->text_length == 4 + 14 + 4 + 3);
    millpond_tasks_result_free(result);
    FAILS(MILLPOND_DEPENDENCY, "document n/1 exists already, at version 0",
          millpond_tasks_modify(store, &modification, NULL, &error));
    for (int i = 0; i < 3; i++)
        new[i].skip_colliding = true;
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    IDS(result, "");

    OK(millpond_tasks_fetch_docs(store, S("n"), ids, 3, &result, &error));
    IDS(result, "31");
    OK(millpond_tasks_list_docs(store, S("n"), NULL, &result, &error));
    IDS(result, "213");
    millpond_doc_query_init(&query, sizeof query);
    query.limit = 2;
    query.omit_contents = true;
    OK(millpond_tasks_list_docs(store, S("n"), &query, &page, &error));
    data = millpond_tasks_result_data(page);
    CHECK(data->docs[1].content.data == NULL && is(data->next_doc->key, "k"));
    CHECK(is(data->next_doc->secondary_key, "b") && is(data->next_doc->id, "1"));
    query.after = data->next_doc;
    OK(millpond_tasks_list_docs(store, S("n"), &query, &result, &error));
    CHECK(millpond_tasks_result_data(result)->next_doc == NULL);
    IDS(result, "3");
    IDS(page, "21");
    millpond_doc_query_init(&query, sizeof query);
    query.start = (millpond_bytes)B("l");
    OK(millpond_tasks_list_docs(store, S("n"), &query, &result, &error));
    IDS(result, "3");
    millpond_doc_query_init(&query, sizeof query);
    query.end = (millpond_bytes)B("l");
    OK(millpond_tasks_list_docs(store, S("n"), &query, &result, &error));
    IDS(result, "21");

    /* Held, changed, held still, and released. */
    OK(millpond_tasks_claim_docs(store, S("n"), K("k"), 60000, &page, &error));
    data = millpond_tasks_result_data(page);
    CHECK(data->doc_count == 2 && is(data->docs[1].id, "1") && data->docs[1].version == 1);
    millpond_doc_change change;
    millpond_tasks_modification changes = {.size = sizeof changes, .doc_changes = &change,
                                           .doc_change_count = 1};
    millpond_doc_change_init(&change, sizeof change, &data->docs[1]);
    change.content = (millpond_bytes)B("null");
    OK(millpond_tasks_modify(store, &changes, &result, &error));
    millpond_tasks_result_free(page);
    doc = millpond_tasks_result_data(result)->docs;
    CHECK(millpond_tasks_result_data(result)->inserted_doc_count == 0);
    CHECK(is(doc->content, "null") && is(doc->claimant, "ann") && doc->version == 2);
    CHECK(doc->at_ms > doc->modified_ms);
    millpond_doc_change_init(&change, sizeof change, doc);
    change.delay_ms = 0;
    OK(millpond_tasks_modify(store, &changes, &page, &error));
    doc = millpond_tasks_result_data(page)->docs;
    CHECK(is(doc->claimant, "") && is(doc->content, "null") && doc->version == 3);
    millpond_tasks_result_free(result);
    millpond_doc_id gone = {doc->namespace_name, doc->id, doc->version};
    changes = (millpond_tasks_modification){.size = sizeof changes, .doc_deletes = &gone,
                                            .doc_delete_count = 1};
    OK(millpond_tasks_modify(store, &changes, NULL, &error));
    millpond_tasks_result_free(page);

    OK(millpond_tasks_namespace_stats(store, NULL, &result, &error));
    data = millpond_tasks_result_data(result);
    CHECK(data->namespace_count == 1 && is(data->namespaces->namespace_name, "n"));
    CHECK(data->namespaces->size == 2 && data->namespaces->claimed == 1);
    CHECK(data->text_length == 1 && data->queue_count == 0);
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void statistics(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "statistics", "ann");
    millpond_bytes exact[] = {B("other"), B("nothing")}, prefix = B("mail/");
    millpond_tasks_filter filter;
    millpond_tasks_result *result;
    millpond_error *error;
    bool empty = true;

    insert_five(store);
    insert(store, "mail/in", "1");
    insert(store, "mail/out", "1");
    insert(store, "other", "1");
    millpond_tasks_result_free(claim(store, "q"));
    OK(millpond_tasks_queue_stats(store, NULL, &result, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data->queue_count == 4 && is(data->queues[0].queue, "mail/in"));
    const millpond_task_queue_stats *stats = &data->queues[3];
    CHECK(is(stats->queue, "q") && stats->size == 5 && stats->available == 3);
    CHECK(stats->claimed == 1 && stats->future == 1 && stats->max_claims == 1);
    CHECK(stats->paused == 0 && stats->oldest_available_ms < stats->first_lease_end_ms);
    CHECK(data->queues[0].first_lease_end_ms == MILLPOND_NOT_SET);
    CHECK(data->text_length == strlen("mail/inmail/outotherq"));
    millpond_tasks_result_free(result);

    millpond_tasks_filter_init(&filter, sizeof filter);
    filter.exact = exact;
    filter.exact_count = 2;
    filter.prefixes = &prefix;
    filter.prefix_count = 1;
    OK(millpond_tasks_queue_stats(store, &filter, &result, &error));
    data = millpond_tasks_result_data(result);
    CHECK(data->queue_count == 3 && is(data->queues[2].queue, "other"));
    millpond_tasks_result_free(result);
    filter.limit = 1;
    OK(millpond_tasks_queue_stats(store, &filter, &result, &error));
    CHECK(millpond_tasks_result_data(result)->queue_count == 1);
    millpond_tasks_result_free(result);

    OK(millpond_tasks_are_empty(store, &filter, &empty, &error));
    CHECK(!empty);
    millpond_tasks_filter_init(&filter, sizeof filter);
    filter.exact = &exact[1];
    filter.exact_count = 1;
    OK(millpond_tasks_are_empty(store, &filter, &empty, &error));
    CHECK(empty);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void sweeps(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "sweeps", "ann");
    millpond_task_filter filter;
    millpond_tasks_result *result, *rest;
    millpond_error *error;

    for (int i = 0; i < 3; i++)
        insert(store, "e", "1");
    OK(millpond_tasks_pause(store, S("e"), &error));
    CHECK(claim(store, "e") == NULL);
    millpond_task_filter_init(&filter, sizeof filter);
    filter.limit = 2;
    OK(millpond_tasks_purge(store, S("e"), &filter, &result, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data->swept_count == 2 && data->next != NULL);
    filter.after = data->next;
    OK(millpond_tasks_redrive(store, S("e"), S("f"), &filter, &rest, &error));
    CHECK(millpond_tasks_result_data(rest)->swept_count == 1);
    CHECK(millpond_tasks_result_data(rest)->next == NULL);
    millpond_tasks_result_free(rest);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_move_tasks(store, S("f"), S("e"), NULL, &result, &error));
    CHECK(millpond_tasks_result_data(result)->swept_count == 1);
    millpond_tasks_result_free(result);
    FAILS(MILLPOND_INVALID_ARGUMENT, "where they are to go",
          millpond_tasks_move_tasks(store, S("e"), S("e"), NULL, &result, &error));
    CHECK(result == NULL);
    OK(millpond_tasks_resume(store, S("e"), &error));
    result = claim(store, "e");
    CHECK(result != NULL);
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

const struct test task_list_tests[] = {
    {"pages_of_tasks", pages_of_tasks},
    {"seeds", seeds},
    {"documents", documents},
    {"task_statistics", statistics},
    {"sweeps", sweeps},
    {NULL, NULL},
};
