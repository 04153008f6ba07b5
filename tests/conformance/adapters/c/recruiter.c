/* The calls of recruiters, and the slices of their jobs: what a handler does in other languages is done here. */

#define _POSIX_C_SOURCE 200809L

#include "task_values.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A recruiter, until the client is closed. */
struct noted {
    char *name;
    size_t name_length;
    millpond_recruiter *recruiter;
    /* By the ids of the jobs: what their handlers do, and how many slices have begun. */
    json_t *turns;
    /* What was noted during the calls that are made. */
    json_t *slices, *errors;
    struct noted *next;
};

static struct noted *all;

static const char *const whys[] = {"worked",  "nothing", "aborted",  "failed",    "not_drawn", "not_due",     "denied",
                                   "busy",    "in_slice", "over_duty", "no_jobs", "unavailable", "stopped"};

void forget_recruiters(void) {
    while (all != NULL) {
        struct noted *first = all;
        all = first->next;
        millpond_recruiter_free(first->recruiter);
        json_decref(first->turns);
        json_decref(first->slices);
        json_decref(first->errors);
        free(first->name);
        free(first);
    }
}

/* The recruiter with the name of the request, or NULL. */
static struct noted *noted_of(struct request *request) {
    millpond_bytes name = text(request, request->on, "name");
    millpond_recruiter *recruiter;
    struct noted *found = all;
    while (found != NULL && (found->name_length != name.length || memcmp(found->name, name.data, name.length) != 0))
        found = found->next;
    if (found != NULL || request->unsupported != NULL ||
        millpond_recruiter_new(client, name.data, name.length, &recruiter, &request->error) != MILLPOND_OK)
        return found;
    found = calloc(1, sizeof *found);
    found->name = malloc(name.length + 1);
    memcpy(found->name, name.data, name.length);
    found->name_length = name.length;
    found->recruiter = recruiter;
    found->turns = json_object();
    found->slices = json_array();
    found->errors = json_array();
    found->next = all;
    return all = found;
}

/* Whether all that a handler returns are numbers of items. */
static bool can_be_done(json_t *turns) {
    json_t *turn;
    size_t i;
    json_array_foreach(turns, i, turn) {
        json_t *returns = json_object_get(turn, "returns");
        bool is_number = json_is_integer(returns) && json_integer_value(returns) >= 0;
        if (!is_number && !json_is_string(json_object_get(turn, "raises")))
            return false;
    }
    return true;
}

static json_t *call_install(struct request *request) {
    json_t *json = request->json, *turns = json_object_get(json, "handler");
    struct noted *noted = noted_of(request);
    millpond_new_job job;
    millpond_new_job_init(&job, sizeof job);
    job.id = text(request, json, "id");
    if (is_given(json, "per_second"))
        job.per_second = score(request, json_object_get(json, "per_second"));
    if (is_given(json, "share"))
        job.share = score(request, json_object_get(json, "share"));
    job.burst = whole(request, json, "burst");
    job.budget_ms = whole(request, json, "budget_ms");
    job.max_running = count(request, json, "max_running");
    job.lease_ms = whole(request, json, "lease_ms");
    job.idle_max_ms = whole(request, json, "idle_max_ms");
    if (!can_be_done(turns))
        unsupported(request, "what is no number of items");
    if (noted == NULL || request->unsupported != NULL ||
        millpond_recruiter_install(noted->recruiter, &job, &request->error) != MILLPOND_OK)
        return NULL;
    json_object_set_new(noted->turns, job.id.data, json_pack("{s:O,s:i}", "turns", turns, "count", 0));
    return json_null();
}

static json_t *call_uninstall(struct request *request) {
    struct noted *noted = noted_of(request);
    millpond_bytes job = text(request, request->json, "job");
    bool found = false;
    if (noted == NULL || request->unsupported != NULL)
        return NULL;
    millpond_recruiter_uninstall(noted->recruiter, job.data, job.length, &found, &request->error);
    if (found)
        json_object_del(noted->turns, job.data);
    return json_boolean(found);
}

/* What the handler of a job does next; the last for ever. The caller frees it. */
static json_t *next_turn(struct noted *noted, millpond_bytes job) {
    char id[65] = "";
    memcpy(id, job.data, job.length);
    json_t *handler = json_object_get(noted->turns, id), *turns = json_object_get(handler, "turns");
    json_int_t number = json_integer_value(json_object_get(handler, "count"));
    size_t last = json_array_size(turns) - 1;
    json_object_set_new(handler, "count", json_integer(number + 1));
    return json_incref(json_array_get(turns, (size_t)number < last ? (size_t)number : last));
}

static json_t *json_duty(millpond_duty duty) {
    return json_pack("{s:b,s:o,s:f,s:s}", "recruited", (int)duty.recruited, "job",
                     duty.job.data == NULL ? json_null() : json_text(duty.job), "took_ms", duty.took_us / 1000.0, "why",
                     whys[duty.why - 1]);
}

/* Does a slice, and frees it; returns the duty, or NULL. */
static json_t *play(struct request *request, struct noted *noted, millpond_recruiter_slice *slice) {
    millpond_error **error = &request->error;
    uint64_t budget_ms, remaining_ms, fence;
    bool is_over, is_lost;
    millpond_bytes job;
    millpond_duty duty;
    json_t *ran = json_array(), *item, *result = NULL;
    size_t i;
    millpond_recruiter_slice_job(slice, &job, error);
    json_t *turn = next_turn(noted, job), *raises = json_object_get(turn, "raises");
    int64_t sleep_ms = json_integer_value(json_object_get(turn, "sleep_ms"));
    struct timespec time = {sleep_ms / 1000, sleep_ms % 1000 * 1000000};
    nanosleep(&time, NULL);
    json_array_foreach(json_object_get(turn, "run"), i, item) json_array_append_new(ran, respond(item));
    if (is_true(turn, "more"))
        millpond_recruiter_slice_more(slice, error);
    if (is_true(turn, "abort"))
        millpond_recruiter_slice_abort(slice, error);
    millpond_recruiter_slice_budget(slice, &budget_ms, error);
    millpond_recruiter_slice_remaining(slice, &remaining_ms, error);
    millpond_recruiter_slice_is_over(slice, &is_over, error);
    millpond_recruiter_slice_fence(slice, &fence, error);
    millpond_recruiter_slice_is_lost(slice, &is_lost, error);
    json_array_append_new(noted->slices,
                          json_pack("{s:o,s:I,s:I,s:b,s:I,s:b,s:o}", "job", json_text(job), "budget_ms",
                                    (json_int_t)budget_ms, "remaining_ms", (json_int_t)remaining_ms, "is_over",
                                    (int)is_over, "fence", (json_int_t)fence, "is_lost", (int)is_lost, "ran", ran));
    uint64_t items = (uint64_t)json_integer_value(json_object_get(turn, "returns"));
    if (raises != NULL)
        json_array_append_new(noted->errors, json_pack("{s:o,s:O}", "job", json_text(job), "message", raises));
    if ((raises != NULL ? millpond_recruiter_slice_fail(slice, &duty, error)
                        : millpond_recruiter_slice_end(slice, items, &duty, error)) == MILLPOND_OK)
        result = json_duty(duty);
    json_decref(turn);
    millpond_recruiter_slice_free(slice);
    return result;
}

/* Notes an error of the server, and frees it. */
static void note_error(struct noted *noted, millpond_error *error) {
    if (error != NULL)
        json_array_append_new(noted->errors, json_pack("{s:n,s:s,s:s}", "job", "name",
                                                       millpond_status_name(millpond_error_code(error)), "message",
                                                       millpond_error_message(error)));
    millpond_error_free(error);
}

/* Takes the end of a list. */
static json_t *taken(json_t *list, size_t begin) {
    json_t *end = json_array();
    while (json_array_size(list) > begin) {
        json_array_append(end, json_array_get(list, begin));
        json_array_remove(list, begin);
    }
    return end;
}

/* How much was noted when a call began, which leaves that if it is made in a slice. */
struct begin {
    size_t slices, errors;
};

static struct begin begin(const struct noted *noted) {
    return (struct begin){noted != NULL ? json_array_size(noted->slices) : 0,
                          noted != NULL ? json_array_size(noted->errors) : 0};
}

/* What was noted since then. */
static json_t *noted_since(struct noted *noted, struct begin begin) {
    if (noted == NULL)
        return NULL;
    return json_pack("{s:o,s:o}", "slices", taken(noted->slices, begin.slices), "errors",
                     taken(noted->errors, begin.errors));
}

static json_t *call_enlist(struct request *request) {
    struct noted *noted = noted_of(request);
    int64_t budget_ms = whole(request, request->json, "budget_ms");
    uint64_t times = is_given(request->json, "times") ? size(request, "times") : 1;
    struct begin since = begin(noted);
    json_t *duties = json_array();
    for (; noted != NULL && request->unsupported == NULL && request->error == NULL && times > 0; times--) {
        millpond_recruiter_slice *slice = NULL;
        millpond_error *unavailable = NULL;
        millpond_duty duty;
        if (millpond_recruiter_enlist(noted->recruiter, budget_ms, &duty, &slice, &unavailable, &request->error) !=
            MILLPOND_OK)
            break;
        note_error(noted, unavailable);
        json_array_append_new(duties, slice != NULL ? play(request, noted, slice) : json_duty(duty));
    }
    json_t *result = noted_since(noted, since);
    json_object_set_new(result, "duties", duties);
    return result;
}

static json_t *call_run(struct request *request) {
    struct noted *noted = noted_of(request);
    struct begin since = begin(noted);
    millpond_recruiter_slices *slices = NULL;
    millpond_recruiter_slice *slice;
    if (noted != NULL)
        millpond_recruiter_slices_new(noted->recruiter, -1, &slices, &request->error);
    while (slices != NULL && request->error == NULL) {
        millpond_error *error = NULL;
        if (millpond_recruiter_slices_next(slices, &slice, &error) != MILLPOND_OK) {
            if (millpond_error_retry(error) == MILLPOND_RETRY_NEVER)
                request->error = error;
            else
                note_error(noted, error);
        } else if (slice != NULL) {
            json_decref(play(request, noted, slice));
        } else {
            break;
        }
    }
    millpond_recruiter_slices_free(slices);
    return noted_since(noted, since);
}

static json_t *call_is_due(struct request *request) {
    struct noted *noted = noted_of(request);
    bool due = false;
    if (noted != NULL)
        millpond_recruiter_is_due(noted->recruiter, &due, &request->error);
    return json_boolean(due);
}

static json_t *call_wake(struct request *request) {
    struct noted *noted = noted_of(request);
    millpond_bytes job = text(request, request->json, "job");
    if (noted != NULL && request->unsupported == NULL)
        millpond_recruiter_wake(noted->recruiter, job.data, job.length, &request->error);
    return json_null();
}

static json_t *call_stop(struct request *request) {
    struct noted *noted = noted_of(request);
    if (noted != NULL)
        millpond_recruiter_stop(noted->recruiter, &request->error);
    return json_null();
}

static json_t *json_job(const millpond_recruiter_job_stats *job) {
    return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "job", json_text(job->job), "backoff",
                     (json_int_t)job->backoff, "last_granted_us", (json_int_t)job->last_granted_us, "granted",
                     (json_int_t)job->granted, "worked", (json_int_t)job->worked, "nothing", (json_int_t)job->nothing,
                     "aborted", (json_int_t)job->aborted, "failed", (json_int_t)job->failed, "overran",
                     (json_int_t)job->overran, "items", (json_int_t)job->items, "busy_us", (json_int_t)job->busy_us,
                     "lost", (json_int_t)job->lost, "late", (json_int_t)job->late);
}

static json_t *call_stats(struct request *request) {
    struct noted *noted = noted_of(request);
    millpond_recruiter_result *result = NULL;
    const millpond_recruiter_job_stats *job;
    if (noted == NULL || millpond_recruiter_stats(noted->recruiter, &result, &request->error) != MILLPOND_OK)
        return NULL;
    const millpond_enlistment_stats *stats = millpond_recruiter_result_data(result)->stats;
    json_t *jobs = json_array();
    for (size_t i = 0; (job = millpond_recruiter_result_job(result, i)) != NULL; i++)
        json_array_append_new(jobs, json_job(job));
    json_t *json = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "enlisted", (json_int_t)stats->enlisted,
                             "not_drawn", (json_int_t)stats->not_drawn, "not_due", (json_int_t)stats->not_due, "denied",
                             (json_int_t)stats->denied, "busy", (json_int_t)stats->busy, "in_slice",
                             (json_int_t)stats->in_slice, "over_duty", (json_int_t)stats->over_duty, "no_jobs",
                             (json_int_t)stats->no_jobs, "unavailable", (json_int_t)stats->unavailable, "jobs", jobs);
    millpond_recruiter_result_free(result);
    return json;
}

static json_t *call_set_duty_max(struct request *request) {
    struct noted *noted = noted_of(request);
    double part = score(request, json_object_get(request->json, "part"));
    if (noted != NULL && request->unsupported == NULL)
        millpond_recruiter_set_duty_max(noted->recruiter, part, &request->error);
    return json_null();
}

static json_t *call_set_decision_timeout(struct request *request) {
    struct noted *noted = noted_of(request);
    uint64_t timeout_ms = count(request, request->json, "timeout_ms");
    if (noted != NULL && request->unsupported == NULL)
        millpond_recruiter_set_decision_timeout(noted->recruiter, timeout_ms, &request->error);
    return json_null();
}

const struct call recruiter_calls[] = {
    {"recruiter.install", call_install},
    {"recruiter.uninstall", call_uninstall},
    {"recruiter.enlist", call_enlist},
    {"recruiter.run", call_run},
    {"recruiter.is_due", call_is_due},
    {"recruiter.wake", call_wake},
    {"recruiter.stop", call_stop},
    {"recruiter.stats", call_stats},
    {"recruiter.set_duty_max", call_set_duty_max},
    {"recruiter.set_decision_timeout", call_set_decision_timeout},
    {NULL, NULL},
};
