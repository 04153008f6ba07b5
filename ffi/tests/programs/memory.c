/* Nothing grows with the number of calls: a million of them, and the process is as large as before. */

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 1000000, CALLS_PER_TURN = 25, MEMBERS = 10, GROWTH_KIB_MAX = 4096 };

static long resident_kib(void) {
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Eight calls, an error and a few handles among them. */
static void use(millpond_client *client, int turn) {
    static char names[MEMBERS][24];
    millpond_ick_pair pairs[MEMBERS];
    millpond_bytes members[MEMBERS];
    millpond_ick_pair nan_pair = {S("x"), NAN, false};
    millpond_ick_entries *entries;
    millpond_ick_batches *batches;
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
    OK(millpond_ick_batches_new(client, S("memory"), MEMBERS, 0, &batches, &error));
    OK(millpond_ick_batches_next(batches, &entries, &error));
    CHECK(millpond_ick_entries_length(entries) == MEMBERS / 2);
    millpond_ick_entries_free(entries);
    OK(millpond_ick_batches_commit(batches, &committed, &error));
    millpond_ick_batches_free(batches);
}

/* As many of a shuffle queue. */
static void use_shuffle(millpond_client *client) {
    millpond_shuffle_field fields[] = {{S("task"), S("resize")}, {S("image"), S("a.png")}};
    millpond_shuffle_new_message messages[] = {{sizeof *messages, S("t"), fields, 2}, {sizeof *messages, S("u"), fields, 1}};
    millpond_shuffle_receipt receipts[4];
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_messages *loop;
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
    OK(millpond_shuffle_messages_new(consumer, 2, 0, &loop, &error));
    OK(millpond_shuffle_messages_next(loop, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 2);
    millpond_shuffle_batch_free(batch);
    millpond_shuffle_messages_free(loop);
    OK(millpond_shuffle_read(consumer, 2, 0, &batch, &error));
    CHECK(millpond_shuffle_batch_length(batch) == 1);
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
    millpond_new_task tasks[3];
    millpond_new_doc doc;
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = tasks,
                                                .insert_count = 3, .doc_inserts = &doc,
                                                .doc_insert_count = 1};
    millpond_tasks_store *store;
    millpond_tasks_result *result;
    millpond_tasks_worker *worker;
    millpond_tasks_run *run;
    millpond_tasks_job *job;
    millpond_tasks_report *report;
    millpond_error *error;

    for (int i = 0; i < 3; i++) {
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
    OK(millpond_tasks_worker_new(store, &queue, 1, NULL, &worker, &error));
    OK(millpond_tasks_worker_start(worker, true, true, &run, &error));
    while (OK(millpond_tasks_run_next(run, &job, &report, &error)), job != NULL || report != NULL) {
        if (job != NULL)
            OK(millpond_tasks_run_end(run, job, NULL, &error));
        millpond_tasks_job_free(job);
        millpond_tasks_report_free(report);
    }
    millpond_tasks_run_free(run);
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(store);
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
    }
    long after = resident_kib();
    printf("%d calls: %ld KiB before, %ld KiB after\n", CALLS, before, after);
    CHECK(after - before < GROWTH_KIB_MAX);
    millpond_client_free(client);
    return 0;
}
