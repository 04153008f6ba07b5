/* The jobs of workers, by a loop and by a handler, and what is done later. */

#define _POSIX_C_SOURCE 200809L

#include "event_values.h"
#include "shuffle_values.h"
#include "task_values.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sleep_ms(int64_t milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    if (milliseconds > 0)
        nanosleep(&time, NULL);
}

/* Sets the options that the workers of all queues have. */
#define SET_OPTIONS(request, options)                                                              \
    do {                                                                                           \
        (options).lease_ms = whole(request, (request)->json, "lease_ms");                          \
        (options).prefetch = (uint32_t)count(request, (request)->json, "prefetch");                \
        if (json_object_get((request)->json, "concurrency") != NULL)                               \
            (options).concurrency = (uint32_t)count(request, (request)->json, "concurrency");      \
        (options).timeout_ms = whole(request, (request)->json, "timeout_ms");                      \
        (options).budget_ms = whole(request, (request)->json, "budget_ms");                        \
    } while (0)

/* Sets those that the configuration of a queue of events has. */
#define SET_BACKOFF(request, options)                                                              \
    do {                                                                                           \
        (options).backoff_ms = whole(request, (request)->json, "backoff_ms");                      \
        (options).backoff_max_ms = whole(request, (request)->json, "backoff_max_ms");              \
    } while (0)

/* The worker of a request; NULL after an error. */
static millpond_tasks_worker *worker_of(struct request *request) {
    json_t *json = request->json;
    size_t queue_count;
    millpond_bytes *queues = texts(request, json, "queues", &queue_count);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_worker *worker = NULL;
    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    SET_OPTIONS(request, options);
    SET_BACKOFF(request, options);
    options.wait_ms = wait_of(request, json, "wait_ms");
    if (json_object_get(json, "max_attempts") != NULL)
        options.max_attempts = (uint32_t)count(request, json, "max_attempts");
    if (json_object_get(json, "max_crashes") != NULL)
        options.max_crashes = (uint32_t)count(request, json, "max_crashes");
    options.error_queue = text(request, json, "error_queue");
    if (store != NULL)
        millpond_tasks_worker_new(store, queues, queue_count, &options, &worker, &request->error);
    millpond_tasks_store_free(store);
    return worker;
}

/* The same of a shuffle queue. */
static millpond_shuffle_worker *shuffle_worker_of(struct request *request) {
    millpond_shuffle_worker *worker = NULL;
    millpond_shuffle_worker_options options;
    millpond_shuffle_worker_options_init(&options, sizeof options);
    SET_OPTIONS(request, options);
    SET_BACKOFF(request, options);
    options.delete_done = is_true(request->json, "delete");
    millpond_shuffle_consumer *consumer = consumer_of(request);
    if (consumer != NULL)
        millpond_shuffle_worker_new(consumer, &options, &worker, &request->error);
    millpond_shuffle_consumer_free(consumer);
    return worker;
}

/* The same of a queue of events. */
static millpond_events_worker *events_worker_of(struct request *request) {
    millpond_events_worker *worker = NULL;
    millpond_events_worker_options options;
    millpond_events_worker_options_init(&options, sizeof options);
    SET_OPTIONS(request, options);
    options.key_range = text(request, request->json, "key_range");
    millpond_events_queue *queue = events_of(request);
    if (queue != NULL)
        millpond_events_worker_new(queue, &options, &worker, &request->error);
    millpond_events_queue_free(queue);
    return worker;
}

/* Claims all documents that the job asks for, into a list. */
static json_t *claim_docs(struct request *request, millpond_tasks_job *job, json_t *how,
                          millpond_error **error) {
    json_t *list = json_object_get(how, "claim_docs"), *found = json_array(), *item;
    int64_t wait_ms = wait_of(request, how, "claim_wait_ms");
    size_t i;
    json_array_foreach(list, i, item) {
        millpond_bytes space = bytes(request, json_array_get(item, 0));
        json_t *named = json_array_get(item, 1), *key;
        size_t count = json_is_array(named) ? json_array_size(named) : 1, j;
        millpond_bytes *keys = allocate(request, count, sizeof *keys);
        if (json_is_array(named))
            json_array_foreach(named, j, key) keys[j] = bytes(request, key);
        else
            keys[0] = bytes(request, named);
        millpond_tasks_result *result;
        if (millpond_tasks_job_claim_docs(job, space.data, space.length, keys, count, wait_ms,
                                          &result, error) != MILLPOND_OK)
            break;
        const millpond_tasks_data *data = millpond_tasks_result_data(result);
        json_t *docs = json_docs(result, 0, data->doc_count);
        json_array_extend(found, docs);
        json_decref(docs);
        millpond_tasks_result_free(result);
    }
    return found;
}

/* Ends the job as the request says; returns the result. */
static json_t *end(struct request *request, millpond_tasks_job *job, json_t *how,
                   millpond_error **error) {
    const char *then = json_string_value(json_object_get(how, "then"));
    millpond_bytes err = text(request, how, "err"), queue = text(request, how, "queue");
    if (then == NULL || strcmp(then, "leave") == 0) {
        /* The job is dropped as it is. */
    } else if (strcmp(then, "done") == 0) {
        millpond_tasks_job_done(job, error);
    } else if (strcmp(then, "finish") == 0) {
        millpond_tasks_modification given = modification(request, json_object_get(how, "modification"));
        millpond_tasks_result *result;
        if (millpond_tasks_job_finish(job, &given, &result, error) == MILLPOND_OK)
            return json_modified(result);
    } else if (strcmp(then, "retry") == 0) {
        millpond_tasks_job_retry(job, err.data, err.length, whole(request, how, "after_ms"), error);
    } else if (strcmp(then, "move") == 0) {
        millpond_tasks_job_move(job, queue.data, queue.length, err.data, err.length, error);
    } else if (strcmp(then, "release") == 0) {
        millpond_tasks_job_release(job, whole(request, how, "after_ms"), error);
    } else {
        unsupported(request, "this end of a job");
    }
    return json_null();
}

/* A job of one of the queues. */
struct held {
    millpond_tasks_job *task;
    millpond_shuffle_job *message;
    millpond_events_job *event;
};

static bool is_lost(struct held held) {
    bool lost = false;
    if (held.task != NULL)
        millpond_tasks_job_is_lost(held.task, &lost, NULL);
    else if (held.event != NULL)
        millpond_events_job_is_lost(held.event, &lost, NULL);
    else
        millpond_shuffle_job_is_lost(held.message, &lost, NULL);
    return lost;
}

static bool is_late(struct held held) {
    int64_t left_ms = -1;
    if (held.task != NULL)
        millpond_tasks_job_time_left_ms(held.task, &left_ms, NULL);
    else if (held.event != NULL)
        millpond_events_job_time_left_ms(held.event, &left_ms, NULL);
    else
        millpond_shuffle_job_time_left_ms(held.message, &left_ms, NULL);
    return left_ms == 0;
}

/* What is seen of a job that begins. */
static json_t *seen_of(struct held held) {
    if (held.task != NULL)
        return json_pack("{s:o}", "task", json_task(millpond_tasks_job_data(held.task)->tasks));
    if (held.event != NULL)
        return json_pack("{s:o}", "event", json_event(millpond_events_job_data(held.event)->events));
    return json_pack("{s:o}", "message", json_message(millpond_shuffle_job_data(held.message)));
}

/* Does what a job has to do before its end; returns its documents. */
static json_t *begin(struct request *request, struct held held, json_t *how, millpond_error **error) {
    json_t *docs = held.task != NULL ? claim_docs(request, held.task, how, error) : json_array(), *item;
    size_t i;
    if (*error == NULL) {
        json_array_foreach(json_object_get(how, "run"), i, item) {
            json_t *call = json_array_get(json_object_get(item, "calls"), 0), *on = json_array_get(call, 1);
            if (held.task != NULL && json_object_get(on, "claimant") == NULL) {
                millpond_bytes own = millpond_tasks_job_data(held.task)->tasks->claimant;
                json_object_set_new(on, "claimant", json_stringn(own.data, own.length));
            }
            json_decref(respond(item));
        }
        sleep_ms(whole(request, how, "sleep_ms"));
    }
    return docs;
}

/* Notes how the job ended; takes the result, and frees the error. */
static void note_outcome(json_t *seen, json_t *result, millpond_error *error) {
    json_t *outcome = error == NULL ? json_pack("{s:O}", "result", result)
                                   : json_pack("{s:o}", "error", json_error(error));
    json_object_set_new(seen, "answer", outcome);
    json_decref(result);
    millpond_error_free(error);
}

static json_t *call_work(struct request *request) {
    size_t i;
    millpond_tasks_worker *worker = worker_of(request);
    millpond_tasks_jobs *jobs = NULL;
    json_t *all = json_array(), *how;
    if (worker != NULL)
        millpond_tasks_worker_jobs(worker, &jobs, &request->error);
    json_array_foreach(json_object_get(request->json, "jobs"), i, how) {
        millpond_tasks_job *job;
        millpond_error *error = NULL;
        if (jobs == NULL || request->unsupported != NULL ||
            millpond_tasks_jobs_next(jobs, &job, &request->error) != MILLPOND_OK || job == NULL)
            break;
        struct held held = {.task = job};
        json_t *seen = seen_of(held);
        json_object_set_new(seen, "docs", begin(request, held, how, &error));
        json_object_set_new(seen, "is_lost", json_boolean(is_lost(held)));
        json_t *result = error == NULL ? end(request, job, how, &error) : json_null();
        note_outcome(seen, result, error);
        json_array_append_new(all, seen);
        millpond_tasks_job_free(job);
    }
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_worker_free(worker);
    return all;
}

/* For how long a handler waits for others to be at work. */
enum { TOGETHER_MS = 10000, SLICE_MS = 5 };

/* What the handler is called with, by several threads: what changes is behind the lock. */
struct handling {
    struct request *request;
    millpond_tasks_worker *tasks;
    millpond_shuffle_worker *shuffle;
    millpond_events_worker *events;
    pthread_mutex_t lock;
    json_t *all;
    /* How many handlers are at work, and how many were at most. */
    json_int_t at_work, most;
};

/* Decides what happens to a job, as the request says. */
static void decide(struct request *request, json_t *how, millpond_task_outcome *outcome) {
    const char *then = json_string_value(json_object_get(how, "then"));
    outcome->err = text(request, how, "err");
    if (strcmp(then, "finish") == 0) {
        millpond_tasks_modification *given = allocate(request, 1, sizeof *given);
        *given = modification(request, json_object_get(how, "modification"));
        outcome->end = MILLPOND_TASK_FINISH;
        outcome->modification = given;
    } else if (strcmp(then, "fail") == 0) {
        outcome->end = MILLPOND_TASK_FAIL;
    } else if (strcmp(then, "reject") == 0) {
        outcome->end = MILLPOND_TASK_REJECT;
    } else if (strcmp(then, "retry") == 0) {
        outcome->end = MILLPOND_TASK_RETRY;
        outcome->delay_ms = whole(request, how, "after_ms");
    } else if (strcmp(then, "move") == 0) {
        outcome->end = MILLPOND_TASK_MOVE;
        outcome->queue = text(request, how, "queue");
    } else if (strcmp(then, "release") == 0) {
        outcome->end = MILLPOND_TASK_RELEASE;
        outcome->delay_ms = whole(request, how, "after_ms");
    }
}

static void stop(struct handling *handling, int64_t within_ms) {
    if (handling->tasks != NULL)
        millpond_tasks_worker_stop(handling->tasks, within_ms, NULL);
    else if (handling->events != NULL)
        millpond_events_worker_stop(handling->events, within_ms, NULL);
    else
        millpond_shuffle_worker_stop(handling->shuffle, within_ms, NULL);
}

static json_int_t most_at_work(struct handling *handling) {
    pthread_mutex_lock(&handling->lock);
    json_int_t most = handling->most;
    pthread_mutex_unlock(&handling->lock);
    return most;
}

/* Begins the next job of the request; NULL if there is none. */
static json_t *next_of(struct handling *handling, struct held held, json_t **seen) {
    pthread_mutex_lock(&handling->lock);
    size_t begun = json_array_size(handling->all);
    json_t *how = json_array_get(json_object_get(handling->request->json, "jobs"), begun);
    if (how != NULL) {
        *seen = seen_of(held);
        json_array_append_new(handling->all, *seen);
        json_object_set_new(*seen, "kind", json_null());
        json_object_set_new(*seen, "told", json_null());
        if (++handling->at_work > handling->most)
            handling->most = handling->at_work;
    }
    pthread_mutex_unlock(&handling->lock);
    return how;
}

static void handle(struct handling *handling, struct held held, millpond_task_outcome *outcome) {
    millpond_error *error = NULL;
    struct request *request = handling->request;
    json_t *seen, *how = next_of(handling, held, &seen);
    int64_t left_ms;
    if (how == NULL) {
        outcome->end = MILLPOND_TASK_RETRY;
        outcome->err = (millpond_bytes){"no such job", 11};
        return;
    }
    json_int_t together = json_integer_value(json_object_get(how, "together"));
    for (left_ms = TOGETHER_MS; left_ms > 0 && most_at_work(handling) < together; left_ms -= SLICE_MS)
        sleep_ms(SLICE_MS);
    json_t *docs = begin(request, held, how, &error);
    if (error == NULL && is_given(how, "stop_ms"))
        stop(handling, whole(request, how, "stop_ms"));
    left_ms = error == NULL ? whole(request, how, "until_told_ms") : 0;
    for (; left_ms > 0 && !is_lost(held) && !is_late(held); left_ms -= SLICE_MS)
        sleep_ms(SLICE_MS);
    pthread_mutex_lock(&handling->lock);
    handling->at_work--;
    json_object_set_new(seen, "docs", docs);
    json_object_set_new(seen, "is_lost", json_boolean(is_lost(held)));
    json_object_set_new(seen, "is_late", json_boolean(is_late(held)));
    json_object_set_new(seen, "at_once", json_integer(handling->most));
    if (error == NULL) {
        decide(request, how, outcome);
    } else {
        size_t length = strlen(millpond_error_message(error));
        char *failure = allocate(request, length, 1);
        memcpy(failure, millpond_error_message(error), length);
        outcome->end = MILLPOND_TASK_FAIL;
        outcome->err = (millpond_bytes){failure, length};
    }
    note_outcome(seen, json_null(), error);
    pthread_mutex_unlock(&handling->lock);
}

static void handle_task(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    handle(context, (struct held){.task = job}, outcome);
}

static void handle_message(millpond_shuffle_job *job, millpond_task_outcome *outcome, void *context) {
    handle(context, (struct held){.message = job}, outcome);
}

static void handle_event(millpond_events_job *job, millpond_task_outcome *outcome, void *context) {
    handle(context, (struct held){.event = job}, outcome);
}

/* Notes what was reported of a job, by what it was taken as, which has this name in the reply. */
static void note_report(struct handling *handling, const millpond_report_data *data, const char *name,
                        json_t *taken) {
    size_t i;
    json_t *seen;
    pthread_mutex_lock(&handling->lock);
    json_array_foreach(handling->all, i, seen) {
        if (!json_equal(json_object_get(seen, name), taken))
            continue;
        json_object_set_new(seen, "kind", json_string(millpond_report_kind_name(data->kind)));
        json_object_set_new(seen, "told",
                            data->error == NULL ? json_null()
                                                : json_string(millpond_status_name(
                                                      millpond_error_code(data->error))));
    }
    pthread_mutex_unlock(&handling->lock);
    json_decref(taken);
}

static void on_task_report(const millpond_tasks_report *report, void *context) {
    const millpond_tasks_data *job = millpond_tasks_report_job_data(report);
    if (job != NULL)
        note_report(context, millpond_tasks_report_data(report), "task", json_task(job->tasks));
}

static void on_message_report(const millpond_shuffle_report *report, void *context) {
    const millpond_shuffle_message *job = millpond_shuffle_report_job_data(report);
    if (job != NULL)
        note_report(context, millpond_shuffle_report_data(report), "message", json_message(job));
}

static void on_event_report(const millpond_events_report *report, void *context) {
    const millpond_events_data *job = millpond_events_report_job_data(report);
    if (job != NULL)
        note_report(context, millpond_events_report_data(report), "event", json_event(job->events));
}

static void run(struct handling *handling, millpond_error **error) {
    if (handling->tasks != NULL)
        millpond_tasks_worker_run(handling->tasks, handle_task, on_task_report, handling, NULL, error);
    else if (handling->events != NULL)
        millpond_events_worker_run(handling->events, handle_event, on_event_report, handling, NULL, error);
    else
        millpond_shuffle_worker_run(handling->shuffle, handle_message, on_message_report, handling, NULL, error);
}

/* What one of several threads does; an error comes to one of them, and most of those of a request to the first. */
static void *run_beside(void *handling) {
    millpond_error *error = NULL;
    run(handling, &error);
    millpond_error_free(error);
    return NULL;
}

/* Runs on as many threads as the request says, of which this is one. */
static void run_on_threads(struct handling *handling) {
    enum { THREADS_MAX = 16 };
    pthread_t threads[THREADS_MAX];
    uint64_t wanted = count(handling->request, handling->request->json, "concurrency");
    size_t started = 0;
    while (started + 1 < wanted && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, run_beside, handling) == 0)
        started++;
    run(handling, &handling->request->error);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

/* Whether a handler can do what the request says in C. */
static bool is_possible(struct request *request) {
    static const char *const ends[] = {"done",  "value", "finish", "fail", "reject",
                                       "retry", "move",  "release"};
    size_t i, end, count = sizeof ends / sizeof *ends;
    json_t *how;
    json_array_foreach(json_object_get(request->json, "jobs"), i, how) {
        const char *then = json_string_value(json_object_get(how, "then"));
        for (end = 0; end < count && (then == NULL || strcmp(then, ends[end]) != 0);)
            end++;
        if (end == count)
            unsupported(request, "this end of a job");
    }
    return request->unsupported == NULL;
}

/* Whose jobs they are. */
enum of { OF_TASKS, OF_SHUFFLE, OF_EVENTS };

/* Has the worker of a queue do the jobs of a request. */
static json_t *handled(struct request *request, enum of of, bool drains) {
    struct handling handling = {.request = request, .all = json_array()};
    millpond_job_counts drained = {0};
    pthread_mutex_init(&handling.lock, NULL);
    if (is_possible(request)) {
        handling.tasks = of == OF_TASKS ? worker_of(request) : NULL;
        handling.shuffle = of == OF_SHUFFLE ? shuffle_worker_of(request) : NULL;
        handling.events = of == OF_EVENTS ? events_worker_of(request) : NULL;
    }
    if (handling.tasks != NULL && drains)
        millpond_tasks_worker_drain(handling.tasks, handle_task, on_task_report, &handling, &drained,
                                    &request->error);
    else if (handling.shuffle != NULL && drains)
        millpond_shuffle_worker_drain(handling.shuffle, handle_message, on_message_report, &handling,
                                      &drained, &request->error);
    else if (handling.events != NULL && drains)
        millpond_events_worker_drain(handling.events, handle_event, on_event_report, &handling, &drained,
                                     &request->error);
    else if (handling.tasks != NULL || handling.shuffle != NULL || handling.events != NULL)
        run_on_threads(&handling);
    millpond_events_worker_free(handling.events);
    millpond_tasks_worker_free(handling.tasks);
    millpond_shuffle_worker_free(handling.shuffle);
    pthread_mutex_destroy(&handling.lock);
    if (!drains)
        return handling.all;
    return json_pack("{s:o,s:{s:I,s:I,s:I,s:I}}", "jobs", handling.all, "drained", "done",
                     (json_int_t)drained.done, "retried", (json_int_t)drained.retried, "dead",
                     (json_int_t)drained.dead, "others", (json_int_t)drained.others);
}

static json_t *call_drain(struct request *request) {
    return handled(request, OF_TASKS, true);
}

static json_t *call_run(struct request *request) {
    return handled(request, OF_TASKS, false);
}

static json_t *call_shuffle_drain(struct request *request) {
    return handled(request, OF_SHUFFLE, true);
}

static json_t *call_shuffle_run(struct request *request) {
    return handled(request, OF_SHUFFLE, false);
}

static json_t *call_events_drain(struct request *request) {
    return handled(request, OF_EVENTS, true);
}

static json_t *call_events_run(struct request *request) {
    return handled(request, OF_EVENTS, false);
}

/* Takes over a request of its own, with the time in it. */
static void *make_later(void *argument) {
    json_t *json = argument;
    sleep_ms(json_integer_value(json_object_get(json, "ms")));
    json_t *response = respond(json_object_get(json, "request"));
    if (json_object_get(response, "result") == NULL) {
        json_dumpf(response, stderr, JSON_COMPACT);
        fputc('\n', stderr);
    }
    json_decref(response);
    json_decref(json);
    return NULL;
}

static json_t *call_later(struct request *request) {
    pthread_t thread;
    json_t *own = json_deep_copy(request->json);
    if (pthread_create(&thread, NULL, make_later, own) == 0)
        pthread_detach(thread);
    else
        unsupported(request, "a thread");
    return json_null();
}

const struct call task_work_calls[] = {
    {"tasks.work", call_work},
    {"tasks.drain", call_drain},
    {"tasks.run", call_run},
    {"shuffle_queue.drain", call_shuffle_drain},
    {"shuffle_queue.run", call_shuffle_run},
    {"events.drain", call_events_drain},
    {"events.run", call_events_run},
    {"later", call_later},
    {NULL, NULL},
};
