/* The calls of a queue tracker. C has the halves of a scan and of a prune; what other languages' functions do between
   them is done here. */

#include "task_values.h"

/* In C these have to be given; they are the defaults of the other languages. */
#define LIMIT_DEFAULT 25
#define ROUND_MS_DEFAULT 60000

/* A byte string as two arguments. */
#define P(bytes) (bytes).data, (bytes).length

static millpond_tracker *tracker_of(struct request *request) {
    millpond_bytes name = text(request, request->on, "name");
    millpond_tracker *tracker = NULL;
    if (request->unsupported == NULL)
        millpond_tracker_new(client, P(name), &tracker, &request->error);
    return tracker;
}

/* Makes a call on the tracker of the request, of which `tracker` is the handle. */
#define ON_TRACKER(call)                                                                           \
    do {                                                                                           \
        millpond_tracker *tracker = tracker_of(request);                                           \
        if (tracker != NULL)                                                                       \
            call;                                                                                  \
        millpond_tracker_free(tracker);                                                            \
    } while (0)

/* The response to a call with a result, made of `data`; null where there is none. */
#define RESULT_OF(call, json)                                                                      \
    do {                                                                                           \
        millpond_tracker_result *result = NULL;                                                    \
        json_t *response = json_null();                                                            \
        ON_TRACKER(call);                                                                          \
        if (result != NULL) {                                                                      \
            const millpond_tracker_data *data = millpond_tracker_result_data(result);              \
            response = json;                                                                       \
        }                                                                                          \
        millpond_tracker_result_free(result);                                                      \
        return response;                                                                           \
    } while (0)

static size_t limit_of(struct request *request) {
    return is_given(request->json, "limit") ? (size_t)size(request, "limit") : LIMIT_DEFAULT;
}

static uint64_t round_of(struct request *request) {
    return is_given(request->json, "round_min_ms") ? count(request, request->json, "round_min_ms") : ROUND_MS_DEFAULT;
}

static json_t *json_stats(const millpond_tracker_data *data) {
    int64_t oldest = data->stats->oldest;
    return json_pack("{s:I,s:I,s:o,s:o}", "ids", (json_int_t)data->stats->ids, "rounds",
                     (json_int_t)data->stats->rounds, "oldest",
                     oldest == MILLPOND_NOT_SET ? json_null() : json_integer(oldest), "row",
                     json_text(data->stats->row));
}

static json_t *json_scanned(const millpond_tracker_scanned *scanned) {
    return json_pack("{s:I,s:I,s:b}", "rows", (json_int_t)scanned->rows, "added", (json_int_t)scanned->added, "more",
                     (int)scanned->more);
}

static json_t *json_pruned(uint64_t checked, uint64_t removed) {
    return json_pack("{s:I,s:I}", "checked", (json_int_t)checked, "removed", (json_int_t)removed);
}

static json_t *json_ids(const millpond_tracker_result *result) {
    const millpond_bytes *id;
    json_t *list = json_array();
    for (size_t i = 0; (id = millpond_tracker_result_id(result, i)) != NULL; i++)
        json_array_append_new(list, json_text(*id));
    return list;
}

static json_t *call_add(struct request *request) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    ON_TRACKER(millpond_tracker_add(tracker, ids, length, &request->error));
    return json_null();
}

static json_t *call_is_queued(struct request *request) {
    millpond_bytes id = text(request, request->json, "id");
    bool queued = false;
    ON_TRACKER(millpond_tracker_is_queued(tracker, P(id), &queued, &request->error));
    return json_boolean(queued);
}

static json_t *call_are_queued(struct request *request) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    bool *flags = allocate(request, length, sizeof *flags);
    json_t *list = json_array();
    ON_TRACKER(millpond_tracker_are_queued(tracker, ids, length, flags, &request->error));
    for (size_t i = 0; i < length; i++)
        json_array_append_new(list, json_boolean(flags[i]));
    return list;
}

static json_t *call_len(struct request *request) {
    uint64_t number = 0;
    ON_TRACKER(millpond_tracker_len(tracker, &number, &request->error));
    return json_integer((json_int_t)number);
}

static json_t *call_stats(struct request *request) {
    RESULT_OF(millpond_tracker_stats(tracker, &result, &request->error), json_stats(data));
}

static json_t *call_begin_scan(struct request *request) {
    size_t limit = limit_of(request);
    uint64_t round_ms = round_of(request);
    RESULT_OF(millpond_tracker_begin_scan(tracker, limit, round_ms, &result, &request->error), json_stats(data));
}

static json_t *json_page(const millpond_tracker_result *result, const millpond_tracker_data *data) {
    json_t *list = json_array();
    for (size_t i = 0; i < data->entry_count; i++) {
        const millpond_tracked *entry = millpond_tracker_result_entry(result, i);
        json_array_append_new(list, json_pack("{s:o,s:I}", "id", json_text(entry->id), "stamp",
                                              (json_int_t)entry->stamp));
    }
    return list;
}

static json_t *call_ids(struct request *request) {
    size_t limit = limit_of(request);
    uint64_t after = count(request, request->json, "after");
    RESULT_OF(millpond_tracker_ids(tracker, after, limit, &result, &request->error), json_page(result, data));
}

static json_t *call_clear(struct request *request) {
    uint64_t number = 0;
    ON_TRACKER(millpond_tracker_clear(tracker, &number, &request->error));
    return json_integer((json_int_t)number);
}

static json_t *call_advance(struct request *request) {
    size_t row_count, id_count, limit = limit_of(request);
    millpond_bytes after = text(request, request->json, "after");
    millpond_bytes *rows = texts(request, request->json, "rows", &row_count);
    millpond_bytes *ids = texts(request, request->json, "ids", &id_count);
    uint64_t round_ms = round_of(request);
    RESULT_OF(millpond_tracker_advance(tracker, P(after), rows, row_count, ids, id_count, limit, round_ms, &result,
                                       &request->error),
              json_scanned(data->scanned));
}

static json_t *call_sample(struct request *request) {
    size_t limit = limit_of(request);
    RESULT_OF(millpond_tracker_sample(tracker, limit, &result, &request->error),
              json_pack("{s:o,s:I}", "ids", json_ids(result), "stamp", (json_int_t)data->stamp));
}

static json_t *call_remove(struct request *request) {
    size_t id_count, sampled_count;
    millpond_bytes *ids = texts(request, request->json, "ids", &id_count);
    millpond_bytes *sampled = texts(request, request->json, "sampled", &sampled_count);
    uint64_t stamp = count(request, request->json, "stamp");
    RESULT_OF(millpond_tracker_remove(tracker, ids, id_count, sampled, sampled_count, stamp, &result, &request->error),
              json_pruned(data->pruned->checked, data->pruned->removed));
}

/* What a function does beside what it returns; returns false if it fails. */
static bool meanwhile(struct request *request, millpond_tracker *tracker) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "adds", &length);
    if (length > 0)
        millpond_tracker_add(tracker, ids, length, &request->error);
    return request->error == NULL && !is_given(request->json, "raises");
}

/* What a function got, and what it failed with or the call returned. */
static json_t *json_called(struct request *request, json_t *seen, json_t *returned) {
    json_t *raised = json_object_get(request->json, "raises");
    if (returned == NULL && raised != NULL)
        return json_pack("{s:o,s:O}", "seen", seen, "raised", raised);
    return json_pack("{s:o,s:o}", "seen", seen, "result", returned != NULL ? returned : json_null());
}

static json_t *scan(struct request *request, millpond_tracker *tracker) {
    json_t *list = json_object_get(request->json, "rows"), *row, *seen = NULL, *returned = NULL;
    size_t length = json_array_size(list), limit = limit_of(request), i;
    millpond_bytes *rows = allocate(request, length, sizeof *rows), *ids = allocate(request, length, sizeof *ids);
    uint64_t round_ms = round_of(request);
    millpond_tracker_result *begun = NULL, *done = NULL;
    json_array_foreach(list, i, row) {
        json_t *place = json_array_get(row, 0);
        if (json_is_integer(place)) {
            char *digits = allocate(request, 24, 1);
            rows[i].length = (size_t)snprintf(digits, 24, "%lld", (long long)json_integer_value(place));
            rows[i].data = digits;
        } else {
            rows[i] = bytes(request, place);
        }
        ids[i] = bytes(request, json_array_get(row, 1));
    }
    millpond_tracker_begin_scan(tracker, limit, round_ms, &begun, &request->error);
    if (begun != NULL) {
        millpond_bytes after = millpond_tracker_result_data(begun)->stats->row;
        seen = json_pack("{s:o,s:I}", "after", json_text(after), "limit", (json_int_t)limit);
        if (meanwhile(request, tracker))
            millpond_tracker_advance(tracker, P(after), rows, length, ids, length, limit, round_ms, &done,
                                     &request->error);
    }
    if (done != NULL)
        returned = json_scanned(millpond_tracker_result_data(done)->scanned);
    millpond_tracker_result_free(done);
    millpond_tracker_result_free(begun);
    return json_called(request, seen != NULL ? seen : json_null(), returned);
}

static json_t *call_scan(struct request *request) {
    json_t *response = json_null();
    ON_TRACKER(response = scan(request, tracker));
    return response;
}

static json_t *prune(struct request *request, millpond_tracker *tracker) {
    size_t length, limit = limit_of(request);
    millpond_bytes *ids = texts(request, request->json, "done", &length);
    millpond_tracker_result *sample = NULL, *done = NULL;
    json_t *seen = NULL, *returned = NULL;
    millpond_tracker_sample(tracker, limit, &sample, &request->error);
    const millpond_tracker_data *data = millpond_tracker_result_data(sample);
    if (data != NULL && data->id_count == 0)
        returned = json_pruned(0, 0);
    if (data != NULL && data->id_count > 0) {
        seen = json_ids(sample);
        if (meanwhile(request, tracker))
            millpond_tracker_remove(tracker, ids, length, data->ids, data->id_count, data->stamp, &done,
                                    &request->error);
    }
    if (done != NULL) {
        const millpond_tracker_pruned *pruned = millpond_tracker_result_data(done)->pruned;
        returned = json_pruned(pruned->checked, pruned->removed);
    }
    millpond_tracker_result_free(done);
    millpond_tracker_result_free(sample);
    return json_called(request, seen != NULL ? seen : json_null(), returned);
}

static json_t *call_prune(struct request *request) {
    json_t *response = json_null();
    ON_TRACKER(response = prune(request, tracker));
    return response;
}

const struct call tracker_calls[] = {
    {"queue_tracker.add", call_add},
    {"queue_tracker.is_queued", call_is_queued},
    {"queue_tracker.are_queued", call_are_queued},
    {"queue_tracker.len", call_len},
    {"queue_tracker.stats", call_stats},
    {"queue_tracker.begin_scan", call_begin_scan},
    {"queue_tracker.ids", call_ids},
    {"queue_tracker.clear", call_clear},
    {"queue_tracker.advance", call_advance},
    {"queue_tracker.sample", call_sample},
    {"queue_tracker.remove", call_remove},
    {"queue_tracker.scan", call_scan},
    {"queue_tracker.prune", call_prune},
    {NULL, NULL},
};
