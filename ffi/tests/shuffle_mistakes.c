/* Wrong calls on the shuffle queue return an error, and nothing else happens. */

#include "shuffle.h"

#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)

static void null_and_lengths(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "wrong"), *other = (void *)1;
    millpond_shuffle_consumer *consumer = consumer_of(queue, "g", "c"), *second = (void *)1;
    millpond_shuffle_batch *batch = (void *)1;
    millpond_shuffle_messages *messages;
    millpond_keys *keys;
    millpond_error *error;
    millpond_shuffle_field fields[] = {{S("a"), S("1")}, {NULL, 3, S("1")}, {S("a"), NULL, 3}};
    millpond_shuffle_new_message many[] = {{sizeof *many, S("t"), fields, 1}, {sizeof *many, NULL, 3, fields, 1}};
    millpond_shuffle_receipt receipts[] = {{0, 1, 0}, {-2, 1, 0}}, receipt;
    uint32_t number;
    uint64_t len;

    WRONG("queue is NULL; it must point to where",
          millpond_shuffle_queue_new(client, S("x"), NULL, NULL, &error));
    WRONG("name is NULL, but its length is 1",
          millpond_shuffle_queue_new(client, NULL, 1, NULL, &other, &error));
    CHECK(other == NULL);
    WRONG("options is", millpond_shuffle_queue_new(client, S("x"), (void *)((char *)fields + 1),
                                                   &other, &error));
    WRONG("made is NULL", millpond_shuffle_consumer_new(queue, S("g"), S("c"), NULL, NULL, &error));
    WRONG("group is NULL",
          millpond_shuffle_consumer_new(queue, NULL, 1, S("c"), NULL, &second, &error));
    WRONG("consumer is NULL",
          millpond_shuffle_consumer_new(queue, S("g"), NULL, 1, NULL, &second, &error));
    CHECK(second == NULL);
    millpond_shuffle_options_init(NULL, 8);
    millpond_shuffle_consumer_options_init(NULL, 8);

    WRONG("shard_key is NULL", millpond_shuffle_write(queue, NULL, 1, fields, 1, NULL, &error));
    WRONG("fields is NULL", millpond_shuffle_write(queue, S("t"), NULL, 1, NULL, &error));
    WRONG("fields[1].field is NULL",
          millpond_shuffle_write(queue, S("t"), fields, 2, &receipt, &error));
    CHECK(receipt.id_time_ms == 0);
    WRONG("fields[0].value is NULL",
          millpond_shuffle_write(queue, S("t"), fields + 2, 1, NULL, &error));
    WRONG("fields has the length",
          millpond_shuffle_write(queue, S("t"), fields, SIZE_MAX / 8, NULL, &error));
    WRONG("not aligned", millpond_shuffle_write(queue, S("t"), (void *)((char *)fields + 1), 1,
                                                NULL, &error));
    WRONG("the shard key is empty", millpond_shuffle_write(queue, NULL, 0, fields, 1, NULL, &error));
    WRONG("message 0 has 0 fields", millpond_shuffle_write(queue, S("t"), NULL, 0, NULL, &error));
    receipt.id_time_ms = 7;
    WRONG("messages is NULL", millpond_shuffle_write_many(queue, NULL, 1, &receipt, &error));
    CHECK(receipt.id_time_ms == 0);
    WRONG("messages has the length",
          millpond_shuffle_write_many(queue, many, SIZE_MAX / 8, &receipt, &error));
    WRONG("messages[1].shard_key is NULL",
          millpond_shuffle_write_many(queue, many, 2, NULL, &error));
    many[1] = (millpond_shuffle_new_message){sizeof *many, S("t"), fields, 2};
    WRONG("messages[1].fields[1].field is NULL",
          millpond_shuffle_write_many(queue, many, 2, NULL, &error));
    many[1] = (millpond_shuffle_new_message){sizeof *many, S("t"), NULL, 2};
    WRONG("messages[1].fields is NULL", millpond_shuffle_write_many(queue, many, 2, NULL, &error));
    WRONG("track_field is NULL",
          millpond_shuffle_write_tracked(queue, S("t"), fields, 1, NULL, 1, 0, NULL, &error));
    WRONG("fields[1].field is NULL",
          millpond_shuffle_write_tracked(queue, S("t"), fields, 2, S("a"), 0, NULL, &error));
    WRONG("value is NULL", millpond_shuffle_delete_tracked(queue, NULL, 1, NULL, NULL, &error));
    WRONG("keys is NULL", millpond_shuffle_cordon_deadline_exceeded(queue, 1, NULL, &error));
    WRONG("garbage is NULL", millpond_shuffle_garbage_new(queue, MILLPOND_NOT_SET, NULL, &error));

    WRONG("numbers is NULL", millpond_shuffle_shard(1, 1, S("t"), NULL, &error));
    WRONG("shard_key is NULL", millpond_shuffle_shard(1, 1, NULL, 1, &number, &error));
    WRONG("len is NULL", millpond_shuffle_len(queue, NULL, &error));
    WRONG("backlog is NULL", millpond_shuffle_backlog(queue, NULL, &error));
    WRONG("pending is NULL", millpond_shuffle_pending_count(queue, S("g"), NULL, &error));
    WRONG("group is NULL", millpond_shuffle_pending_count(queue, NULL, 1, &len, &error));
    WRONG("the group's name is empty",
          millpond_shuffle_pending_count(queue, NULL, 0, &len, &error));
    WRONG("stats is NULL", millpond_shuffle_stats_read(queue, S("g"), NULL, &error));
    WRONG("dead_letters is NULL", millpond_shuffle_dead_letters_read(queue, 1, NULL, &error));
    WRONG("batch is NULL", millpond_shuffle_read(consumer, 1, 0, NULL, &error));
    WRONG("1 to 10000 messages, not 0", millpond_shuffle_read(consumer, 0, 0, &batch, &error));
    CHECK(batch == NULL);
    WRONG("messages is NULL", millpond_shuffle_ack(consumer, NULL, 1, NULL, &error));
    WRONG("messages[1].stream is -2", millpond_shuffle_ack(consumer, receipts, 2, NULL, &error));
    WRONG("messages[1].stream is -2",
          millpond_shuffle_ack_and_delete(consumer, receipts, 2, NULL, &error));
    WRONG("messages[1].stream is -2", millpond_shuffle_extend(consumer, receipts, 2, NULL, &error));
    WRONG("batch is NULL", millpond_shuffle_reclaim(consumer, 1, 1, NULL, NULL, &error));
    WRONG("over 100 years", millpond_shuffle_reclaim(consumer, UINT64_MAX, 1, &batch, NULL, &error));
    WRONG("messages is NULL", millpond_shuffle_messages_new(consumer, 1, 0, NULL, &error));
    OK(millpond_shuffle_messages_new(consumer, 1, 0, &messages, &error));
    WRONG("batch is NULL", millpond_shuffle_messages_next(messages, NULL, &error));
    millpond_shuffle_messages_free(messages);
    WRONG("keys is NULL", millpond_shuffle_keys(S("x"), NULL, &error));
    WRONG("the name is empty", millpond_shuffle_keys(NULL, 0, &keys, &error));
    WRONG("track_keys is 0",
          millpond_shuffle_tracking_keys(S("x"), 0, &keys, &error));

    /* Nothing of it was done. */
    OK(millpond_shuffle_len(queue, &len, &error));
    CHECK(len == 0);
    millpond_shuffle_consumer_free(consumer);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void never(millpond_shuffle_job *job, millpond_task_outcome *outcome, void *context) {
    (void)job, (void)outcome, (void)context;
    CHECK(!"there is a job");
}

/* Every function that takes a handle, with one of another kind. */
static void with_every_handle(void *handle, const char *says) {
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_batch *batch;
    millpond_shuffle_messages *messages;
    millpond_shuffle_stats *stats;
    millpond_shuffle_dead_letters *letters;
    millpond_shuffle_garbage *garbage;
    millpond_keys *values;
    millpond_shuffle_worker *worker;
    millpond_shuffle_run *run;
    millpond_shuffle_job *job;
    millpond_shuffle_report *report;
    millpond_error *error;
    uint64_t number;
    int64_t left_ms;
    bool lost = false;

    WRONG(says, millpond_shuffle_queue_new(handle, S("x"), NULL, &queue, &error));
    WRONG(says, millpond_shuffle_len(handle, &number, &error));
    WRONG(says, millpond_shuffle_backlog(handle, &number, &error));
    WRONG(says, millpond_shuffle_pending_count(handle, S("g"), &number, &error));
    WRONG(says, millpond_shuffle_write(handle, S("t"), NULL, 0, NULL, &error));
    WRONG(says, millpond_shuffle_write_many(handle, NULL, 0, NULL, &error));
    WRONG(says, millpond_shuffle_write_tracked(handle, S("t"), NULL, 0, S("f"), 0, NULL, &error));
    WRONG(says, millpond_shuffle_delete_tracked(handle, S("v"), NULL, NULL, &error));
    WRONG(says, millpond_shuffle_cordon_deadline_exceeded(handle, 1, &values, &error));
    WRONG(says, millpond_shuffle_garbage_new(handle, MILLPOND_NOT_SET, &garbage, &error));
    WRONG(says, millpond_shuffle_garbage_next(handle, &values, &error));
    WRONG(says, millpond_shuffle_garbage_counts(handle, NULL, NULL, &error));
    WRONG(says, millpond_shuffle_stats_read(handle, S("g"), &stats, &error));
    WRONG(says, millpond_shuffle_dead_letters_read(handle, 1, &letters, &error));
    WRONG(says, millpond_shuffle_consumer_new(handle, S("g"), S("c"), NULL, &consumer, &error));
    WRONG(says, millpond_shuffle_read(handle, 1, 0, &batch, &error));
    WRONG(says, millpond_shuffle_ack(handle, NULL, 0, NULL, &error));
    WRONG(says, millpond_shuffle_ack_and_delete(handle, NULL, 0, NULL, &error));
    WRONG(says, millpond_shuffle_extend(handle, NULL, 0, NULL, &error));
    WRONG(says, millpond_shuffle_reclaim(handle, 0, 1, &batch, NULL, &error));
    WRONG(says, millpond_shuffle_messages_new(handle, 1, 0, &messages, &error));
    WRONG(says, millpond_shuffle_messages_next(handle, &batch, &error));
    WRONG(says, millpond_shuffle_worker_new(handle, NULL, &worker, &error));
    WRONG(says, millpond_shuffle_worker_start(handle, false, false, &run, &error));
    WRONG(says, millpond_shuffle_worker_run(handle, never, NULL, NULL, NULL, &error));
    WRONG(says, millpond_shuffle_worker_drain(handle, never, NULL, NULL, NULL, &error));
    WRONG(says, millpond_shuffle_worker_stop(handle, 0, &error));
    WRONG(says, millpond_shuffle_run_next(handle, &job, &report, &error));
    WRONG(says, millpond_shuffle_run_end(handle, handle, NULL, &error));
    WRONG(says, millpond_shuffle_job_is_lost(handle, &lost, &error));
    WRONG(says, millpond_shuffle_job_time_left_ms(handle, &left_ms, &error));
    CHECK(lost && left_ms == -1 && millpond_shuffle_job_data(handle) == NULL);
    CHECK(millpond_shuffle_report_data(handle) == NULL);
    CHECK(millpond_shuffle_batch_messages(handle) == NULL);
    CHECK(millpond_shuffle_batch_length(handle) == 0);
    CHECK(millpond_shuffle_batch_fields(handle) == NULL);
    CHECK(millpond_shuffle_batch_fields_length(handle) == 0);
    CHECK(millpond_shuffle_batch_bytes(handle) == NULL);
    CHECK(millpond_shuffle_batch_bytes_length(handle) == 0);
    CHECK(millpond_shuffle_stats_streams(handle) == NULL);
    CHECK(millpond_shuffle_stats_length(handle) == 0);
    CHECK(millpond_shuffle_stats_total(handle) == NULL);
    CHECK(millpond_shuffle_dead_letters_data(handle) == NULL);
    CHECK(millpond_shuffle_dead_letters_length(handle) == 0);
    millpond_shuffle_queue_free(handle);
    millpond_shuffle_consumer_free(handle);
    millpond_shuffle_batch_free(handle);
    millpond_shuffle_messages_free(handle);
    millpond_shuffle_stats_free(handle);
    millpond_shuffle_dead_letters_free(handle);
    millpond_shuffle_garbage_free(handle);
    millpond_shuffle_worker_free(handle);
    millpond_shuffle_run_free(handle);
    millpond_shuffle_job_free(handle);
    millpond_shuffle_report_free(handle);
}

static void handles(const struct backend *backend) {
    millpond_client *client = connect_to(backend), *none;
    millpond_shuffle_queue *queue = queue_of(client, "handles");
    millpond_error *kept, *error;
    int local;

    with_every_handle(NULL, "is NULL");
    with_every_handle(&local, "which is not a handle of Millpond");
    with_every_handle((void *)UINTPTR_MAX, "which is not a handle of Millpond");
    for (uintptr_t bit = 1; bit != 0; bit <<= 1)
        with_every_handle((void *)((uintptr_t)queue ^ bit), "is ");

    /* One of another kind stays what it is, freed by whichever wrong function. */
    CHECK(millpond_connect(S("nonsense"), &none, &kept) == MILLPOND_INVALID_URL);
    with_every_handle(kept, "is a millpond_error, not a millpond_");
    CHECK(millpond_error_code(kept) == MILLPOND_INVALID_URL);
    millpond_error_free(kept);

    void *freed = queue;
    millpond_shuffle_queue_free(queue);
    millpond_shuffle_queue_free(queue);
    with_every_handle(freed, "is a millpond_shuffle_queue that was freed");
    WRONG("client is a millpond_shuffle_queue that was freed", millpond_close(freed, &error));
    millpond_client_free(client);
}

const struct test shuffle_mistake_tests[] = {
    {"shuffle_null_and_lengths", null_and_lengths},
    {"shuffle_handles", handles},
    {NULL, NULL},
};
