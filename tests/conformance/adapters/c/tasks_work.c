/* The jobs of a worker, by a loop and by a handler, and what is done later. */

#define _POSIX_C_SOURCE 200809L

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

static millpond_tasks_worker_options options_of(struct request *request) {
    json_t *json = request->json;
    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.lease_ms = whole(request, json, "lease_ms");
    options.wait_ms = wait_of(request, json, "wait_ms");
    options.max_attempts = (uint32_t)count(request, json, "max_attempts");
    options.max_claims = (uint32_t)count(request, json, "max_claims");
    options.error_queue = text(request, json, "error_queue");
    if (is_given(json, "backoff_ms")) {
        options.backoff_ms = whole(request, json, "backoff_ms");
        options.backoff_max_ms = whole(request, json, "backoff_max_ms");
    }
    return options;
}

/* Claims all documents that the job asks for, into a list. */
static json_t *claim_docs(struct request *request, millpond_tasks_job *job, json_t *how,
                          millpond_error **error) {
    json_t *list = json_object_get(how, "claim_docs"), *found = json_array(), *item;
    int64_t wait_ms = wait_of(request, how, "claim_wait_ms");
    size_t i;
    json_array_foreach(list, i, item) {
        millpond_bytes space = bytes(request, json_array_get(item, 0));
        millpond_bytes key = bytes(request, json_array_get(item, 1));
        millpond_tasks_result *result;
        if (millpond_tasks_job_claim_docs(job, space.data, space.length, key.data, key.length,
                                          wait_ms, &result, error) != MILLPOND_OK)
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

/* Does what a job has to do before its end. */
static json_t *begin(struct request *request, millpond_tasks_job *job, json_t *how,
                     millpond_error **error) {
    const millpond_tasks_data *data = millpond_tasks_job_data(job);
    json_t *tasks = json_pack("[o]", json_task(data->tasks)), *item;
    size_t i;
    bool lost;
    json_t *docs = claim_docs(request, job, how, error);
    if (*error == NULL) {
        json_array_foreach(json_object_get(how, "run"), i, item) {
            json_t *store = json_array_get(json_array_get(json_object_get(item, "calls"), 0), 1);
            millpond_bytes own = data->tasks->claimant;
            if (json_object_get(store, "claimant") == NULL)
                json_object_set_new(store, "claimant", json_stringn(own.data, own.length));
            json_decref(respond(item));
        }
        sleep_ms(whole(request, how, "sleep_ms"));
    }
    millpond_tasks_job_is_lost(job, &lost, NULL);
    json_t *seen = json_pack("{s:O,s:o,s:b}", "task", json_array_get(tasks, 0), "docs", docs,
                             "is_lost", lost);
    json_decref(tasks);
    return seen;
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
    size_t queue_count, i;
    millpond_bytes *queues = texts(request, request->json, "queues", &queue_count);
    millpond_tasks_worker_options options = options_of(request);
    millpond_tasks_store *store = store_of(request);
    millpond_tasks_jobs *jobs = NULL;
    json_t *all = json_array(), *how;
    if (store != NULL)
        millpond_tasks_jobs_new(store, queues, queue_count, &options, &jobs, &request->error);
    json_array_foreach(json_object_get(request->json, "jobs"), i, how) {
        millpond_tasks_job *job;
        millpond_error *error = NULL;
        if (jobs == NULL || request->unsupported != NULL ||
            millpond_tasks_jobs_next(jobs, &job, &request->error) != MILLPOND_OK || job == NULL)
            break;
        json_t *seen = begin(request, job, how, &error);
        json_t *result = error == NULL ? end(request, job, how, &error) : json_null();
        note_outcome(seen, result, error);
        json_array_append_new(all, seen);
        millpond_tasks_job_free(job);
    }
    millpond_tasks_jobs_free(jobs);
    millpond_tasks_store_free(store);
    return all;
}

/* What the handler is called with. */
struct handling {
    struct request *request;
    json_t *all;
    millpond_tasks_modification modification;
    /* Why the job failed that the handler was called with last, until it is called again. */
    char *failure;
};

/* Decides what happens to a job, as the request says. */
static void decide(struct handling *handling, json_t *how, millpond_task_outcome *outcome) {
    struct request *request = handling->request;
    const char *then = json_string_value(json_object_get(how, "then"));
    outcome->err = text(request, how, "err");
    if (then != NULL && strcmp(then, "finish") == 0) {
        handling->modification = modification(request, json_object_get(how, "modification"));
        outcome->end = MILLPOND_TASK_FINISH;
        outcome->modification = &handling->modification;
    } else if (then != NULL && strcmp(then, "fail") == 0) {
        outcome->end = MILLPOND_TASK_FAIL;
    } else if (then != NULL && strcmp(then, "retry") == 0) {
        outcome->end = MILLPOND_TASK_RETRY;
        outcome->delay_ms = whole(request, how, "after_ms");
    } else if (then != NULL && strcmp(then, "move") == 0) {
        outcome->end = MILLPOND_TASK_MOVE;
        outcome->queue = text(request, how, "queue");
    } else if (then != NULL && strcmp(then, "release") == 0) {
        outcome->end = MILLPOND_TASK_RELEASE;
        outcome->delay_ms = whole(request, how, "after_ms");
    } else if (then == NULL || strcmp(then, "done") != 0) {
        unsupported(request, "this end of a job");
    }
}

static void handle(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    struct handling *handling = context;
    json_t *jobs = json_object_get(handling->request->json, "jobs");
    json_t *how = json_array_get(jobs, json_array_size(handling->all));
    millpond_error *error = NULL;
    if (how == NULL) {
        outcome->end = MILLPOND_TASK_RETRY;
        outcome->err = (millpond_bytes){"no such job", 11};
        return;
    }
    json_t *seen = begin(handling->request, job, how, &error);
    free(handling->failure);
    handling->failure = NULL;
    if (error == NULL) {
        decide(handling, how, outcome);
    } else {
        handling->failure = strdup(millpond_error_message(error));
        outcome->end = MILLPOND_TASK_FAIL;
        outcome->err = (millpond_bytes){handling->failure, strlen(handling->failure)};
    }
    note_outcome(seen, json_null(), error);
    json_object_set_new(seen, "told", json_null());
    json_array_append_new(handling->all, seen);
}

/* Notes the error with which the worker reported the last job. */
static void on_error(millpond_tasks_job *job, const millpond_error *error, void *context) {
    struct handling *handling = context;
    json_t *last = json_array_get(handling->all, json_array_size(handling->all) - 1);
    (void)job;
    json_object_set_new(last, "told", json_string(millpond_status_name(millpond_error_code(error))));
}

static json_t *call_run(struct request *request) {
    size_t queue_count;
    millpond_bytes *queues = texts(request, request->json, "queues", &queue_count);
    millpond_tasks_worker_options options = options_of(request);
    struct handling handling = {.request = request, .all = json_array()};
    options.on_error = on_error;
    millpond_tasks_store *store = store_of(request);
    if (store != NULL)
        millpond_tasks_run(store, queues, queue_count, &options, handle, &handling,
                           &request->error);
    millpond_tasks_store_free(store);
    free(handling.failure);
    return handling.all;
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
    {"tasks.run", call_run},
    {"later", call_later},
    {NULL, NULL},
};
