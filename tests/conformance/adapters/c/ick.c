/* The calls of an Ick. */

#include "request.h"

#include <stdlib.h>
#include <string.h>

double score(struct request *request, json_t *value) {
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

static json_t *json_score(double score) {
    json_t *number = json_real(score);
    return number != NULL ? number : json_pack("{s:s}", "float", score > 0 ? "inf" : "-inf");
}

static json_t *json_entries(millpond_ick_entries *entries) {
    const millpond_ick_entry *entry;
    json_t *list = json_array();
    for (size_t i = 0; (entry = millpond_ick_entries_at(entries, i)) != NULL; i++)
        json_array_append_new(list,
                              json_pack("[o,o]", json_bytes(entry->member, entry->member_length),
                                        json_score(entry->score)));
    millpond_ick_entries_free(entries);
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

static json_t *call_add(struct request *request) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    size_t count;
    millpond_ick_pair *list = pairs(request, &count);
    millpond_ick_added added = {0, 0};
    if (request->unsupported == NULL)
        millpond_ick_add(client, name.data, name.length, list, count, &added, &request->error);
    free(list);
    return json_pack("{s:I,s:I}", "new", (json_int_t)added.new_members, "lowered",
                     (json_int_t)added.lowered_members);
}

static json_t *call_reserve(struct request *request) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    uint64_t max = size(request, "max");
    bool backwash = flag(request, "backwash");
    millpond_ick_entries *entries = NULL;
    if (request->unsupported == NULL)
        millpond_ick_reserve(client, name.data, name.length, max, backwash, &entries,
                             &request->error);
    return json_entries(entries);
}

static json_t *call_commit(struct request *request) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
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
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    uint64_t max = size(request, "max");
    bool backwash = flag(request, "backwash");
    size_t count;
    millpond_bytes *list = members(request, &count);
    millpond_ick_entries *entries = NULL;
    if (request->unsupported == NULL)
        millpond_ick_exchange(client, name.data, name.length, max, list, count, backwash, &entries,
                              &request->error);
    free(list);
    return json_entries(entries);
}

static json_t *call_stats(struct request *request) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    millpond_ick_stats stats = {.size = sizeof stats};
    if (request->unsupported != NULL ||
        millpond_ick_stats_read(client, name.data, name.length, &stats, &request->error) !=
            MILLPOND_OK)
        return NULL;
    return json_stats(request, name, &stats);
}

static json_t *delete(struct request *request, bool unlink) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    uint64_t removed = 0;
    if (request->unsupported == NULL)
        millpond_ick_delete(client, name.data, name.length, unlink, &removed, &request->error);
    return json_integer((json_int_t)removed);
}

static json_t *call_delete(struct request *request) {
    return delete(request, false);
}

static json_t *call_unlink(struct request *request) {
    return delete(request, true);
}

static json_t *call_peek(struct request *request) {
    millpond_bytes name = bytes(request, json_object_get(request->on, "name"));
    millpond_bytes set = named(request, "set");
    uint64_t max = size(request, "max");
    millpond_ick_entries *entries = NULL;
    if (request->unsupported == NULL)
        millpond_ick_peek(client, name.data, name.length,
                          strcmp(set.data, "producer") == 0 ? MILLPOND_ICK_PRODUCER
                                                            : MILLPOND_ICK_CONSUMER,
                          max, &entries, &request->error);
    return json_entries(entries);
}

const struct call ick_calls[] = {
    {"ick.add", call_add},           {"ick.reserve", call_reserve}, {"ick.commit", call_commit},
    {"ick.exchange", call_exchange}, {"ick.stats", call_stats},     {"ick.delete", call_delete},
    {"ick.unlink", call_unlink},     {"ick.peek", call_peek},       {NULL, NULL},
};
