#include "shuffle_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

json_t *value_of(struct request *request, const char *name) {
    return json_object_get(request->json, name);
}

int64_t number(struct request *request, json_t *value) {
    if (value == NULL || json_is_null(value))
        return MILLPOND_NOT_SET;
    if (!json_is_integer(value))
        unsupported(request, "a number that is no int64_t");
    return json_integer_value(value);
}

int64_t milliseconds(struct request *request, json_t *value) {
    if (value == NULL || json_is_null(value))
        return MILLPOND_NOT_SET;
    if (!json_is_number(value))
        unsupported(request, "a time that is no number");
    double time_ms = json_number_value(value);
    if (time_ms < 0)
        return -2;
    return time_ms < 9e18 ? (int64_t)time_ms : INT64_MAX;
}

uint64_t duration_ms(struct request *request, const char *name) {
    int64_t time_ms = milliseconds(request, value_of(request, name));
    if (time_ms < 0)
        unsupported(request, "a time that is below 0");
    return (uint64_t)time_ms;
}

static int64_t track_keys_of(struct request *request, json_t *value) {
    const char *name = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(name, "queue") == 0)
        return MILLPOND_SHUFFLE_TRACK_QUEUE;
    if (strcmp(name, "global") != 0)
        unsupported(request, "track_keys that are none");
    return MILLPOND_SHUFFLE_TRACK_GLOBAL;
}

millpond_shuffle_queue *queue_of(struct request *request) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    json_t *track_keys = json_object_get(request->on, "track_keys");
    millpond_shuffle_queue *queue = NULL;
    millpond_shuffle_options options;
    millpond_shuffle_options_init(&options, sizeof options);
    options.streams = number(request, json_object_get(request->on, "streams"));
    options.streams_per_shard = number(request, json_object_get(request->on, "streams_per_shard"));
    options.ttl_ms = milliseconds(request, json_object_get(request->on, "ttl_ms"));
    options.dead_ttl_ms = milliseconds(request, json_object_get(request->on, "dead_ttl_ms"));
    if (track_keys != NULL)
        options.track_keys = track_keys_of(request, track_keys);
    if (request->unsupported == NULL)
        millpond_shuffle_queue_new(client, name.data, name.length, &options, &queue,
                                   &request->error);
    return queue;
}

millpond_shuffle_field *fields(struct request *request, json_t *list, size_t *count) {
    json_t *item;
    size_t i;
    *count = json_array_size(list);
    if (!json_is_array(list))
        return unsupported(request, "fields that are no list");
    millpond_shuffle_field *found = calloc(*count + 1, sizeof *found);
    json_array_foreach(list, i, item) {
        millpond_bytes field = bytes(request, json_array_get(item, 0));
        millpond_bytes value = bytes(request, json_array_get(item, 1));
        found[i] = (millpond_shuffle_field){field.data, field.length, value.data, value.length};
    }
    return found;
}

/* The halves of an id. */
void read_id(struct request *request, json_t *text, uint64_t *time_ms, uint64_t *sequence) {
    const char *id = json_is_string(text) ? json_string_value(text) : "";
    char *end;
    errno = 0;
    *time_ms = strtoull(id, &end, 10);
    if (end == id || *end != '-') {
        unsupported(request, "an id that is none");
        return;
    }
    const char *rest = end + 1;
    *sequence = strtoull(rest, &end, 10);
    if (end == rest || *end != '\0' || errno != 0)
        unsupported(request, "an id that is none");
}

json_t *json_id(uint64_t time_ms, uint64_t sequence) {
    return json_sprintf("%llu-%llu", (unsigned long long)time_ms, (unsigned long long)sequence);
}

json_t *json_receipt(millpond_shuffle_receipt receipt) {
    json_t *stream = receipt.stream == -1 ? json_null() : json_integer(receipt.stream);
    return json_pack("{s:o,s:o}", "stream", stream, "id",
                     json_id(receipt.id_time_ms, receipt.id_sequence));
}

json_t *json_message(const millpond_shuffle_message *message) {
    json_t *json = json_receipt(message->receipt), *list = json_array();
    for (size_t i = 0; i < message->field_count; i++) {
        const millpond_shuffle_field *field = &message->fields[i];
        json_array_append_new(list, json_pack("[o,o]", json_bytes(field->field, field->field_length),
                                              json_bytes(field->value, field->value_length)));
    }
    json_object_set_new(json, "fields", list);
    json_object_set_new(json, "deliveries", json_integer((json_int_t)message->deliveries));
    return json;
}
