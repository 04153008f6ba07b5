#include "task_values.h"

#include "shuffle_values.h"

#include <errno.h>
#include <stdlib.h>

bool is_given(json_t *of, const char *name) {
    json_t *value = json_object_get(of, name);
    return value != NULL && !json_is_null(value);
}

millpond_bytes text(struct request *request, json_t *of, const char *name) {
    millpond_bytes none = {NULL, 0};
    return is_given(of, name) ? bytes(request, json_object_get(of, name)) : none;
}

millpond_bytes *texts(struct request *request, json_t *of, const char *name, size_t *count) {
    json_t *list = json_object_get(of, name), *item;
    size_t i;
    *count = json_array_size(list);
    if (is_given(of, name) && !json_is_array(list))
        return unsupported(request, "texts that are no list");
    millpond_bytes *found = allocate(request, *count, sizeof *found);
    json_array_foreach(list, i, item) found[i] = bytes(request, item);
    return found;
}

int64_t whole(struct request *request, json_t *of, const char *name) {
    json_t *value = json_object_get(of, name);
    const char *digits = json_string_value(json_object_get(value, "int"));
    int64_t number = json_integer_value(value);
    if (!is_given(of, name))
        return MILLPOND_NOT_SET;
    errno = 0;
    if (digits != NULL)
        number = strtoll(digits, NULL, 10);
    if ((digits == NULL && !json_is_integer(value)) || errno != 0)
        unsupported(request, "a number that is no int64_t");
    return number;
}

int64_t wait_of(struct request *request, json_t *of, const char *name) {
    int64_t number = whole(request, of, name);
    return number == MILLPOND_NOT_SET ? 0 : number;
}

uint64_t count(struct request *request, json_t *of, const char *name) {
    int64_t number = whole(request, of, name);
    if (number == MILLPOND_NOT_SET)
        return 0;
    if (number < 0)
        unsupported(request, "a count that is no uint64_t");
    return (uint64_t)number;
}

bool is_true(json_t *of, const char *name) {
    return json_is_true(json_object_get(of, name));
}

millpond_tasks_store *store_of(struct request *request) {
    millpond_bytes name = text(request, request->on, "name");
    millpond_bytes claimant = text(request, request->on, "claimant");
    millpond_tasks_store *store = NULL;
    if (request->unsupported == NULL)
        millpond_tasks_store_new(client, name.data, name.length, claimant.data, claimant.length,
                                 &store, &request->error);
    return store;
}

millpond_task_id *task_ids(struct request *request, json_t *of, const char *name, size_t *length) {
    json_t *list = json_object_get(of, name), *item;
    size_t i;
    *length = json_array_size(list);
    millpond_task_id *found = allocate(request, *length, sizeof *found);
    json_array_foreach(list, i, item) {
        found[i].id = text(request, item, "id");
        found[i].version = count(request, item, "version");
    }
    return found;
}

static millpond_doc_id doc_id(struct request *request, json_t *of) {
    millpond_doc_id id = {text(request, of, "namespace"), text(request, of, "id"),
                          count(request, of, "version")};
    return id;
}

millpond_doc_id *doc_ids(struct request *request, json_t *of, const char *name, size_t *length) {
    json_t *list = json_object_get(of, name), *item;
    size_t i;
    *length = json_array_size(list);
    millpond_doc_id *found = allocate(request, *length, sizeof *found);
    json_array_foreach(list, i, item) found[i] = doc_id(request, item);
    return found;
}

millpond_bytes headers(struct request *request, json_t *of) {
    json_t *pairs = json_object_get(of, "headers");
    if (pairs == NULL)
        return (millpond_bytes){NULL, 0};
    size_t count, size = 1, length = 0;
    millpond_shuffle_field *list = fields(request, pairs, &count);
    for (size_t i = 0; i < count; i++)
        size += 4 + list[i].field_length + list[i].value_length;
    char *piece = allocate(request, size, 1);
    for (size_t i = 0; i < count; i++)
        length = millpond_headers_add(piece, length, size, list[i].field, list[i].field_length,
                                      list[i].value, list[i].value_length);
    free(list);
    return (millpond_bytes){piece, length};
}

static void read_new_task(struct request *request, json_t *of, millpond_new_task *task) {
    millpond_new_task_init(task, sizeof *task);
    task->queue = text(request, of, "queue");
    task->id = text(request, of, "id");
    task->value = text(request, of, "value");
    task->err = text(request, of, "err");
    task->at_ms = whole(request, of, "at_ms");
    task->delay_ms = whole(request, of, "after_ms");
    task->ttl_ms = whole(request, of, "ttl_ms");
    task->dedup_window_ms = whole(request, of, "dedup_window_ms");
    task->attempt = count(request, of, "attempt");
    task->priority = count(request, of, "priority");
    task->skip_colliding = is_true(of, "skip_colliding");
    task->headers = headers(request, of);
}

/* A change of a task besides a retry. */
static void read_set(struct request *request, json_t *set, millpond_task_change *change) {
    if (is_given(set, "queue"))
        change->queue = text(request, set, "queue");
    if (is_given(set, "value") || is_true(set, "no_value"))
        change->value = text(request, set, "value");
    if (is_given(set, "attempt"))
        change->attempt = count(request, set, "attempt");
    if (is_given(set, "err"))
        change->err = text(request, set, "err");
    change->headers = headers(request, set);
    change->at_ms = whole(request, set, "at_ms");
    change->delay_ms = whole(request, set, "after_ms");
    bool sets_the_same =
        is_given(set, "queue") || is_given(set, "attempt") || is_given(set, "err");
    if (change->retry && sets_the_same)
        unsupported(request, "a change of what a retry sets");
}

static void read_change(struct request *request, json_t *of, millpond_task_change *change) {
    json_t *task = json_object_get(of, "task");
    json_t *or_quarantine = json_object_get(of, "retry_or_quarantine");
    json_t *quarantine = json_object_get(of, "quarantine");
    millpond_task before = {.id = text(request, task, "id"),
                            .queue = text(request, task, "queue"),
                            .value = text(request, task, "value"),
                            .err = text(request, task, "err"),
                            .version = count(request, task, "version"),
                            .attempt = count(request, task, "attempt")};
    millpond_task_change_init(change, sizeof *change, &before);
    if (is_given(of, "retry")) {
        change->retry = true;
        change->retry_err = text(request, of, "retry");
    }
    if (json_is_array(or_quarantine)) {
        change->retry = true;
        change->retry_err = bytes(request, json_array_get(or_quarantine, 0));
        change->quarantine_queue = bytes(request, json_array_get(or_quarantine, 1));
        change->quarantine_attempts =
            (uint64_t)json_integer_value(json_array_get(or_quarantine, 2));
    }
    if (json_is_array(quarantine)) {
        change->retry = true;
        change->retry_err = bytes(request, json_array_get(quarantine, 0));
        change->quarantine_queue = bytes(request, json_array_get(quarantine, 1));
        change->quarantine_attempts = 1;
    }
    read_set(request, json_object_get(of, "set"), change);
}

void read_new_doc(struct request *request, json_t *of, millpond_new_doc *doc) {
    millpond_new_doc_init(doc, sizeof *doc);
    doc->namespace_name = text(request, of, "namespace");
    doc->key = text(request, of, "key");
    doc->id = text(request, of, "id");
    doc->secondary_key = text(request, of, "secondary_key");
    doc->content = text(request, of, "content");
    doc->skip_colliding = is_true(of, "skip_colliding");
}

static void read_doc_change(struct request *request, json_t *of, millpond_doc_change *change) {
    json_t *set = json_object_get(of, "set");
    millpond_doc_change_init(change, sizeof *change, NULL);
    change->doc = doc_id(request, json_object_get(of, "doc"));
    change->content = text(request, set, "content");
    change->at_ms = whole(request, set, "at_ms");
    change->delay_ms = is_true(set, "release") ? 0 : whole(request, set, "after_ms");
}

millpond_tasks_modification modification(struct request *request, json_t *of) {
    millpond_tasks_modification found = {.size = sizeof found};
    json_t *list, *item;
    size_t i;

    list = json_object_get(of, "inserts");
    found.insert_count = json_array_size(list);
    millpond_new_task *tasks = allocate(request, found.insert_count, sizeof *tasks);
    json_array_foreach(list, i, item) read_new_task(request, item, &tasks[i]);
    found.inserts = tasks;
    list = json_object_get(of, "changes");
    found.change_count = json_array_size(list);
    millpond_task_change *changes = allocate(request, found.change_count, sizeof *changes);
    json_array_foreach(list, i, item) read_change(request, item, &changes[i]);
    found.changes = changes;
    found.deletes = task_ids(request, of, "deletes", &found.delete_count);
    found.depends = task_ids(request, of, "depends", &found.depend_count);

    list = json_object_get(of, "doc_inserts");
    found.doc_insert_count = json_array_size(list);
    millpond_new_doc *docs = allocate(request, found.doc_insert_count, sizeof *docs);
    json_array_foreach(list, i, item) read_new_doc(request, item, &docs[i]);
    found.doc_inserts = docs;
    list = json_object_get(of, "doc_puts");
    found.doc_put_count = json_array_size(list);
    docs = allocate(request, found.doc_put_count, sizeof *docs);
    json_array_foreach(list, i, item) read_new_doc(request, item, &docs[i]);
    found.doc_puts = docs;
    list = json_object_get(of, "doc_changes");
    found.doc_change_count = json_array_size(list);
    millpond_doc_change *doc_changes =
        allocate(request, found.doc_change_count, sizeof *doc_changes);
    json_array_foreach(list, i, item) read_doc_change(request, item, &doc_changes[i]);
    found.doc_changes = doc_changes;
    found.doc_deletes = doc_ids(request, of, "doc_deletes", &found.doc_delete_count);
    found.doc_depends = doc_ids(request, of, "doc_depends", &found.doc_depend_count);
    return found;
}

json_t *json_text(millpond_bytes text) {
    return text.data == NULL ? json_null() : json_bytes(text.data, text.length);
}

static json_t *json_number(uint64_t number) {
    return json_integer((json_int_t)number);
}

json_t *json_headers(millpond_bytes rest) {
    json_t *list = json_array();
    millpond_bytes name, value;
    while (millpond_headers_next(&rest, &name, &value))
        json_array_append_new(list,
                              json_pack("[o,o]", json_text(name), json_bytes(value.data, value.length)));
    return list;
}

json_t *json_task(const millpond_task *task) {
    json_t *expires = json_null();
    if (task->expires_ms != MILLPOND_NOT_SET)
        expires = json_integer(task->expires_ms);
    json_t *headers = json_headers(task->headers);
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "id",
                     json_text(task->id), "version", json_number(task->version), "queue",
                     json_text(task->queue), "at_ms", json_number(task->at_ms), "created_ms",
                     json_number(task->created_ms), "modified_ms", json_number(task->modified_ms),
                     "claimant", json_text(task->claimant), "claims", json_number(task->claims),
                     "attempt", json_number(task->attempt), "err", json_text(task->err), "value",
                     json_text(task->value), "priority", json_number(task->priority),
                     "expires_ms", expires, "headers", headers);
}

json_t *json_tasks(const millpond_tasks_result *result, size_t begin, size_t end) {
    json_t *list = json_array();
    for (size_t i = begin; i < end; i++)
        json_array_append_new(list, json_task(millpond_tasks_result_task(result, i)));
    return list;
}

json_t *json_docs(const millpond_tasks_result *result, size_t begin, size_t end) {
    json_t *list = json_array();
    for (size_t i = begin; i < end; i++) {
        const millpond_doc *doc = millpond_tasks_result_doc(result, i);
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "namespace",
                            json_text(doc->namespace_name), "id", json_text(doc->id), "version",
                            json_number(doc->version), "key", json_text(doc->key), "secondary_key",
                            json_text(doc->secondary_key), "content", json_text(doc->content),
                            "at_ms", json_number(doc->at_ms), "claimant", json_text(doc->claimant),
                            "created_ms", json_number(doc->created_ms), "modified_ms",
                            json_number(doc->modified_ms)));
    }
    return list;
}

json_t *json_modified(millpond_tasks_result *result) {
    const millpond_tasks_data *data = millpond_tasks_result_data(result);
    if (data == NULL)
        return NULL;
    size_t inserted = data->inserted_count, inserted_docs = data->inserted_doc_count;
    json_t *json = json_pack(
        "{s:o,s:o,s:o,s:o}", "inserted", json_tasks(result, 0, inserted), "changed",
        json_tasks(result, inserted, data->task_count), "inserted_docs",
        json_docs(result, 0, inserted_docs), "changed_docs",
        json_docs(result, inserted_docs, data->doc_count));
    millpond_tasks_result_free(result);
    return json;
}

static json_t *json_task_ids(const millpond_task_id *id, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_pack("[o,o]", json_text(id[i].id), json_number(id[i].version)));
    return list;
}

static json_t *json_doc_ids(const millpond_doc_id *id, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("[o,o,o]", json_text(id[i].namespace_name),
                                              json_text(id[i].id), json_number(id[i].version)));
    return list;
}

json_t *json_dependency(const millpond_tasks_dependency *of) {
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "inserts",
                     json_task_ids(of->inserts, of->insert_count), "changes",
                     json_task_ids(of->changes, of->change_count), "deletes",
                     json_task_ids(of->deletes, of->delete_count), "depends",
                     json_task_ids(of->depends, of->depend_count), "claims",
                     json_task_ids(of->claims, of->claim_count), "doc_inserts",
                     json_doc_ids(of->doc_inserts, of->doc_insert_count), "doc_changes",
                     json_doc_ids(of->doc_changes, of->doc_change_count), "doc_deletes",
                     json_doc_ids(of->doc_deletes, of->doc_delete_count), "doc_depends",
                     json_doc_ids(of->doc_depends, of->doc_depend_count), "doc_claims",
                     json_doc_ids(of->doc_claims, of->doc_claim_count));
}
