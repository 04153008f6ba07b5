/* Nothing grows with the number of calls: a million of them, and the process is as large as before. */

#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 1000000, CALLS_PER_TURN = 100, MEMBERS = 10, GROWTH_KIB_MAX = 1024 };

static long resident_kib(void) {
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Calls of an Ick, an error and a few handles among them. */
static void use(millpond_client *client, int turn) {
    static char names[MEMBERS][24];
    millpond_ick_pair pairs[MEMBERS];
    millpond_bytes members[MEMBERS];
    millpond_ick_pair nan_pair = {S("x"), NAN, false};
    millpond_ick_entries *entries;
    millpond_ick_stats stats = {.size = sizeof stats};
    millpond_error *error;
    uint64_t committed;

    for (int i = 0; i < MEMBERS; i++) {
        size_t length = (size_t)snprintf(names[i], sizeof names[i], "%d-%d", turn, i);
        pairs[i] = (millpond_ick_pair){names[i], length, turn, false};
        members[i] = (millpond_bytes){names[i], length};
    }
    OK(millpond_ick_add(client, S("memory"), pairs, MEMBERS, NULL, &error));
    OK(millpond_ick_reserve(client, S("memory"), MEMBERS, false, &entries, &error));
    CHECK(millpond_ick_entries_length(entries) == MEMBERS);
    millpond_ick_entries_free(entries);
    FAILS(MILLPOND_INVALID_ARGUMENT, "NaN",
          millpond_ick_add(client, S("memory"), &nan_pair, 1, NULL, &error));
    OK(millpond_ick_stats_read(client, S("memory"), &stats, &error));
    OK(millpond_ick_commit(client, S("memory"), members, MEMBERS / 2, &committed, &error));
    OK(millpond_ick_commit(client, S("memory"), members + MEMBERS / 2, MEMBERS / 2, &committed, &error));
}

/* And of a shuffle queue. */
static void use_shuffle(millpond_client *client) {
    millpond_shuffle_field fields[] = {{S("task"), S("resize")}, {S("image"), S("a.png")}};
    millpond_shuffle_new_message messages[] = {{sizeof *messages, S("t"), fields, 2}, {sizeof *messages, S("u"), fields, 1}};
    millpond_shuffle_receipt receipts[4];
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_batch *batch;
    millpond_shuffle_stats *stats;
    millpond_error *error;
    uint64_t acknowledged;

    OK(millpond_shuffle_queue_new(client, S("memory shuffle"), NULL, &queue, &error));
    OK(millpond_shuffle_consumer_new(queue, S("g"), S("c"), NULL, &consumer, &error));
    OK(millpond_shuffle_write_many(queue, messages, 2, receipts, &error));
    OK(millpond_shuffle_write_tracked(queue, S("t"), fields, 2, S("image"), 0, &receipts[2], &error));
    OK(millpond_shuffle_write_tracked(queue, S("t"), fields, 2, S("image"), 0, &receipts[3], &error));
    OK(millpond_shuffle_delete_tracked(queue, S("a.png"), NULL, NULL, &error));
    OK(millpond_shuffle_read(consumer, 3, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 3);
    millpond_shuffle_batch_free(batch);
    OK(millpond_shuffle_stats_read(queue, S("g"), &stats, &error));
    CHECK(millpond_shuffle_stats_total(stats)->pending == 3);
    millpond_shuffle_stats_free(stats);
    OK(millpond_shuffle_ack_and_delete(consumer, receipts, 4, &acknowledged, &error));
    CHECK(acknowledged == 3);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
}

/* And of tasks. */
static void use_tasks(millpond_client *client) {
    millpond_bytes queue = {S("q")};
    millpond_new_task tasks[2];
    millpond_new_doc doc;
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = tasks,
                                                .insert_count = 2, .doc_inserts = &doc,
                                                .doc_insert_count = 1};
    millpond_tasks_store *store;
    millpond_tasks_result *result;
    millpond_error *error;

    for (int i = 0; i < 2; i++) {
        millpond_new_task_init(&tasks[i], sizeof tasks[i]);
        tasks[i].queue = queue;
        tasks[i].value = (millpond_bytes){S("[1, 2, 3]")};
    }
    millpond_new_doc_init(&doc, sizeof doc);
    doc.namespace_name = doc.key = queue;
    OK(millpond_tasks_store_new(client, S("memory tasks"), NULL, 0, &store, &error));
    OK(millpond_tasks_modify(store, &modification, &result, &error));
    const millpond_doc *made = millpond_tasks_result_data(result)->docs;
    millpond_doc_id gone = {made->namespace_name, made->id, made->version};
    modification = (millpond_tasks_modification){.size = sizeof modification, .doc_deletes = &gone,
                                                 .doc_delete_count = 1};
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    CHECK(millpond_tasks_modify(store, &modification, NULL, &error) == MILLPOND_DEPENDENCY);
    CHECK(millpond_error_dependency(error)->doc_delete_count == 1);
    millpond_error_free(error);
    millpond_tasks_result_free(result);
    OK(millpond_tasks_claim(store, &queue, 1, MILLPOND_NOT_SET, 2, 0, &result, &error));
    millpond_task_id done[2];
    for (int i = 0; i < 2; i++) {
        const millpond_task *task = &millpond_tasks_result_data(result)->tasks[i];
        done[i] = (millpond_task_id){task->id, task->version};
    }
    modification = (millpond_tasks_modification){.size = sizeof modification, .deletes = done,
                                                 .delete_count = 2};
    OK(millpond_tasks_modify(store, &modification, NULL, &error));
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
}

/* A slice of a recruiter, and an enlistment without one. */
static void use_recruiter(millpond_client *client) {
    millpond_recruiter_slice *slice, *none;
    millpond_recruiter_result *result;
    millpond_recruiter *recruiter;
    millpond_new_job job;
    millpond_error *error;

    millpond_new_job_init(&job, sizeof job);
    job.id = (millpond_bytes){S("job")};
    job.share = 1;
    OK(millpond_recruiter_new(client, S("memory recruiter"), &recruiter, &error));
    OK(millpond_recruiter_set_duty_max(recruiter, 1, &error));
    OK(millpond_recruiter_install(recruiter, &job, &error));
    OK(millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, NULL, &slice, NULL, &error));
    OK(millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, NULL, &none, NULL, &error));
    CHECK(slice != NULL && none == NULL);
    OK(millpond_recruiter_slice_end(slice, 1, NULL, &error));
    millpond_recruiter_slice_free(slice);
    OK(millpond_recruiter_stats(recruiter, &result, &error));
    millpond_recruiter_result_free(result);
    millpond_recruiter_free(recruiter);
}

/* An id through the halves of a scan and of a prune. */
static void use_tracker(millpond_client *client) {
    millpond_bytes row = {S("1")}, id = {S("ann")};
    millpond_tracker_result *begun, *scanned, *page, *sample, *pruned;
    millpond_tracker *tracker;
    millpond_error *error;

    OK(millpond_tracker_new(client, S("memory tracker"), &tracker, &error));
    OK(millpond_tracker_begin_scan(tracker, 2, 0, &begun, &error));
    OK(millpond_tracker_advance(tracker, S(""), &row, 1, &id, 1, 2, 0, &scanned, &error));
    CHECK(millpond_tracker_result_data(scanned)->scanned->added == 1);
    OK(millpond_tracker_ids(tracker, 0, 1, &page, &error));
    OK(millpond_tracker_sample(tracker, 1, &sample, &error));
    const millpond_tracker_data *data = millpond_tracker_result_data(sample);
    OK(millpond_tracker_remove(tracker, &id, 1, data->ids, data->id_count, data->stamp, &pruned, &error));
    CHECK(millpond_tracker_result_data(pruned)->pruned->removed == 1);
    millpond_tracker_result_free(begun);
    millpond_tracker_result_free(scanned);
    millpond_tracker_result_free(page);
    millpond_tracker_result_free(sample);
    millpond_tracker_result_free(pruned);
    millpond_tracker_free(tracker);
}

/* An item through every loop and every call that waits. */
static void use_every_loop(millpond_client *client) {
    EVERY_LOOP(row) {
        struct use use = {.client = client, .name = "loop"};
        millpond_error *error;
        row->queue->open(&use);
        OK(row->open(&use, &error));
        OK(row->queue->put(&use, "1", MILLPOND_NOT_SET, &error));
        OK(row->take(&use, &error));
        CHECK(row->item(&use).data != NULL);
        row->end(&use);
        OK(row->take(&use, &error));
        CHECK(row->item(&use).data == NULL);
        use.client = NULL;
        free_use(&use);
    }
}

int main(void) {
    struct backend memory = {"memory", "memory:"};
    millpond_client *client = connect_to(&memory);
    long before = 0;
    for (int turn = 0; turn < CALLS / CALLS_PER_TURN * 11 / 10; turn++) {
        if (turn == CALLS / CALLS_PER_TURN / 10)
            before = resident_kib();
        use(client, turn);
        use_shuffle(client);
        use_tasks(client);
        use_recruiter(client);
        use_tracker(client);
        use_every_loop(client);
    }
    long after = resident_kib();
    printf("%d calls: %ld KiB before, %ld KiB after\n", CALLS, before, after);
    CHECK(after - before < GROWTH_KIB_MAX);
    millpond_client_free(client);
    return 0;
}
