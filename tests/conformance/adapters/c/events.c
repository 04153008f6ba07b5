/* The calls of a queue of events. */

#include "event_values.h"

#include "task_values.h"

#include <stdlib.h>
#include <string.h>

/* The names of enums, from 1 on; each list ends with NULL. */
static const char *const STATES[] = {"scheduled", "behind", "ready", "leased", "retry", "dead", "done", NULL};
static const char *const REASONS[] = {"rejected", "exhausted", "crashed", NULL};
static const char *const IF_EXISTS[] = {"error", "ignore", "replace", NULL};
static const char *const STATUSES[] = {"created", "duplicate", "replaced", NULL};
static const char *const SETTLED[] = {"lost", "ended", "gone", "died", "cancelled", NULL};
static const char *const HELD[] = {"lost", "held", "cancelled", NULL};
static const char *const CANCELLED[] = {"gone", "removed", "running", NULL};
static const char *const RESCHEDULED[] = {"gone", "rescheduled", "too_late", NULL};
static const char *const MISSED[] = {"latest", "expire", NULL};
static const char *const OVERLAP[] = {"wait", "allow", NULL};
static const char *const PUT[] = {"created", "unchanged", "updated", "ignored", NULL};
static const char *const REDRIVEN[] = {"gone", "redriven", "not_dead", NULL};

/* The number of the name in this field; 0 if there is none. */
static uint32_t number_of(struct request *request, json_t *of, const char *field, const char *const *names) {
    const char *name = json_string_value(json_object_get(of, field));
    if (!is_given(of, field))
        return 0;
    for (uint32_t i = 0; name != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i + 1;
    unsupported(request, "other words than an enum has");
    return 0;
}

/* Many, by their names; frees them. */
static json_t *json_names(uint32_t *numbers, size_t count, const char *const *names) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, numbers[i] == 0 ? json_null() : json_string(names[numbers[i] - 1]));
    free(numbers);
    return list;
}

static json_t *json_known(int64_t number) {
    return number == MILLPOND_NOT_SET ? json_null() : json_integer(number);
}

millpond_events_queue *events_of(struct request *request) {
    millpond_bytes name = text(request, request->on, "name");
    millpond_events_queue *queue = NULL;
    if (request->unsupported == NULL)
        millpond_events_queue_new(client, name.data, name.length, &queue, &request->error);
    return queue;
}

json_t *json_event(const millpond_event *event) {
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:o,s:I,s:I,s:I,s:o,s:o,s:s,s:I,s:o}", "id", json_text(event->id), "key",
        json_bytes(event->key.data, event->key.length), "payload",
        json_bytes(event->payload.data, event->payload.length), "headers", json_headers(event->headers),
        "fire_at_us", (json_int_t)event->fire_at_us, "published_at_us", (json_int_t)event->published_at_us,
        "expires_at_us", json_known(event->expires_at_us), "dedup_id", json_text(event->dedup_id), "attempts",
        (json_int_t)event->attempts, "crashes", (json_int_t)event->crashes, "redriven",
        (json_int_t)event->redriven, "err", json_text(event->err), "reason",
        event->reason == 0 ? json_null() : json_string(REASONS[event->reason - 1]), "state",
        STATES[event->state - 1], "state_at_us", (json_int_t)event->state_at_us, "token",
        json_bytes(event->token.data, event->token.length));
}

static json_t *json_events(const millpond_events_result *result) {
    json_t *list = json_array();
    const millpond_event *event;
    for (size_t i = 0; (event = millpond_events_result_event(result, i)) != NULL; i++)
        json_array_append_new(list, json_event(event));
    return list;
}

/* What became of events that were to be published; frees it. */
static json_t *json_published(millpond_events_result *result) {
    json_t *list = json_array();
    const millpond_published_event *one;
    for (size_t i = 0; (one = millpond_events_result_published(result, i)) != NULL; i++)
        json_array_append_new(list, json_pack("{s:o,s:s,s:I}", "id", json_text(one->id), "status",
                                              STATUSES[one->status - 1], "fire_at_us",
                                              (json_int_t)one->fire_at_us));
    millpond_events_result_free(result);
    return list;
}

/* The first of a list, or null; frees the list. */
static json_t *first_of(json_t *list) {
    json_t *one = json_array_size(list) == 0 ? json_null() : json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

static void read_new_event(struct request *request, json_t *of, millpond_new_event *event) {
    millpond_new_event_init(event, sizeof *event);
    event->payload = text(request, of, "payload");
    event->key = text(request, of, "key");
    event->at_ms = whole(request, of, "at_ms");
    event->delay_ms = whole(request, of, "delay_ms");
    event->ttl_ms = whole(request, of, "ttl_ms");
    event->dedup_id = text(request, of, "dedup_id");
    event->dedup_window_ms = whole(request, of, "dedup_window_ms");
    event->headers = headers(request, of);
    uint32_t if_exists = number_of(request, of, "if_exists", IF_EXISTS);
    if (if_exists != 0)
        event->if_exists = if_exists;
}

static millpond_new_event *new_events(struct request *request, size_t *count) {
    json_t *list = json_object_get(request->json, "events"), *item;
    size_t i;
    *count = json_array_size(list);
    millpond_new_event *events = allocate(request, *count, sizeof *events);
    json_array_foreach(list, i, item) read_new_event(request, item, &events[i]);
    return events;
}

static millpond_event_receipt receipt(struct request *request, json_t *of) {
    millpond_event_receipt found = {text(request, of, "id"), text(request, of, "token")};
    return found;
}

static millpond_event_receipt delivery_of(struct request *request) {
    return receipt(request, json_object_get(request->json, "delivery"));
}

static millpond_event_receipt *deliveries_of(struct request *request, size_t *count) {
    json_t *list = json_object_get(request->json, "deliveries"), *item;
    size_t i;
    *count = json_array_size(list);
    millpond_event_receipt *found = allocate(request, *count, sizeof *found);
    json_array_foreach(list, i, item) found[i] = receipt(request, item);
    return found;
}

/* Makes a call on the queue of the request, of which `queue` is the handle. */
#define ON_QUEUE(call)                                                                             \
    do {                                                                                           \
        millpond_events_queue *queue = events_of(request);                                         \
        if (queue != NULL)                                                                         \
            call;                                                                                  \
        millpond_events_queue_free(queue);                                                         \
    } while (0)

static json_t *call_publish(struct request *request) {
    millpond_new_event event;
    millpond_events_result *result = NULL;
    read_new_event(request, request->json, &event);
    ON_QUEUE(millpond_events_publish(queue, &event, &result, &request->error));
    return first_of(json_published(result));
}

static json_t *call_publish_call(struct request *request) {
    millpond_new_event event;
    millpond_keys *command = NULL;
    json_t *parts = json_array();
    read_new_event(request, request->json, &event);
    ON_QUEUE(millpond_events_publish_call(queue, &event, &command, &request->error));
    const millpond_bytes *part = millpond_keys_data(command);
    for (size_t i = 0; i < millpond_keys_length(command); i++)
        json_array_append_new(parts, json_bytes(part[i].data, part[i].length));
    millpond_keys_free(command);
    return parts;
}

static json_t *call_publish_many(struct request *request) {
    size_t length;
    millpond_new_event *events = new_events(request, &length);
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_publish_many(queue, events, length, &result, &request->error));
    return json_published(result);
}

static json_t *call_receive(struct request *request) {
    uint64_t max = size(request, "max");
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_receive(queue, max, &result, &request->error));
    json_t *list = json_events(result);
    millpond_events_result_free(result);
    return list;
}

/* The first batch of the loop. */
static json_t *call_deliveries(struct request *request) {
    int64_t lease_ms = whole(request, request->json, "lease_ms");
    int64_t wait_ms = wait_of(request, request->json, "wait_ms");
    uint64_t max = is_given(request->json, "max") ? size(request, "max") : 1;
    millpond_bytes range = text(request, request->json, "key_range");
    millpond_events_result *result = NULL;
    millpond_events_deliveries *loop = NULL;
    ON_QUEUE(millpond_events_deliveries_new(queue, lease_ms, max, wait_ms, range.data, range.length, &loop, &request->error));
    if (loop != NULL)
        millpond_events_deliveries_next(loop, &result, &request->error);
    json_t *list = json_events(result);
    millpond_events_result_free(result);
    millpond_events_deliveries_free(loop);
    return list;
}

static json_t *call_ack(struct request *request) {
    millpond_event_receipt delivery = delivery_of(request);
    ON_QUEUE(millpond_events_ack(queue, &delivery, &request->error));
    return json_null();
}

static json_t *call_nack(struct request *request) {
    millpond_event_receipt delivery = delivery_of(request);
    millpond_bytes err = text(request, request->json, "err");
    int64_t delay_ms = whole(request, request->json, "after_ms");
    ON_QUEUE(millpond_events_nack(queue, &delivery, err.data, err.length, delay_ms, &request->error));
    return json_null();
}

static json_t *call_release(struct request *request) {
    millpond_event_receipt delivery = delivery_of(request);
    int64_t delay_ms = whole(request, request->json, "after_ms");
    ON_QUEUE(millpond_events_release(queue, &delivery, delay_ms, &request->error));
    return json_null();
}

static json_t *call_dead_letter(struct request *request) {
    millpond_event_receipt delivery = delivery_of(request);
    millpond_bytes why = text(request, request->json, "reason");
    ON_QUEUE(millpond_events_dead_letter(queue, &delivery, why.data, why.length, &request->error));
    return json_null();
}

static json_t *call_ack_many(struct request *request) {
    size_t length;
    millpond_event_receipt *deliveries = deliveries_of(request, &length);
    uint32_t *outcomes = calloc(length + 1, sizeof *outcomes);
    ON_QUEUE(millpond_events_ack_many(queue, deliveries, length, outcomes, &request->error));
    return json_names(outcomes, length, SETTLED);
}

static json_t *call_ack_with(struct request *request) {
    size_t length;
    millpond_event_receipt delivery = delivery_of(request);
    millpond_new_event *events = new_events(request, &length);
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_ack_with(queue, &delivery, events, length, &result, &request->error));
    return json_published(result);
}

static json_t *call_renew(struct request *request) {
    size_t length;
    millpond_event_receipt *deliveries = deliveries_of(request, &length);
    int64_t lease_ms = whole(request, request->json, "lease_ms");
    uint32_t *outcomes = calloc(length + 1, sizeof *outcomes);
    ON_QUEUE(millpond_events_renew(queue, deliveries, length, lease_ms, outcomes, &request->error));
    return json_names(outcomes, length, HELD);
}

static json_t *call_cancel(struct request *request) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    bool running = is_true(request->json, "also_running"), force = is_true(request->json, "force");
    uint32_t *outcomes = calloc(length + 1, sizeof *outcomes);
    ON_QUEUE(millpond_events_cancel(queue, ids, length, running, force, outcomes, &request->error));
    return json_names(outcomes, length, CANCELLED);
}

static json_t *call_reschedule(struct request *request) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    uint64_t delay_ms = size(request, "delay_ms");
    uint32_t *outcomes = calloc(length + 1, sizeof *outcomes);
    ON_QUEUE(millpond_events_reschedule(queue, ids, length, delay_ms, outcomes, &request->error));
    return json_names(outcomes, length, RESCHEDULED);
}

static json_t *call_reschedule_at_ms(struct request *request) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    uint64_t at_ms = size(request, "at_ms");
    uint32_t *outcomes = calloc(length + 1, sizeof *outcomes);
    ON_QUEUE(millpond_events_reschedule_at_ms(queue, ids, length, at_ms, outcomes, &request->error));
    return json_names(outcomes, length, RESCHEDULED);
}

/* Of each id the event, or null. */
static json_t *call_fetch(struct request *request) {
    size_t length, i;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_fetch(queue, ids, length, &result, &request->error));
    json_t *found = json_events(result), *list = json_array(), *event;
    for (i = 0; i < length; i++) {
        json_t *id = json_text(ids[i]), *own = json_null();
        size_t at;
        json_array_foreach(found, at, event) {
            if (json_equal(json_object_get(event, "id"), id))
                own = json_incref(event);
        }
        json_array_append_new(list, own);
        json_decref(id);
    }
    json_decref(found);
    millpond_events_result_free(result);
    return list;
}

static json_t *call_list(struct request *request) {
    json_t *json = request->json, *after = json_object_get(json, "after");
    uint32_t state = number_of(request, json, "state", STATES);
    millpond_event_position position;
    millpond_event_query query;
    millpond_event_query_init(&query, sizeof query);
    query.key = text(request, json, "key");
    query.since_us = whole(request, json, "since_us");
    query.before_us = whole(request, json, "before_us");
    query.limit = whole(request, json, "limit");
    if (is_given(json, "after")) {
        position.state_at_us = count(request, after, "state_at_us");
        position.id = text(request, after, "id");
        query.after = &position;
    }
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_list(queue, state, &query, &result, &request->error));
    if (result == NULL)
        return NULL;
    const millpond_event_position *next = millpond_events_result_data(result)->next;
    json_t *page = json_pack("{s:o,s:o}", "events", json_events(result), "next",
                             next == NULL ? json_null()
                                          : json_pack("{s:I,s:o}", "state_at_us", (json_int_t)next->state_at_us,
                                                      "id", json_text(next->id)));
    millpond_events_result_free(result);
    return page;
}

static json_t *call_redrive(struct request *request) {
    size_t length;
    millpond_bytes *ids = texts(request, request->json, "ids", &length);
    uint32_t *outcomes = calloc(length + 1, sizeof *outcomes);
    ON_QUEUE(millpond_events_redrive(queue, ids, length, outcomes, &request->error));
    return json_names(outcomes, length, REDRIVEN);
}

static json_t *call_redrive_all(struct request *request) {
    json_t *json = request->json;
    uint64_t number = 0;
    millpond_event_redrive_filter filter;
    millpond_event_redrive_filter_init(&filter, sizeof filter);
    uint32_t reason = number_of(request, json, "reason", REASONS);
    if (reason != 0)
        filter.reason = reason;
    filter.since_us = whole(request, json, "since_us");
    filter.before_us = whole(request, json, "before_us");
    filter.max = whole(request, json, "max");
    filter.per_second = whole(request, json, "per_second");
    ON_QUEUE(millpond_events_redrive_all(queue, &filter, &number, &request->error));
    return json_integer((json_int_t)number);
}

static json_t *call_purge(struct request *request) {
    uint64_t number = 0;
    uint32_t state = number_of(request, request->json, "state", STATES);
    millpond_event_purge_filter filter;
    millpond_event_purge_filter_init(&filter, sizeof filter);
    filter.key = text(request, request->json, "key");
    filter.before_us = whole(request, request->json, "before_us");
    ON_QUEUE(millpond_events_purge(queue, state, &filter, &number, &request->error));
    return json_integer((json_int_t)number);
}

static void read_schedule(struct request *request, json_t *of, millpond_schedule *schedule) {
    millpond_schedule_init(schedule, sizeof *schedule);
    schedule->id = text(request, of, "id");
    schedule->cron = text(request, of, "cron");
    schedule->zone = text(request, of, "zone");
    schedule->every_ms = whole(request, of, "every_ms");
    schedule->anchor_ms = whole(request, of, "anchor_ms");
    schedule->payload = text(request, of, "payload");
    schedule->headers = headers(request, of);
    schedule->ttl_ms = whole(request, of, "ttl_ms");
    schedule->grace_ms = whole(request, of, "grace_ms");
    schedule->until_ms = whole(request, of, "until_ms");
    if (is_given(of, "from_ms"))
        schedule->from_ms = count(request, of, "from_ms");
    if (is_given(of, "revision"))
        schedule->revision = count(request, of, "revision");
    uint32_t missed = number_of(request, of, "missed", MISSED);
    uint32_t overlap = number_of(request, of, "overlap", OVERLAP);
    if (missed != 0)
        schedule->missed = missed;
    if (overlap != 0)
        schedule->overlap = overlap;
}

static json_t *call_put_schedule(struct request *request) {
    millpond_schedule schedule;
    uint32_t outcome = 0;
    read_schedule(request, request->json, &schedule);
    ON_QUEUE(millpond_events_put_schedule(queue, &schedule, &outcome, &request->error));
    return outcome == 0 ? NULL : json_string(PUT[outcome - 1]);
}

static json_t *call_sync_schedules(struct request *request) {
    json_t *list = json_object_get(request->json, "schedules"), *item;
    size_t i, length = json_array_size(list);
    millpond_bytes owner = text(request, request->json, "owner");
    uint64_t revision = size(request, "revision");
    millpond_schedule *schedules = allocate(request, length, sizeof *schedules);
    json_array_foreach(list, i, item) read_schedule(request, item, &schedules[i]);
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_sync_schedules(queue, owner.data, owner.length, revision, schedules, length, &result,
                                            &request->error));
    if (result == NULL)
        return NULL;
    const millpond_schedules_synced *synced = millpond_events_result_data(result)->synced;
    json_t *json = json_pack("{s:b,s:I,s:I,s:I,s:I}", "ignored", (int)synced->ignored, "created",
                             (json_int_t)synced->created, "updated", (json_int_t)synced->updated, "unchanged",
                             (json_int_t)synced->unchanged, "removed", (json_int_t)synced->removed);
    millpond_events_result_free(result);
    return json;
}

/* Schedules; frees them. */
static json_t *json_schedules(millpond_events_result *result) {
    json_t *list = json_array();
    const millpond_schedule_info *one;
    for (size_t i = 0; (one = millpond_events_result_schedule(result, i)) != NULL; i++)
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:b,s:o,s:o,s:I,s:I,s:o}", "id", json_text(one->id), "cron",
                            json_text(one->cron), "zone", json_text(one->zone), "every_ms",
                            json_known(one->every_ms), "payload",
                            json_bytes(one->payload.data, one->payload.length), "paused", (int)one->paused,
                            "next_us", json_known(one->next_us), "passed_us", json_known(one->passed_us), "missed",
                            (json_int_t)one->missed, "revision", (json_int_t)one->revision, "owner",
                            json_text(one->owner)));
    millpond_events_result_free(result);
    return list;
}

static json_t *call_get_schedule(struct request *request) {
    millpond_bytes id = text(request, request->json, "id");
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_get_schedule(queue, id.data, id.length, &result, &request->error));
    return first_of(json_schedules(result));
}

static json_t *call_list_schedules(struct request *request) {
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_list_schedules(queue, &result, &request->error));
    return json_schedules(result);
}

static json_t *call_trigger_schedule(struct request *request) {
    millpond_bytes id = text(request, request->json, "id");
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_trigger_schedule(queue, id.data, id.length, &result, &request->error));
    return first_of(json_published(result));
}

typedef millpond_status on_schedule(millpond_events_queue *, const char *, size_t, bool *, millpond_error **);

static json_t *call_on_schedule(struct request *request, on_schedule *function) {
    millpond_bytes id = text(request, request->json, "id");
    bool found = false;
    ON_QUEUE(function(queue, id.data, id.length, &found, &request->error));
    return json_boolean(found);
}

static json_t *call_remove_schedule(struct request *request) {
    return call_on_schedule(request, millpond_events_remove_schedule);
}

static json_t *call_pause_schedule(struct request *request) {
    return call_on_schedule(request, millpond_events_pause_schedule);
}

static json_t *call_resume_schedule(struct request *request) {
    return call_on_schedule(request, millpond_events_resume_schedule);
}

static json_t *call_delete(struct request *request) {
    ON_QUEUE(millpond_events_delete(queue, &request->error));
    return json_null();
}

static json_t *call_stats(struct request *request) {
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_stats(queue, &result, &request->error));
    if (result == NULL)
        return NULL;
    const millpond_event_stats *stats = millpond_events_result_data(result)->stats;
    json_t *json = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "events", (json_int_t)stats->events,
                             "scheduled", (json_int_t)stats->scheduled, "ready", (json_int_t)stats->ready,
                             "leased", (json_int_t)stats->leased, "retry", (json_int_t)stats->retry, "dead",
                             (json_int_t)stats->dead, "behind", (json_int_t)stats->behind, "dedup_ids", (json_int_t)stats->dedup_ids,
                             "ready_since_us", json_known(stats->ready_since_us), "now_us",
                             (json_int_t)stats->now_us, "concurrency", (json_int_t)stats->concurrency, "rate",
                             (json_int_t)stats->rate, "rate_left", (json_int_t)stats->rate_left, "done", (json_int_t)stats->done, "schedules",
                             (json_int_t)stats->schedules, "largest_partition",
                             (json_int_t)stats->largest_partition);
    millpond_events_result_free(result);
    return json;
}

static json_t *call_configure(struct request *request) {
    json_t *json = request->json;
    millpond_event_config_change change;
    millpond_event_config_change_init(&change, sizeof change);
    change.partitions = whole(request, json, "partitions");
    change.max_attempts = whole(request, json, "max_attempts");
    change.max_crashes = whole(request, json, "max_crashes");
    change.events_max = whole(request, json, "events_max");
    change.dedup_ids_max = whole(request, json, "dedup_ids_max");
    change.concurrency = whole(request, json, "concurrency");
    change.rate = whole(request, json, "rate");
    change.burst = whole(request, json, "burst");
    change.lease_ms = whole(request, json, "lease_ms");
    change.backoff_min_ms = whole(request, json, "backoff_min_ms");
    change.backoff_max_ms = whole(request, json, "backoff_max_ms");
    change.retention_ms = whole(request, json, "retention_ms");
    if (is_given(json, "paused"))
        change.paused = is_true(json, "paused");
    ON_QUEUE(millpond_events_configure(queue, &change, &request->error));
    return json_null();
}

static json_t *call_config(struct request *request) {
    millpond_events_result *result = NULL;
    ON_QUEUE(millpond_events_config(queue, &result, &request->error));
    if (result == NULL)
        return json_null();
    const millpond_event_config *config = millpond_events_result_data(result)->config;
    json_t *json =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:I,s:I,s:I,s:I}", "partitions", (json_int_t)config->partitions,
                  "lease_ms", (json_int_t)config->lease_ms, "max_attempts", (json_int_t)config->max_attempts,
                  "max_crashes", (json_int_t)config->max_crashes, "backoff_min_ms",
                  (json_int_t)config->backoff_min_ms, "backoff_max_ms", (json_int_t)config->backoff_max_ms,
                  "events_max", (json_int_t)config->events_max, "dedup_ids_max",
                  (json_int_t)config->dedup_ids_max, "paused", config->paused, "concurrency",
                  (json_int_t)config->concurrency, "rate", (json_int_t)config->rate, "burst",
                  (json_int_t)config->burst, "retention_ms", (json_int_t)config->retention_ms);
    millpond_events_result_free(result);
    return json;
}

static json_t *call_pause(struct request *request) {
    ON_QUEUE(millpond_events_pause(queue, &request->error));
    return json_null();
}

static json_t *call_resume(struct request *request) {
    ON_QUEUE(millpond_events_resume(queue, &request->error));
    return json_null();
}

static json_t *call_reshard(struct request *request) {
    size_t partitions = (size_t)whole(request, request->json, "partitions");
    ON_QUEUE(millpond_events_reshard(queue, partitions, &request->error));
    return json_null();
}

static json_t *call_reshard_step(struct request *request) {
    size_t partitions = (size_t)whole(request, request->json, "partitions");
    uint64_t number = 0;
    ON_QUEUE(millpond_events_reshard_step(queue, partitions, &number, &request->error));
    return json_integer((json_int_t)number);
}

const struct call event_calls[] = {
    {"events.publish", call_publish},
    {"events.publish_call", call_publish_call},
    {"events.publish_many", call_publish_many},
    {"events.receive", call_receive},
    {"events.deliveries", call_deliveries},
    {"events.ack", call_ack},
    {"events.nack", call_nack},
    {"events.release", call_release},
    {"events.dead_letter", call_dead_letter},
    {"events.ack_many", call_ack_many},
    {"events.ack_with", call_ack_with},
    {"events.renew", call_renew},
    {"events.cancel", call_cancel},
    {"events.reschedule", call_reschedule},
    {"events.reschedule_at_ms", call_reschedule_at_ms},
    {"events.fetch", call_fetch},
    {"events.list", call_list},
    {"events.redrive", call_redrive},
    {"events.redrive_all", call_redrive_all},
    {"events.purge", call_purge},
    {"events.reshard", call_reshard},
    {"events.reshard_step", call_reshard_step},
    {"events.put_schedule", call_put_schedule},
    {"events.sync_schedules", call_sync_schedules},
    {"events.remove_schedule", call_remove_schedule},
    {"events.get_schedule", call_get_schedule},
    {"events.list_schedules", call_list_schedules},
    {"events.pause_schedule", call_pause_schedule},
    {"events.resume_schedule", call_resume_schedule},
    {"events.trigger_schedule", call_trigger_schedule},
    {"events.delete", call_delete},
    {"events.stats", call_stats},
    {"events.configure", call_configure},
    {"events.config", call_config},
    {"events.pause", call_pause},
    {"events.resume", call_resume},
    {NULL, NULL},
};
