/* The adapter for C: one JSON request a line in, one JSON answer a line out. */

#include "base64.h"

#include <jansson.h>
#include <millpond.h>
#include <stdlib.h>
#include <string.h>

/* What one request made, until it is answered. */
struct request {
    json_t *json;
    /* Why C cannot say this. */
    const char *unsupported;
    millpond_error *error;
    /* Bytes that were decoded, to be freed. */
    void **decoded;
    size_t decoded_count;
};

static millpond_client *client;

static void *unsupported(struct request *request, const char *why) {
    request->unsupported = why;
    return NULL;
}

/* A string of a request: a JSON string, or {"b64"}. */
static millpond_bytes bytes(struct request *request, json_t *value) {
    millpond_bytes found = {json_string_value(value), json_string_length(value)};
    if (json_is_string(value))
        return found;
    json_t *encoded = json_object_get(value, "b64");
    if (!json_is_string(encoded)) {
        unsupported(request, "a name or member that is no string");
        return found;
    }
    char *decoded = base64_decode(json_string_value(encoded), &found.length);
    request->decoded =
        realloc(request->decoded, (request->decoded_count + 1) * sizeof *request->decoded);
    request->decoded[request->decoded_count++] = decoded;
    found.data = decoded;
    return found;
}

static millpond_bytes named(struct request *request, const char *name) {
    return bytes(request, json_object_get(request->json, name));
}

static double score(struct request *request, json_t *value) {
    if (json_is_number(value))
        return json_number_value(value);
    json_t *text = json_object_get(value, "float");
    if (text == NULL)
        text = json_object_get(value, "int");
    if (!json_is_string(text)) {
        unsupported(request, "a score that is no double");
        return 0;
    }
    return strtod(json_string_value(text), NULL);
}

static uint64_t size(struct request *request) {
    json_t *value = json_object_get(request->json, "max");
    const char *text = json_string_value(json_object_get(value, "int"));
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        return (uint64_t)json_integer_value(value);
    if (text != NULL && text[0] != '-' && strlen(text) <= 19)
        return strtoull(text, NULL, 10);
    unsupported(request, "a size that is no uint64_t");
    return 0;
}

static bool flag(struct request *request, const char *name) {
    json_t *value = json_object_get(request->json, name);
    if (!json_is_boolean(value))
        unsupported(request, "a flag that is no bool");
    return json_is_true(value);
}

static millpond_ick_pair *pairs(struct request *request, size_t *count) {
    json_t *list = json_object_get(request->json, "pairs"), *item;
    *count = json_array_size(list);
    if (!json_is_array(list))
        return unsupported(request, "pairs that are no list");
    millpond_ick_pair *found = calloc(*count + 1, sizeof *found);
    size_t i;
    json_array_foreach(list, i, item) {
        millpond_bytes member = bytes(request, json_array_get(item, 1));
        found[i].member = member.data;
        found[i].member_length = member.length;
        found[i].score = score(request, json_array_get(item, 0));
    }
    return found;
}

static millpond_bytes *members(struct request *request, size_t *count) {
    json_t *list = json_object_get(request->json, "members"), *item;
    *count = json_array_size(list);
    if (!json_is_array(list))
        return unsupported(request, "members that are no list");
    millpond_bytes *found = calloc(*count + 1, sizeof *found);
    size_t i;
    json_array_foreach(list, i, item) found[i] = bytes(request, item);
    return found;
}

static json_t *json_bytes(const char *data, size_t length) {
    json_t *text = json_stringn(data, length);
    if (text != NULL)
        return text;
    /* It is no UTF-8. */
    char *encoded = base64_encode(data, length);
    text = json_pack("{s:s}", "b64", encoded);
    free(encoded);
    return text;
}

static json_t *json_score(double score) {
    json_t *number = json_real(score);
    return number != NULL ? number : json_pack("{s:s}", "float", score > 0 ? "inf" : "-inf");
}

static json_t *json_entries(millpond_entries *entries) {
    const millpond_entry *entry = millpond_entries_data(entries);
    json_t *list = json_array();
    for (size_t i = 0; i < millpond_entries_length(entries); i++)
        json_array_append_new(list, json_pack("[o,o]",
                                              json_bytes(entry[i].member, entry[i].member_length),
                                              json_score(entry[i].score)));
    millpond_entries_free(entries);
    return list;
}

static json_t *json_range(uint64_t size, double score) {
    return size == 0 ? json_null() : json_score(score);
}

static json_t *json_stats(struct request *request, millpond_bytes name,
                          const millpond_ick_stats *stats) {
    if (!stats->exists)
        return json_null();
    millpond_keys *keys;
    if (millpond_ick_keys(name.data, name.length, &keys, &request->error) != MILLPOND_OK)
        return NULL;
    const millpond_bytes *key = millpond_keys_data(keys);
    json_t *json = json_object();
    json_object_set_new(json, "ver", json_string(millpond_ick_version()));
    json_object_set_new(json, "key", json_bytes(key[0].data, key[0].length));
    json_object_set_new(json, "pset_key", json_bytes(key[1].data, key[1].length));
    json_object_set_new(json, "cset_key", json_bytes(key[2].data, key[2].length));
    json_object_set_new(json, "pset_size", json_integer((json_int_t)stats->pset_size));
    json_object_set_new(json, "cset_size", json_integer((json_int_t)stats->cset_size));
    json_object_set_new(json, "total_size", json_integer((json_int_t)stats->total_size));
    json_object_set_new(json, "pset_min", json_range(stats->pset_size, stats->pset_min));
    json_object_set_new(json, "pset_max", json_range(stats->pset_size, stats->pset_max));
    json_object_set_new(json, "cset_min", json_range(stats->cset_size, stats->cset_min));
    json_object_set_new(json, "cset_max", json_range(stats->cset_size, stats->cset_max));
    json_object_set_new(json, "total_min", json_range(stats->total_size, stats->total_min));
    json_object_set_new(json, "total_max", json_range(stats->total_size, stats->total_max));
    millpond_keys_free(keys);
    return json;
}

static json_t *call_open(struct request *request) {
    millpond_bytes url = named(request, "url");
    millpond_client_free(client);
    client = NULL;
    millpond_connect(url.data, url.length, &client, &request->error);
    return json_null();
}

static json_t *call_close(struct request *request) {
    (void)request;
    millpond_client_free(client);
    client = NULL;
    return json_null();
}

static json_t *call_add(struct request *request) {
    millpond_bytes name = named(request, "name");
    size_t count;
    millpond_ick_pair *list = pairs(request, &count);
    millpond_ick_added added = {0, 0};
    if (request->unsupported == NULL)
        millpond_ick_add(client, name.data, name.length, list, count, &added, &request->error);
    free(list);
    return json_pack("[I,I]", (json_int_t)added.new_members, (json_int_t)added.lowered_members);
}

static json_t *call_reserve(struct request *request) {
    millpond_bytes name = named(request, "name");
    uint64_t max = size(request);
    bool backwash = flag(request, "backwash");
    millpond_entries *entries = NULL;
    if (request->unsupported == NULL)
        millpond_ick_reserve(client, name.data, name.length, max, backwash, &entries,
                             &request->error);
    return json_entries(entries);
}

static json_t *call_commit(struct request *request) {
    millpond_bytes name = named(request, "name");
    size_t count;
    millpond_bytes *list = members(request, &count);
    uint64_t committed = 0;
    if (request->unsupported == NULL)
        millpond_ick_commit(client, name.data, name.length, list, count, &committed,
                            &request->error);
    free(list);
    return json_integer((json_int_t)committed);
}

static json_t *call_exchange(struct request *request) {
    millpond_bytes name = named(request, "name");
    uint64_t max = size(request);
    bool backwash = flag(request, "backwash");
    size_t count;
    millpond_bytes *list = members(request, &count);
    millpond_entries *entries = NULL;
    if (request->unsupported == NULL)
        millpond_ick_exchange(client, name.data, name.length, max, list, count, backwash, &entries,
                              &request->error);
    free(list);
    return json_entries(entries);
}

static json_t *call_stats(struct request *request) {
    millpond_bytes name = named(request, "name");
    millpond_ick_stats stats;
    if (request->unsupported != NULL ||
        millpond_ick_stats_read(client, name.data, name.length, &stats, &request->error) !=
            MILLPOND_OK)
        return NULL;
    return json_stats(request, name, &stats);
}

static json_t *call_delete(struct request *request) {
    millpond_bytes name = named(request, "name");
    bool unlink = flag(request, "unlink");
    uint64_t removed = 0;
    if (request->unsupported == NULL)
        millpond_ick_delete(client, name.data, name.length, unlink, &removed, &request->error);
    return json_integer((json_int_t)removed);
}

static json_t *call_peek(struct request *request) {
    millpond_bytes name = named(request, "name"), set = named(request, "set");
    uint64_t max = size(request);
    millpond_entries *entries = NULL;
    if (request->unsupported == NULL)
        millpond_ick_peek(client, name.data, name.length,
                          strcmp(set.data, "producer") == 0 ? MILLPOND_ICK_PRODUCER
                                                            : MILLPOND_ICK_CONSUMER,
                          max, &entries, &request->error);
    return json_entries(entries);
}

static const struct {
    const char *name;
    json_t *(*make)(struct request *request);
} calls[] = {
    {"open", call_open},         {"close", call_close}, {"add", call_add},
    {"reserve", call_reserve},   {"commit", call_commit},
    {"exchange", call_exchange}, {"stats", call_stats}, {"delete", call_delete},
    {"peek", call_peek},
};

/* The answer to one request. */
static json_t *answer(json_t *json) {
    struct request request = {.json = json};
    const char *call = json_string_value(json_object_get(json, "call"));
    json_t *result = NULL, *answer = json_object();
    request.unsupported = "this call";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (call != NULL && strcmp(calls[i].name, call) == 0) {
            request.unsupported = NULL;
            result = calls[i].make(&request);
        }
    }
    json_object_set(answer, "id", json_object_get(json, "id"));
    if (request.unsupported != NULL) {
        json_object_set_new(answer, "unsupported", json_sprintf("C has no way to say %s", request.unsupported));
    } else if (request.error != NULL) {
        json_t *error = json_pack("{s:i,s:s,s:s}", "code", (int)millpond_error_code(request.error),
                                  "name", millpond_error_name(request.error), "message",
                                  millpond_error_message(request.error));
        json_object_set_new(answer, "error", error);
    } else {
        json_object_set(answer, "result", result);
    }
    json_decref(result);
    millpond_error_free(request.error);
    for (size_t i = 0; i < request.decoded_count; i++)
        free(request.decoded[i]);
    free(request.decoded);
    return answer;
}

int main(void) {
    json_error_t wrong;
    json_t *request;
    while ((request = json_loadf(stdin, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &wrong)) != NULL) {
        json_t *answered = answer(request);
        json_dumpf(answered, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(answered);
        json_decref(request);
    }
    millpond_client_free(client);
    if (feof(stdin))
        return 0;
    fprintf(stderr, "adapter: %s\n", wrong.text);
    return 1;
}
