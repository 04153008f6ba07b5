/* The calls of a volatile hash. */

#include "task_values.h"

/* In C these have to be given; they are the defaults of the other languages. */
#define SHARDS_DEFAULT 16
#define REAP_DEFAULT 5

static millpond_volatile_hashes *hashes_of(struct request *request) {
    millpond_bytes name = text(request, request->on, "name");
    uint64_t shards = is_given(request->on, "shards") ? count(request, request->on, "shards") : SHARDS_DEFAULT;
    millpond_volatile_hashes *hashes = NULL;
    if (request->unsupported == NULL)
        millpond_volatile_hashes_new(client, name.data, name.length, (uint32_t)shards, &hashes,
                                     &request->error);
    return hashes;
}

/* The hash with this name, or that of a family with this base. */
static millpond_volatile_hash *hash_of(struct request *request) {
    millpond_volatile_hash *hash = NULL;
    if (!is_given(request->json, "base")) {
        millpond_bytes name = text(request, request->on, "name");
        if (request->unsupported == NULL)
            millpond_volatile_hash_new(client, name.data, name.length, &hash, &request->error);
        return hash;
    }
    millpond_bytes base = text(request, request->json, "base");
    millpond_volatile_hashes *hashes = hashes_of(request);
    if (hashes != NULL)
        millpond_volatile_hashes_hash_new(hashes, base.data, base.length, &hash, &request->error);
    millpond_volatile_hashes_free(hashes);
    return hash;
}

/* A value, or null. */
static json_t *json_value(millpond_bytes value) {
    return value.data == NULL ? json_null() : json_bytes(value.data, value.length);
}

static json_t *json_known(int64_t number) {
    return number == MILLPOND_NOT_SET ? json_null() : json_integer(number);
}

/* The arguments of a request; those that it lacks are empty. */
struct arguments {
    millpond_bytes field, value, token;
    uint64_t ttl_ms;
};

static struct arguments arguments(struct request *request) {
    json_t *json = request->json;
    struct arguments found = {text(request, json, "field"), text(request, json, "value"),
                              text(request, json, "token"), count(request, json, "ttl_ms")};
    return found;
}

/* A byte string as two arguments. */
#define P(bytes) (bytes).data, (bytes).length

/* Makes a call on the hash of the request, of which `hash` is the handle. */
#define ON_HASH(call)                                                                              \
    do {                                                                                           \
        millpond_volatile_hash *hash = hash_of(request);                                           \
        if (hash != NULL)                                                                          \
            call;                                                                                  \
        millpond_volatile_hash_free(hash);                                                         \
    } while (0)

/* The response to a call with a result, made of `data`; null where there is none. */
#define RESULT_OF(call, json)                                                                      \
    do {                                                                                           \
        millpond_volatile_result *result = NULL;                                                   \
        json_t *response = json_null();                                                            \
        ON_HASH(call);                                                                             \
        if (result != NULL) {                                                                      \
            const millpond_volatile_data *data = millpond_volatile_result_data(result);            \
            response = json;                                                                       \
        }                                                                                          \
        millpond_volatile_result_free(result);                                                     \
        return response;                                                                           \
    } while (0)

static json_t *call_set(struct request *request) {
    struct arguments of = arguments(request);
    ON_HASH(millpond_volatile_set(hash, P(of.field), P(of.value), of.ttl_ms, &request->error));
    return json_null();
}

static json_t *call_set_many(struct request *request) {
    json_t *list = json_object_get(request->json, "fields"), *item;
    size_t length = json_array_size(list), i;
    millpond_hash_pair *pairs = allocate(request, length, sizeof *pairs);
    json_array_foreach(list, i, item) {
        pairs[i].field = bytes(request, json_array_get(item, 0));
        pairs[i].value = bytes(request, json_array_get(item, 1));
    }
    uint64_t ttl_ms = count(request, request->json, "ttl_ms");
    ON_HASH(millpond_volatile_set_many(hash, pairs, length, ttl_ms, &request->error));
    return json_null();
}

static json_t *call_set_if_absent(struct request *request) {
    struct arguments of = arguments(request);
    bool done = false;
    ON_HASH(millpond_volatile_set_if_absent(hash, P(of.field), P(of.value), of.ttl_ms, &done,
                                            &request->error));
    return json_boolean(done);
}

static json_t *call_set_if_present(struct request *request) {
    struct arguments of = arguments(request);
    bool done = false;
    ON_HASH(millpond_volatile_set_if_present(hash, P(of.field), P(of.value), of.ttl_ms, &done,
                                             &request->error));
    return json_boolean(done);
}

static json_t *call_set_locked(struct request *request) {
    struct arguments of = arguments(request);
    ON_HASH(millpond_volatile_set_locked(hash, P(of.field), P(of.token), P(of.value), of.ttl_ms,
                                         &request->error));
    return json_null();
}

static json_t *call_set_and_release(struct request *request) {
    struct arguments of = arguments(request);
    ON_HASH(millpond_volatile_set_and_release(hash, P(of.field), P(of.token), P(of.value), of.ttl_ms,
                                              &request->error));
    return json_null();
}

static json_t *json_values(const millpond_volatile_data *data) {
    json_t *list = json_array();
    for (size_t i = 0; i < data->value_count; i++)
        json_array_append_new(list, json_value(data->values[i]));
    return list;
}

static json_t *call_get(struct request *request) {
    struct arguments of = arguments(request);
    RESULT_OF(millpond_volatile_get(hash, P(of.field), &result, &request->error),
              json_value(data->values[0]));
}

static json_t *call_get_many(struct request *request) {
    size_t length;
    millpond_bytes *fields = texts(request, request->json, "fields", &length);
    RESULT_OF(millpond_volatile_get_many(hash, fields, length, &result, &request->error),
              json_values(data));
}

static json_t *json_page(const millpond_volatile_result *result, const millpond_volatile_data *data) {
    const millpond_field_position *next = data->next;
    const millpond_hash_field *field;
    json_t *list = json_array();
    for (size_t i = 0; (field = millpond_volatile_result_field(result, i)) != NULL; i++)
        json_array_append_new(list, json_pack("{s:o,s:o,s:I}", "field", json_value(field->field),
                                              "value", json_value(field->value), "expires_us",
                                              (json_int_t)field->expires_us));
    return json_pack("{s:o,s:o}", "fields", list, "next",
                     next == NULL ? json_null()
                                  : json_pack("{s:I,s:o}", "expires_us", (json_int_t)next->expires_us,
                                              "field", json_value(next->field)));
}

static json_t *call_fields(struct request *request) {
    json_t *json = request->json, *after = json_object_get(json, "after");
    millpond_field_position position;
    millpond_field_query query;
    millpond_field_query_init(&query, sizeof query);
    query.limit = whole(request, json, "limit");
    query.omit_values = is_true(json, "omit_values");
    if (is_given(json, "after")) {
        position.expires_us = count(request, after, "expires_us");
        position.field = text(request, after, "field");
        query.after = &position;
    }
    RESULT_OF(millpond_volatile_fields(hash, &query, &result, &request->error), json_page(result, data));
}

static json_t *call_ttl(struct request *request) {
    struct arguments of = arguments(request);
    int64_t ttl_ms = -1;
    ON_HASH(millpond_volatile_ttl(hash, P(of.field), &ttl_ms, &request->error));
    return ttl_ms < 0 ? json_null() : json_integer(ttl_ms);
}

static json_t *call_len(struct request *request) {
    uint64_t number = 0;
    ON_HASH(millpond_volatile_len(hash, &number, &request->error));
    return json_integer((json_int_t)number);
}

static json_t *call_stats(struct request *request) {
    RESULT_OF(millpond_volatile_stats(hash, &result, &request->error),
              json_pack("{s:I,s:I,s:I}", "fields", (json_int_t)data->stats->fields, "expired",
                        (json_int_t)data->stats->expired, "locks", (json_int_t)data->stats->locks));
}

static json_t *call_touch(struct request *request) {
    struct arguments of = arguments(request);
    bool done = false;
    ON_HASH(millpond_volatile_touch(hash, P(of.field), of.ttl_ms, &done, &request->error));
    return json_boolean(done);
}

static json_t *call_delete(struct request *request) {
    size_t length;
    millpond_bytes *fields = texts(request, request->json, "fields", &length);
    uint64_t number = 0;
    ON_HASH(millpond_volatile_delete(hash, fields, length, &number, &request->error));
    return json_integer((json_int_t)number);
}

static json_t *call_clear(struct request *request) {
    uint64_t number = 0;
    ON_HASH(millpond_volatile_clear(hash, &number, &request->error));
    return json_integer((json_int_t)number);
}

static json_t *json_reaped(const millpond_hash_reaped *reaped) {
    return json_pack("{s:I,s:I,s:I,s:b,s:o}", "fields", (json_int_t)reaped->fields, "locks",
                     (json_int_t)reaped->locks, "orphans", (json_int_t)reaped->orphans, "more",
                     (int)reaped->more, "next_in_ms", json_known(reaped->next_in_ms));
}

static size_t limit_of(struct request *request) {
    return is_given(request->json, "limit") ? (size_t)size(request, "limit") : REAP_DEFAULT;
}

static json_t *call_reap(struct request *request) {
    size_t limit = limit_of(request);
    RESULT_OF(millpond_volatile_reap(hash, limit, &result, &request->error), json_reaped(data->reaped));
}

static json_t *call_reap_family(struct request *request) {
    size_t limit = limit_of(request);
    millpond_volatile_hashes *hashes = hashes_of(request);
    millpond_volatile_result *result = NULL;
    json_t *response = json_null();
    if (hashes != NULL)
        millpond_volatile_hashes_reap(hashes, limit, &result, &request->error);
    if (result != NULL)
        response = json_reaped(millpond_volatile_result_data(result)->reaped);
    millpond_volatile_result_free(result);
    millpond_volatile_hashes_free(hashes);
    return response;
}

static json_t *call_acquire(struct request *request) {
    struct arguments of = arguments(request);
    RESULT_OF(millpond_volatile_acquire(hash, P(of.field), P(of.token), of.ttl_ms, &result,
                                        &request->error),
              json_pack("{s:o,s:o}", "fence", json_known(data->acquired->fence), "remaining_ms",
                        json_known(data->acquired->remaining_ms)));
}

static json_t *call_get_or_acquire(struct request *request) {
    struct arguments of = arguments(request);
    RESULT_OF(millpond_volatile_get_or_acquire(hash, P(of.field), P(of.token), of.ttl_ms, &result,
                                               &request->error),
              json_pack("{s:o,s:o,s:o}", "value", json_value(data->value_or_lock->value), "fence",
                        json_known(data->value_or_lock->fence), "remaining_ms",
                        json_known(data->value_or_lock->remaining_ms)));
}

static json_t *call_renew(struct request *request) {
    struct arguments of = arguments(request);
    bool done = false;
    ON_HASH(millpond_volatile_renew(hash, P(of.field), P(of.token), of.ttl_ms, &done, &request->error));
    return json_boolean(done);
}

static json_t *call_release(struct request *request) {
    struct arguments of = arguments(request);
    bool done = false;
    ON_HASH(millpond_volatile_release(hash, P(of.field), P(of.token), &done, &request->error));
    return json_boolean(done);
}

static json_t *call_holder(struct request *request) {
    struct arguments of = arguments(request);
    RESULT_OF(millpond_volatile_holder(hash, P(of.field), &result, &request->error),
              json_pack("{s:o,s:I,s:I}", "token", json_value(data->holder->token), "fence",
                        (json_int_t)data->holder->fence, "remaining_ms",
                        (json_int_t)data->holder->remaining_ms));
}

const struct call volatile_calls[] = {
    {"volatile_hash.set", call_set},
    {"volatile_hash.set_many", call_set_many},
    {"volatile_hash.set_if_absent", call_set_if_absent},
    {"volatile_hash.set_if_present", call_set_if_present},
    {"volatile_hash.set_locked", call_set_locked},
    {"volatile_hash.set_and_release", call_set_and_release},
    {"volatile_hash.get", call_get},
    {"volatile_hash.get_many", call_get_many},
    {"volatile_hash.fields", call_fields},
    {"volatile_hash.ttl", call_ttl},
    {"volatile_hash.len", call_len},
    {"volatile_hash.stats", call_stats},
    {"volatile_hash.touch", call_touch},
    {"volatile_hash.delete", call_delete},
    {"volatile_hash.clear", call_clear},
    {"volatile_hash.reap", call_reap},
    {"volatile_hashes.reap", call_reap_family},
    {"volatile_hash.acquire", call_acquire},
    {"volatile_hash.get_or_acquire", call_get_or_acquire},
    {"volatile_hash.renew", call_renew},
    {"volatile_hash.release", call_release},
    {"volatile_hash.holder", call_holder},
    {NULL, NULL},
};
