/* Tasks: inserts, claims and modifications. */

#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void insert_claim_delete(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "first", "ann");
    millpond_tasks_result *result;
    millpond_bytes queue = B("in"), claimant;
    millpond_error *error;
    uint64_t before, after;

    OK(millpond_tasks_claimant(store, &claimant, &error));
    CHECK(is(claimant, "ann"));
    CHECK(claim(store, "in") == NULL);
    OK(millpond_tasks_time(store, &before, &error));
    OK(millpond_tasks_insert(store, S("in"), S("{\"n\": 1}"), &result, &error));
    OK(millpond_tasks_time(store, &after, &error));
    CHECK(before > 1500000000000 && before <= after);

    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data->task_count == 1 && data->inserted_count == 1 && data->doc_count == 0);
    CHECK(data->next == NULL && data->next_doc == NULL && data->queue_count == 0);
    const millpond_task *task = data->tasks;
    CHECK(task->id.length == 16 && is(task->queue, "in") && is(task->claimant, "ann"));
    CHECK(is(task->err, "") && task->err.data != NULL && is(task->value, "{\"n\": 1}"));
    CHECK(task->version == 0 && task->claims == 0 && task->attempt == 0 && task->priority == 0);
    CHECK(task->at_ms >= before && task->at_ms <= after && task->expires_ms == MILLPOND_NOT_SET);
    CHECK(task->created_ms == task->at_ms && task->modified_ms == task->at_ms);

    /* Its texts are in one buffer, in the order of the fields. */
    CHECK(task->id.data == data->text && data->text_length == 16 + 2 + 3 + 8);
    CHECK(memcmp(data->text + 16, "inann{\"n\": 1}", 13) == 0);

    millpond_tasks_result *claimed;
    OK(millpond_tasks_claim(store, &queue, 1, 60000, 1, 0, &claimed, &error));
    const millpond_task *held = task_of(claimed);
    CHECK(held->id.length == 16 && memcmp(held->id.data, task->id.data, 16) == 0);
    CHECK(held->version == 1 && held->claims == 1 && is(held->claimant, "ann"));
    CHECK(held->at_ms == held->modified_ms + 60000 && held->created_ms == task->created_ms);
    millpond_tasks_result_free(result);
    CHECK(claim(store, "in") == NULL);

    millpond_task_id done = {held->id, held->version};
    millpond_tasks_modification modification = {.size = sizeof modification, .deletes = &done,
                                                .delete_count = 1};
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    data = millpond_tasks_result_data(result);
    CHECK(data->task_count == 0 && data->doc_count == 0 && data->text_length == 0);
    millpond_tasks_result_free(result);
    FAILS(MILLPOND_DEPENDENCY, "any more",
          millpond_tasks_modify(store, &modification, &result, &error));
    CHECK(result == NULL);
    millpond_tasks_result_free(claimed);

    /* Nothing is done, and that succeeds. */
    modification = (millpond_tasks_modification){.size = sizeof modification};
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    millpond_tasks_store_free(store);
    store = store_of(client, "first", NULL);
    OK(millpond_tasks_claimant(store, &claimant, &error));
    CHECK(claimant.length == 16);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void all_of_a_new_task(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "new", "ann");
    millpond_tasks_result *result;
    millpond_new_task tasks[5];
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = tasks,
                                                .insert_count = 5};
    millpond_error *error;

    for (int i = 0; i < 5; i++) {
        millpond_new_task_init(&tasks[i], sizeof tasks[i]);
        tasks[i].queue = (millpond_bytes)B("q");
    }
    tasks[0].id = (millpond_bytes)B("all");
    tasks[0].value = (millpond_bytes)B("\"gr\xc3\xbc\xc3\x9f 12345678901234567890\"");
    tasks[0].err = (millpond_bytes)B("before");
    tasks[0].at_ms = 77;
    tasks[0].ttl_ms = 60000;
    tasks[0].attempt = 3;
    tasks[0].priority = 9;
    tasks[1].id = (millpond_bytes)B("later");
    tasks[1].delay_ms = 60000;
    tasks[2].id = (millpond_bytes)B("null");
    tasks[2].value = (millpond_bytes)B("null");
    tasks[3].id = (millpond_bytes)B("none");
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data->task_count == 5 && data->inserted_count == 5);
    const millpond_task *task = data->tasks;
    CHECK(is(task[0].id, "all") && is(task[0].err, "before") && task[0].at_ms == 77);
    CHECK(is(task[0].value, "\"gr\xc3\xbc\xc3\x9f 12345678901234567890\""));
    CHECK(task[0].attempt == 3 && task[0].priority == 9);
    CHECK(task[0].expires_ms == (int64_t)task[0].created_ms + 60000);
    CHECK(task[1].at_ms == task[1].created_ms + 60000 && task[1].expires_ms == MILLPOND_NOT_SET);
    CHECK(is(task[2].value, "null") && task[3].value.data == NULL && task[3].value.length == 0);
    CHECK(task[4].id.length == 16 && task[4].value.data == NULL);
    millpond_tasks_result_free(result);

    /* An id that is taken refuses all, unless skip_colliding is set. */
    tasks[4].queue = (millpond_bytes)B("other");
    FAILS(MILLPOND_DEPENDENCY, "task all exists already",
          millpond_tasks_modify(store, &modification, NULL, &error));
    CHECK(size_of(store, "other") == 0);
    for (int i = 0; i < 4; i++)
        tasks[i].skip_colliding = true;
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    CHECK(is(task_of(result)->queue, "other"));
    millpond_tasks_result_free(result);
    CHECK(size_of(store, "q") == 5 && size_of(store, "other") == 1);

    /* The highest priority first. */
    result = claim(store, "q");
    CHECK(is(task_of(result)->id, "all"));
    millpond_tasks_result_free(result);
    OK(millpond_tasks_insert(store, S("q"), NULL, 0, NULL, &error));
    CHECK(size_of(store, "q") == 6);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void changes(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "changes", "ann");
    millpond_tasks_result *result, *before;
    millpond_task_change change;
    millpond_tasks_modification modification = {.size = sizeof modification, .changes = &change,
                                                .change_count = 1};
    millpond_error *error;

    /* As it is: a release. */
    insert(store, "q", "1");
    before = claim(store, "q");
    millpond_task_change_init(&change, sizeof change, task_of(before));
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    CHECK(millpond_tasks_result_data(result)->inserted_count == 0);
    const millpond_task *task = task_of(result);
    CHECK(task->version == 2 && is(task->claimant, "") && is(task->value, "1"));
    CHECK(task->at_ms == task->modified_ms && task->claims == 1 && is(task->queue, "q"));
    millpond_tasks_result_free(before);

    /* All that a caller can set. */
    millpond_task_change_init(&change, sizeof change, task);
    change.queue = (millpond_bytes)B("r");
    change.value = (millpond_bytes){NULL, 0};
    change.err = (millpond_bytes)B("oh");
    change.attempt = 6;
    change.delay_ms = 60000;
    before = result;
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    millpond_tasks_result_free(before);
    task = task_of(result);
    CHECK(task->version == 3 && is(task->queue, "r") && task->value.data == NULL);
    CHECK(is(task->err, "oh") && task->attempt == 6 && is(task->claimant, "ann"));
    CHECK(task->at_ms == task->modified_ms + 60000);

    /* A retry, at a time. */
    millpond_task_change_init(&change, sizeof change, task);
    change.at_ms = 5;
    change.retry = true;
    change.retry_err = (millpond_bytes)B("no");
    before = result;
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    millpond_tasks_result_free(before);
    task = task_of(result);
    CHECK(task->attempt == 7 && is(task->err, "oh\nno") && is(task->queue, "r"));
    CHECK(task->at_ms == 5);

    /* One too many. */
    for (uint64_t attempts = 9; attempts >= 8; attempts--) {
        millpond_task_change_init(&change, sizeof change, task);
        change.retry = true;
        change.quarantine_queue = (millpond_bytes)B("bad");
        change.quarantine_attempts = attempts;
        change.version = task->version;
        before = result;
        OK(millpond_tasks_modify(store, &modification, &result, &error));
        task = task_of(result);
        CHECK(is(task->queue, attempts == 9 ? "r" : "bad") && is(task->err, "oh\nno"));
        millpond_tasks_result_free(before);
    }
    CHECK(task->attempt == 9);
    millpond_tasks_result_free(result);

    /* By hand, without a record. */
    millpond_new_task new;
    millpond_new_task_init(&new, sizeof new);
    new.queue = (millpond_bytes)B("q");
    new.id = (millpond_bytes)B("known");
    millpond_tasks_modification inserts = {.size = sizeof inserts, .inserts = &new,
                                           .insert_count = 1};
    OK(millpond_tasks_modify(store, &inserts, NULL, &error));
    millpond_task_change_init(&change, sizeof change, NULL);
    change.id = (millpond_bytes)B("known");
    change.queue = (millpond_bytes)B("q");
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    CHECK(size_of(store, "q") == 1);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void dependencies(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *ann = store_of(client, "refused", "ann"),
                         *bob = store_of(client, "refused", "bob");
    millpond_error *error;

    /* A task and a document that ann holds, and one of each that is unclaimed. */
    millpond_new_task new[2];
    millpond_new_doc docs[2];
    for (int i = 0; i < 2; i++) {
        millpond_new_task_init(&new[i], sizeof new[i]);
        millpond_new_doc_init(&docs[i], sizeof docs[i]);
        new[i].queue = i ? (millpond_bytes)B("free") : (millpond_bytes)B("held");
        docs[i].key = new[i].queue;
        new[i].id = docs[i].id = i ? (millpond_bytes)B("f") : (millpond_bytes)B("h");
        docs[i].namespace_name = (millpond_bytes)B("n");
    }
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = new,
                                                .insert_count = 2, .doc_inserts = docs,
                                                .doc_insert_count = 2};
    OK(millpond_tasks_modify(ann, &modification, NULL, &error));
    millpond_tasks_result_free(claim(ann, "held"));
    millpond_tasks_result *result;
    OK(millpond_tasks_claim_docs(ann, S("n"), K("held"), 60000, &result, &error));
    millpond_tasks_result_free(result);

    /* Everything that can be wrong, at once: all of it is reported. */
    millpond_task_change change;
    millpond_task_change_init(&change, sizeof change, NULL);
    change.id = (millpond_bytes)B("c");
    change.queue = (millpond_bytes)B("q");
    change.version = 1;
    millpond_task_id deletes[] = {{B("d"), 2}, {B("h"), 1}}, depend = {B("e"), 3};
    millpond_doc_change doc_change;
    millpond_doc_change_init(&doc_change, sizeof doc_change, NULL);
    doc_change.doc = (millpond_doc_id){B("n"), B("c"), 4};
    millpond_doc_id doc_deletes[] = {{B("n"), B("d"), 5}, {B("n"), B("h"), 1}},
                    doc_depend = {B("n"), B("e"), 6};
    modification = (millpond_tasks_modification){sizeof modification, &new[1], 1, &change, 1, deletes, 2, &depend, 1,
                                           &docs[1], 1, NULL, 0, &doc_change, 1, doc_deletes, 2,
                                           &doc_depend, 1};
    CHECK(millpond_tasks_modify(bob, &modification, NULL, &error) == MILLPOND_DEPENDENCY);
    const millpond_tasks_dependency *refused = millpond_error_dependency(error);
    CHECK(refused->insert_count == 1 && refused->change_count == 1 && refused->delete_count == 1);
    CHECK(refused->depend_count == 1 && refused->claim_count == 1);
    CHECK(is(refused->inserts->id, "f") && refused->inserts->version == 0);
    CHECK(is(refused->changes->id, "c") && refused->changes->version == 1);
    CHECK(is(refused->deletes->id, "d") && refused->deletes->version == 2);
    CHECK(is(refused->depends->id, "e") && refused->depends->version == 3);
    CHECK(is(refused->claims->id, "h") && refused->claims->version == 1);
    CHECK(refused->doc_insert_count == 1 && refused->doc_change_count == 1);
    CHECK(refused->doc_delete_count == 1 && refused->doc_depend_count == 1);
    CHECK(refused->doc_claim_count == 1 && is(refused->doc_inserts->namespace_name, "n"));
    CHECK(is(refused->doc_inserts->id, "f") && refused->doc_inserts->version == 0);
    CHECK(is(refused->doc_changes->id, "c") && refused->doc_changes->version == 4);
    CHECK(is(refused->doc_deletes->id, "d") && refused->doc_deletes->version == 5);
    CHECK(is(refused->doc_depends->id, "e") && refused->doc_depends->version == 6);
    CHECK(is(refused->doc_claims->id, "h") && refused->doc_claims->version == 1);
    CHECK(refused->has_missing && refused->has_missing_docs && refused->has_collisions);
    CHECK(refused->has_claims && refused->has_claimed_docs && !refused->only_claims);
    CHECK(strcmp(millpond_status_name(millpond_error_code(error)), "DEPENDENCY") == 0);
    CHECK(millpond_error_retry(error) == MILLPOND_RETRY_NEVER);
    CHECK(strcmp(millpond_error_operation(error), "tasks.modify") == 0);
    millpond_error_free(error);

    /* Only what another claimant holds. */
    modification = (millpond_tasks_modification){.size = sizeof modification,
                                                 .deletes = &deletes[1], .delete_count = 1};
    CHECK(millpond_tasks_modify(bob, &modification, NULL, &error) == MILLPOND_DEPENDENCY);
    refused = millpond_error_dependency(error);
    CHECK(refused->only_claims && refused->has_claims && !refused->has_claimed_docs);
    CHECK(!refused->has_missing && !refused->has_missing_docs && !refused->has_collisions);
    CHECK(refused->delete_count == 0 && refused->claim_count == 1);
    millpond_error_free(error);
    CHECK(millpond_tasks_claim_docs(bob, S("n"), K("held"), MILLPOND_NOT_SET, &result, &error) ==
          MILLPOND_DEPENDENCY);
    CHECK(millpond_error_dependency(error)->doc_claim_count == 1 && result == NULL);
    millpond_error_free(error);

    /* Other errors have none. */
    CHECK(millpond_tasks_modify(bob, NULL, NULL, &error) == MILLPOND_INVALID_ARGUMENT);
    CHECK(millpond_error_dependency(error) == NULL && millpond_error_dependency(NULL) == NULL);
    millpond_error_free(error);
    OK(millpond_tasks_modify(ann, &modification, NULL, &error));
    millpond_tasks_store_free(ann);
    millpond_tasks_store_free(bob);
    millpond_client_free(client);
}

static void renewals(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "renewals", "ann");
    millpond_tasks_result *result, *docs;
    millpond_new_doc doc;
    millpond_tasks_modification modification = {.size = sizeof modification, .doc_inserts = &doc,
                                                .doc_insert_count = 1};
    millpond_error *error;
    uint64_t at_ms = 7, doc_version = 7, now;

    insert(store, "q", "1");
    millpond_new_doc_init(&doc, sizeof doc);
    doc.namespace_name = (millpond_bytes)B("n");
    doc.key = (millpond_bytes)B("k");
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    result = claim(store, "q");
    OK(millpond_tasks_claim_docs(store, S("n"), K("k"), MILLPOND_NOT_SET, &docs, &error));
    const millpond_doc *held_doc = millpond_tasks_result_data(docs)->docs;
    CHECK(held_doc->at_ms == held_doc->modified_ms + 30000 && is(held_doc->claimant, "ann"));

    millpond_task_id held = {task_of(result)->id, task_of(result)->version};
    millpond_doc_id with = {held_doc->namespace_name, held_doc->id, held_doc->version};
    OK(millpond_tasks_renew(store, &held, 1, &with, 1, 90000, &held.version, &doc_version, NULL, &at_ms,
                            &error));
    CHECK(held.version == 2 && doc_version == held_doc->version + 1);
    OK(millpond_tasks_time(store, &now, &error));
    CHECK(at_ms > now + 60000 && at_ms <= now + 90000);

    /* One that is not there any more refuses all, and leaves the versions alone. */
    FAILS(MILLPOND_DEPENDENCY, "any more",
          millpond_tasks_renew(store, &held, 1, &with, 1, MILLPOND_NOT_SET, &held.version, &doc_version, NULL, &at_ms,
                               &error));
    CHECK(held.version == 2);
    OK(millpond_tasks_renew(store, &held, 1, NULL, 0, MILLPOND_NOT_SET, &held.version, NULL, NULL, NULL, &error));
    CHECK(held.version == 3);
    OK(millpond_tasks_renew(store, &held, 1, NULL, 0, 0, NULL, NULL, NULL, NULL, &error));
    millpond_tasks_result_free(result);
    result = claim(store, "q");
    CHECK(task_of(result)->version == 5);
    millpond_tasks_result_free(result);
    millpond_tasks_result_free(docs);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void many(const struct backend *backend) {
    enum { MANY = 2500 };
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "many", NULL);
    millpond_new_task *tasks = calloc(MANY, sizeof *tasks);
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = tasks,
                                                .insert_count = MANY};
    millpond_tasks_result *result;
    millpond_bytes queues[] = {B("a"), B("b"), B("a")};
    static char values[MANY][8];
    static bool seen[MANY];
    millpond_error *error;

    for (int i = 0; i < MANY; i++) {
        millpond_new_task_init(&tasks[i], sizeof tasks[i]);
        int length = snprintf(values[i], sizeof values[i], "%d", i);
        tasks[i].queue = queues[i % 2];
        tasks[i].value = (millpond_bytes){values[i], (size_t)length};
        seen[i] = false;
    }
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    CHECK(millpond_tasks_result_data(result)->task_count == MANY);
    for (int i = 0; i < MANY; i++)
        CHECK(is(millpond_tasks_result_data(result)->tasks[i].value, values[i]));
    millpond_tasks_result_free(result);

    int claimed = 0;
    for (;;) {
        OK(millpond_tasks_claim(store, queues, 3, 60000, 1000, 0, &result, &error));
        if (result == NULL)
            break;
        const millpond_tasks_data *data = millpond_tasks_result_data(result);
        millpond_task_id *done = calloc(data->task_count, sizeof *done);
        for (size_t i = 0; i < data->task_count; i++) {
            char text[8] = "";
            CHECK(data->tasks[i].value.length < sizeof text);
            memcpy(text, data->tasks[i].value.data, data->tasks[i].value.length);
            int number = atoi(text);
            CHECK(!seen[number]);
            seen[number] = true;
            done[i] = (millpond_task_id){data->tasks[i].id, data->tasks[i].version};
        }
        claimed += (int)data->task_count;
        millpond_tasks_modification deletes = {.size = sizeof deletes, .deletes = done,
                                               .delete_count = data->task_count};
        OK(millpond_tasks_modify(store, &deletes, NULL, &error));
        free(done);
        millpond_tasks_result_free(result);
    }
    CHECK(claimed == MANY && size_of(store, "a") == 0);
    free(tasks);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

const struct test task_tests[] = {
    {"tasks_insert_claim_delete", insert_claim_delete},
    {"all_of_a_new_task", all_of_a_new_task},
    {"task_changes", changes},
    {"task_dependencies", dependencies},
    {"task_renewals", renewals},
    {"many_tasks", many},
    {NULL, NULL},
};

millpond_tasks_store *store_of(millpond_client *client, const char *name, const char *claimant) {
    millpond_tasks_store *store;
    millpond_error *error;
    OK(millpond_tasks_store_new(client, name, strlen(name), claimant,
                                claimant != NULL ? strlen(claimant) : 0, &store, &error));
    return store;
}

void insert(millpond_tasks_store *store, const char *queue, const char *value) {
    millpond_error *error;
    OK(millpond_tasks_insert(store, queue, strlen(queue), value, strlen(value), NULL, &error));
}

millpond_tasks_worker *worker_of(millpond_tasks_store *store,
                                 const millpond_tasks_worker_options *options) {
    millpond_bytes queue = B("q");
    millpond_tasks_worker *worker;
    millpond_error *error;
    OK(millpond_tasks_worker_new(store, &queue, 1, options, &worker, &error));
    return worker;
}

millpond_tasks_jobs *loop_of(millpond_tasks_store *store,
                             const millpond_tasks_worker_options *options) {
    millpond_tasks_worker *worker = worker_of(store, options);
    millpond_tasks_jobs *jobs;
    millpond_error *error;
    OK(millpond_tasks_worker_jobs(worker, &jobs, &error));
    millpond_tasks_worker_free(worker);
    return jobs;
}

void wait_for_renewals(const millpond_tasks_job *job, uint64_t count) {
    millpond_error *error;
    uint64_t before, version;
    int64_t start = now_ms();
    OK(millpond_tasks_job_version(job, &before, &error));
    do {
        CHECK(now_ms() - start < PATIENCE_MS);
        sleep_ms(5);
        OK(millpond_tasks_job_version(job, &version, &error));
    } while (version < before + count);
}

millpond_tasks_result *claim(millpond_tasks_store *store, const char *queue) {
    millpond_bytes queues[] = {{queue, strlen(queue)}};
    millpond_tasks_result *result;
    millpond_error *error;
    OK(millpond_tasks_claim(store, queues, 1, 60000, 1, 0, &result, &error));
    return result;
}

const millpond_task *task_of(const millpond_tasks_result *result) {
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    CHECK(data != NULL && data->task_count == 1);
    return data->tasks;
}

uint64_t size_of(millpond_tasks_store *store, const char *queue) {
    millpond_bytes exact = {queue, strlen(queue)};
    millpond_tasks_filter filter;
    millpond_tasks_result *result;
    millpond_error *error;
    millpond_tasks_filter_init(&filter, sizeof filter);
    filter.exact = &exact;
    filter.exact_count = 1;
    OK(millpond_tasks_queue_stats(store, &filter, &result, &error));
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    uint64_t size = data->queue_count == 1 ? data->queues->size : 0;
    millpond_tasks_result_free(result);
    return size;
}

bool is(millpond_bytes text, const char *expected) {
    if (expected == NULL)
        return text.data == NULL && text.length == 0;
    return text.data != NULL && text.length == strlen(expected) &&
           memcmp(text.data, expected, text.length) == 0;
}
