/* The calls of a shuffle queue. */

#include "shuffle_values.h"

#include <stdlib.h>

/* Adds the byte strings, which it frees. */
static json_t *json_values(json_t *list, millpond_keys *values) {
    const millpond_bytes *value = millpond_keys_data(values);
    for (size_t i = 0; i < millpond_keys_length(values); i++)
        json_array_append_new(list, json_bytes(value[i].data, value[i].length));
    millpond_keys_free(values);
    return list;
}

static json_t *json_counts(const millpond_shuffle_stream_stats *stats) {
    return json_pack("{s:I,s:I,s:I}", "len", (json_int_t)stats->len, "pending",
                     (json_int_t)stats->pending, "lag", (json_int_t)stats->lag);
}

static json_t *call_write(struct request *request) {
    millpond_bytes key = named(request, "shard_key");
    size_t count;
    millpond_shuffle_field *list = fields(request, value_of(request, "fields"), &count);
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_receipt receipt = {0, 0, 0};
    if (queue != NULL)
        millpond_shuffle_write(queue, key.data, key.length, list, count, &receipt, &request->error);
    millpond_shuffle_queue_free(queue);
    free(list);
    return json_receipt(receipt);
}

static int64_t deadline_of(struct request *request) {
    json_t *deadline = value_of(request, "deadline");
    if (deadline != NULL && !json_is_integer(deadline))
        unsupported(request, "a deadline that is no int64_t");
    return json_integer_value(deadline);
}

static json_t *write_many(struct request *request, bool is_tracked) {
    millpond_bytes track_field = {NULL, 0};
    int64_t deadline_s = 0;
    if (is_tracked) {
        track_field = named(request, "track_field");
        deadline_s = deadline_of(request);
    }
    json_t *list = value_of(request, "messages"), *item, *receipts = json_array();
    size_t i, count = json_array_size(list);
    millpond_shuffle_new_message *messages = calloc(count + 1, sizeof *messages);
    millpond_shuffle_receipt *written = calloc(count + 1, sizeof *written);
    if (!json_is_array(list))
        unsupported(request, "messages that are no list");
    json_array_foreach(list, i, item) {
        millpond_bytes key = bytes(request, json_array_get(item, 0));
        millpond_shuffle_new_message_init(&messages[i], sizeof messages[i]);
        messages[i].shard_key = key.data;
        messages[i].shard_key_length = key.length;
        messages[i].fields = fields(request, json_array_get(item, 1), &messages[i].field_count);
    }
    millpond_shuffle_queue *queue = queue_of(request);
    if (queue != NULL && is_tracked)
        millpond_shuffle_write_tracked_many(queue, messages, count, track_field.data,
                                            track_field.length, deadline_s, written,
                                            &request->error);
    else if (queue != NULL)
        millpond_shuffle_write_many(queue, messages, count, written, &request->error);
    for (i = 0; i < count; i++) {
        json_array_append_new(receipts, json_receipt(written[i]));
        free((void *)messages[i].fields);
    }
    millpond_shuffle_queue_free(queue);
    free(messages);
    free(written);
    return receipts;
}

static json_t *call_write_many(struct request *request) {
    return write_many(request, false);
}

static json_t *call_write_tracked_many(struct request *request) {
    return write_many(request, true);
}

static json_t *call_write_tracked(struct request *request) {
    millpond_bytes key = named(request, "shard_key"), track_field = named(request, "track_field");
    int64_t deadline_s = deadline_of(request);
    size_t count;
    millpond_shuffle_field *list = fields(request, value_of(request, "fields"), &count);
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_receipt receipt = {0, 0, 0};
    if (queue != NULL)
        millpond_shuffle_write_tracked(queue, key.data, key.length, list, count, track_field.data,
                                       track_field.length, deadline_s, &receipt, &request->error);
    millpond_shuffle_queue_free(queue);
    free(list);
    return json_receipt(receipt);
}

static json_t *call_delete_tracked(struct request *request) {
    millpond_bytes value = named(request, "value");
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_receipt receipt;
    bool deleted = false;
    if (queue != NULL)
        millpond_shuffle_delete_tracked(queue, value.data, value.length, &deleted, &receipt,
                                        &request->error);
    millpond_shuffle_queue_free(queue);
    return deleted ? json_receipt(receipt) : json_null();
}

static json_t *call_cordon(struct request *request) {
    uint64_t within_ms = duration_ms(request, "within_ms");
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_keys *values = NULL;
    if (queue != NULL)
        millpond_shuffle_cordon_deadline_exceeded(queue, within_ms, &values, &request->error);
    millpond_shuffle_queue_free(queue);
    return json_values(json_array(), values);
}

static json_t *call_gc(struct request *request) {
    int64_t digits = number(request, value_of(request, "time_digits"));
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_garbage *garbage = NULL;
    millpond_keys *values = NULL;
    json_t *seen = json_array();
    uint64_t scanned = 0, deleted = 0;
    if (queue != NULL)
        millpond_shuffle_garbage_new(queue, digits, &garbage, &request->error);
    if (garbage != NULL) {
        while (millpond_shuffle_garbage_next(garbage, &values, &request->error) == MILLPOND_OK &&
               values != NULL)
            json_values(seen, values);
        millpond_shuffle_garbage_counts(garbage, &scanned, &deleted, NULL);
    }
    millpond_shuffle_garbage_free(garbage);
    millpond_shuffle_queue_free(queue);
    return json_pack("{s:I,s:I,s:o}", "scanned", (json_int_t)scanned, "deleted",
                     (json_int_t)deleted, "seen", seen);
}

static json_t *call_resize(struct request *request) {
    uint64_t streams = size(request, "streams");
    if (streams > UINT32_MAX)
        unsupported(request, "a number of streams that is no uint32_t");
    millpond_shuffle_queue *queue = queue_of(request);
    uint32_t now = 0;
    if (queue != NULL)
        millpond_shuffle_resize(queue, (uint32_t)streams, &now, &request->error);
    millpond_shuffle_queue_free(queue);
    return json_integer(now);
}

static json_t *call_len(struct request *request) {
    millpond_shuffle_queue *queue = queue_of(request);
    uint64_t len = 0;
    if (queue != NULL)
        millpond_shuffle_len(queue, &len, &request->error);
    millpond_shuffle_queue_free(queue);
    return json_integer((json_int_t)len);
}

static json_t *call_backlog(struct request *request) {
    millpond_shuffle_queue *queue = queue_of(request);
    uint64_t backlog = 0;
    if (queue != NULL)
        millpond_shuffle_backlog(queue, &backlog, &request->error);
    millpond_shuffle_queue_free(queue);
    return json_integer((json_int_t)backlog);
}

static json_t *call_pending_count(struct request *request) {
    millpond_bytes group = named(request, "group");
    millpond_shuffle_queue *queue = queue_of(request);
    uint64_t pending = 0;
    if (queue != NULL)
        millpond_shuffle_pending_count(queue, group.data, group.length, &pending, &request->error);
    millpond_shuffle_queue_free(queue);
    return json_integer((json_int_t)pending);
}

static json_t *call_stats(struct request *request) {
    millpond_bytes group = named(request, "group");
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_stats *stats = NULL;
    json_t *json = NULL, *list = json_array();
    if (queue != NULL)
        millpond_shuffle_stats_read(queue, group.data, group.length, &stats, &request->error);
    if (stats != NULL) {
        const millpond_shuffle_stream_stats *stream;
        for (size_t i = 0; (stream = millpond_shuffle_stats_at(stats, i)) != NULL; i++)
            json_array_append_new(list, json_counts(stream));
        json = json_counts(millpond_shuffle_stats_total(stats));
        json_object_set(json, "streams", list);
    }
    json_decref(list);
    millpond_shuffle_stats_free(stats);
    millpond_shuffle_queue_free(queue);
    return json;
}

static json_t *call_dead_letters(struct request *request) {
    uint64_t max = size(request, "max");
    json_t *list = json_array(), *last = value_of(request, "after");
    millpond_shuffle_id after;
    if (last != NULL)
        read_id(request, last, &after.time_ms, &after.sequence);
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_dead_letters *letters = NULL;
    if (queue != NULL && last == NULL)
        millpond_shuffle_dead_letters_read(queue, (size_t)max, &letters, &request->error);
    else if (queue != NULL)
        millpond_shuffle_dead_letters_after(queue, (size_t)max, &after, &letters, &request->error);
    const millpond_shuffle_dead_letter *letter;
    for (size_t i = 0; (letter = millpond_shuffle_dead_letters_at(letters, i)) != NULL; i++)
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:I,s:o,s:o}", "id",
                            json_id(letter->id_time_ms, letter->id_sequence), "group",
                            json_bytes(letter->group, letter->group_length), "consumer",
                            json_bytes(letter->consumer, letter->consumer_length), "deliveries",
                            (json_int_t)letter->message->deliveries, "message",
                            json_message(letter->message), "reason",
                            json_bytes(letter->reason, letter->reason_length)));
    millpond_shuffle_dead_letters_free(letters);
    millpond_shuffle_queue_free(queue);
    return list;
}

/* The ids of the letters of a request; the caller frees them. */
static millpond_shuffle_id *letters_of(struct request *request, size_t *count) {
    json_t *list = value_of(request, "letters"), *item;
    size_t i;
    *count = json_array_size(list);
    millpond_shuffle_id *ids = calloc(*count + 1, sizeof *ids);
    json_array_foreach(list, i, item) read_id(request, item, &ids[i].time_ms, &ids[i].sequence);
    return ids;
}

static json_t *call_delete_dead_letters(struct request *request) {
    size_t count;
    millpond_shuffle_id *ids = letters_of(request, &count);
    millpond_shuffle_queue *queue = queue_of(request);
    uint64_t deleted = 0;
    if (queue != NULL)
        millpond_shuffle_delete_dead_letters(queue, ids, count, &deleted, &request->error);
    millpond_shuffle_queue_free(queue);
    free(ids);
    return json_integer((json_int_t)deleted);
}

static json_t *call_redrive(struct request *request) {
    size_t count;
    millpond_shuffle_id *ids = letters_of(request, &count);
    millpond_shuffle_queue *queue = queue_of(request);
    millpond_shuffle_receipt *receipts = calloc(count + 1, sizeof *receipts);
    if (queue != NULL)
        millpond_shuffle_redrive(queue, ids, count, receipts, &request->error);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, receipts[i].id_time_ms == 0 ? json_null()
                                                                 : json_receipt(receipts[i]));
    millpond_shuffle_queue_free(queue);
    free(receipts);
    free(ids);
    return list;
}

static json_t *call_remove_idle_consumers(struct request *request) {
    uint64_t min_idle_ms = duration_ms(request, "min_idle_ms"), removed = 0;
    millpond_shuffle_queue *queue = queue_of(request);
    if (queue != NULL)
        millpond_shuffle_remove_idle_consumers(queue, min_idle_ms, &removed, &request->error);
    millpond_shuffle_queue_free(queue);
    return json_integer((json_int_t)removed);
}

static json_t *call_shard(struct request *request) {
    /* It is a function, and the first call alone. */
    json_object_update(request->json, request->on);
    millpond_bytes key = named(request, "shard_key");
    uint64_t streams = size(request, "streams"), per_shard = size(request, "streams_per_shard");
    json_t *list = json_array();
    if (streams > UINT32_MAX || per_shard > UINT32_MAX)
        unsupported(request, "a number of streams that is no uint32_t");
    if (request->unsupported != NULL)
        return list;
    uint32_t *numbers = calloc(per_shard <= streams ? per_shard + 1 : 1, sizeof *numbers);
    if (millpond_shuffle_shard((uint32_t)streams, (uint32_t)per_shard, key.data, key.length, numbers,
                               &request->error) == MILLPOND_OK)
        for (uint64_t i = 0; i < per_shard; i++)
            json_array_append_new(list, json_integer(numbers[i]));
    free(numbers);
    return list;
}

static json_t *call_task_stores(struct request *request) {
    millpond_keys *names = NULL;
    millpond_client_task_stores(client, &names, &request->error);
    return json_values(json_array(), names);
}

const struct call shuffle_calls[] = {
    {"task_stores.task_stores", call_task_stores},
    {"shuffle_queue.write", call_write},
    {"shuffle_queue.write_many", call_write_many},
    {"shuffle_queue.write_tracked", call_write_tracked},
    {"shuffle_queue.write_tracked_many", call_write_tracked_many},
    {"shuffle_queue.resize", call_resize},
    {"shuffle_queue.delete_tracked", call_delete_tracked},
    {"shuffle_queue.cordon_deadline_exceeded", call_cordon},
    {"shuffle_queue.gc", call_gc},
    {"shuffle_queue.len", call_len},
    {"shuffle_queue.backlog", call_backlog},
    {"shuffle_queue.pending_count", call_pending_count},
    {"shuffle_queue.stats", call_stats},
    {"shuffle_queue.dead_letters", call_dead_letters},
    {"shuffle_queue.delete_dead_letters", call_delete_dead_letters},
    {"shuffle_queue.redrive", call_redrive},
    {"shuffle_queue.remove_idle_consumers", call_remove_idle_consumers},
    {"shard.shard", call_shard},
    {NULL, NULL},
};
