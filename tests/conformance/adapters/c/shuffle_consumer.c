/* The calls of a consumer of a shuffle queue. */

#include "shuffle_values.h"

#include <stdlib.h>

millpond_shuffle_consumer *consumer_of(struct request *request) {
    millpond_bytes group = named(request, "group"), name = named(request, "consumer");
    millpond_shuffle_consumer *consumer = NULL;
    millpond_shuffle_consumer_options options;
    millpond_shuffle_consumer_options_init(&options, sizeof options);
    options.prefer_stream = number(request, value_of(request, "prefer_stream"));
    if (value_of(request, "max_deliveries") != NULL)
        options.max_deliveries = size(request, "max_deliveries");
    if (value_of(request, "default_stream") != NULL)
        options.default_stream = flag(request, "default_stream");
    millpond_shuffle_queue *queue = queue_of(request);
    if (queue != NULL)
        millpond_shuffle_consumer_new(queue, group.data, group.length, name.data, name.length,
                                      &options, &consumer, &request->error);
    millpond_shuffle_queue_free(queue);
    return consumer;
}

static millpond_shuffle_receipt *receipts(struct request *request, size_t *count) {
    json_t *list = value_of(request, "messages"), *item;
    size_t i;
    *count = json_array_size(list);
    if (!json_is_array(list))
        return unsupported(request, "receipts that are no list");
    millpond_shuffle_receipt *found = calloc(*count + 1, sizeof *found);
    json_array_foreach(list, i, item) {
        json_t *stream = json_object_get(item, "stream");
        if (!json_is_null(stream) && !json_is_integer(stream))
            unsupported(request, "a stream that is no number");
        found[i].stream = json_is_null(stream) ? -1 : json_integer_value(stream);
        read_id(request, json_object_get(item, "id"), &found[i].id_time_ms, &found[i].id_sequence);
    }
    return found;
}

/* The messages of a batch, which it frees. */
static json_t *json_batch(millpond_shuffle_batch *batch) {
    const millpond_shuffle_message *message;
    json_t *list = json_array();
    for (size_t i = 0; (message = millpond_shuffle_batch_at(batch, i)) != NULL; i++)
        json_array_append_new(list, json_message(message));
    millpond_shuffle_batch_free(batch);
    return list;
}

static json_t *call_read_many(struct request *request) {
    uint64_t max = value_of(request, "max") != NULL ? size(request, "max") : 1;
    int64_t wait_ms = milliseconds(request, value_of(request, "wait_ms"));
    if (wait_ms == MILLPOND_NOT_SET)
        wait_ms = 0;
    millpond_shuffle_consumer *consumer = consumer_of(request);
    millpond_shuffle_batch *batch = NULL;
    if (consumer != NULL)
        millpond_shuffle_read(consumer, (size_t)max, wait_ms, &batch, &request->error);
    millpond_shuffle_consumer_free(consumer);
    return json_batch(batch);
}

typedef millpond_status (*step)(millpond_shuffle_consumer *consumer,
                                const millpond_shuffle_receipt *receipts, size_t count,
                                uint64_t *done, millpond_error **error);

static json_t *count_done(struct request *request, step step) {
    size_t count;
    uint64_t done = 0;
    millpond_shuffle_receipt *list = receipts(request, &count);
    millpond_shuffle_consumer *consumer = consumer_of(request);
    if (consumer != NULL)
        step(consumer, list, count, &done, &request->error);
    millpond_shuffle_consumer_free(consumer);
    free(list);
    return json_integer((json_int_t)done);
}

static json_t *call_ack(struct request *request) {
    return count_done(request, millpond_shuffle_ack);
}

static json_t *call_ack_and_delete(struct request *request) {
    return count_done(request, millpond_shuffle_ack_and_delete);
}

static json_t *call_renew(struct request *request) {
    return count_done(request, millpond_shuffle_renew);
}

typedef millpond_status (*step_of_each)(millpond_shuffle_consumer *consumer,
                                        const millpond_shuffle_receipt *receipts, size_t count,
                                        bool *flags, millpond_error **error);

static json_t *flag_each(struct request *request, step_of_each step) {
    size_t count;
    millpond_shuffle_receipt *list = receipts(request, &count);
    millpond_shuffle_consumer *consumer = consumer_of(request);
    bool *flags = calloc(count + 1, sizeof *flags);
    if (consumer != NULL)
        step(consumer, list, count, flags, &request->error);
    json_t *found = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(found, json_boolean(flags[i]));
    millpond_shuffle_consumer_free(consumer);
    free(flags);
    free(list);
    return found;
}

static json_t *call_ack_each(struct request *request) {
    return flag_each(request, millpond_shuffle_ack_each);
}

static json_t *call_ack_and_delete_each(struct request *request) {
    return flag_each(request, millpond_shuffle_ack_and_delete_each);
}

static json_t *call_release(struct request *request) {
    size_t count;
    uint64_t released = 0, min_idle_ms = duration_ms(request, "min_idle_ms");
    uint64_t delay_ms = duration_ms(request, "delay_ms");
    millpond_shuffle_receipt *list = receipts(request, &count);
    millpond_shuffle_consumer *consumer = consumer_of(request);
    if (consumer != NULL)
        millpond_shuffle_release(consumer, list, count, min_idle_ms, delay_ms, &released,
                                 &request->error);
    millpond_shuffle_consumer_free(consumer);
    free(list);
    return json_integer((json_int_t)released);
}

static json_t *call_reject(struct request *request) {
    size_t count;
    uint64_t rejected = 0;
    millpond_shuffle_receipt *list = receipts(request, &count);
    millpond_bytes reason = named(request, "reason");
    millpond_shuffle_consumer *consumer = consumer_of(request);
    if (consumer != NULL)
        millpond_shuffle_reject(consumer, list, count, reason.data, reason.length, &rejected,
                                &request->error);
    millpond_shuffle_consumer_free(consumer);
    free(list);
    return json_integer((json_int_t)rejected);
}

static json_t *call_reclaim(struct request *request) {
    uint64_t min_idle_ms = duration_ms(request, "min_idle_ms"), max = size(request, "max"), dead = 0;
    millpond_shuffle_consumer *consumer = consumer_of(request);
    millpond_shuffle_batch *batch = NULL;
    if (consumer != NULL)
        millpond_shuffle_reclaim(consumer, min_idle_ms, (size_t)max, &batch, &dead, &request->error);
    millpond_shuffle_consumer_free(consumer);
    return json_pack("{s:o,s:I}", "messages", json_batch(batch), "dead", (json_int_t)dead);
}

const struct call shuffle_consumer_calls[] = {
    {"shuffle_queue.read", call_read_many},
    {"shuffle_queue.read_many", call_read_many},
    {"shuffle_queue.ack", call_ack},
    {"shuffle_queue.ack_and_delete", call_ack_and_delete},
    {"shuffle_queue.ack_each", call_ack_each},
    {"shuffle_queue.ack_and_delete_each", call_ack_and_delete_each},
    {"shuffle_queue.renew", call_renew},
    {"shuffle_queue.release", call_release},
    {"shuffle_queue.reject", call_reject},
    {"shuffle_queue.reclaim", call_reclaim},
    {NULL, NULL},
};
