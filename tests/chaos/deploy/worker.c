/* The worker of the deploy storm in C; mod.rs says what it does. */

#define _POSIX_C_SOURCE 200809L

#include <jansson.h>
#include <millpond.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 4, FOLLOWS = 1000000 };

/* What a thread's modification is made of, until its next task. */
struct end {
    char out[32], id[32], value[96];
    millpond_task_id done;
    millpond_new_task inserts[2];
    millpond_tasks_modification modification;
};

static millpond_tasks_worker *tasks;
static millpond_shuffle_worker *messages;
static millpond_events_worker *events;
static millpond_events_queue *queue_of_events;
static millpond_error *error;

static void ok(millpond_status status, millpond_error *failure) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s\n", millpond_error_message(failure));
    exit(1);
}

/* What a task or an event says of its job. */
struct said {
    json_t *json;
    long n, ms;
    const char *then;
};

static struct said read_value(millpond_bytes value) {
    json_t *json = json_loadb(value.data, value.length, 0, NULL);
    return (struct said){json, (long)json_integer_value(json_object_get(json, "n")),
                         (long)json_integer_value(json_object_get(json, "ms")),
                         json_string_value(json_object_get(json, "then"))};
}

/* Whether a job follows from it, and what that one says. */
static bool follows(const struct said *said, char value[96]) {
    snprintf(value, 96, "{\"n\": %ld, \"ms\": %ld, \"then\": \"done\"}", said->n + FOLLOWS,
             said->ms);
    return strcmp(said->then, "follow") == 0;
}

/* Nanoseconds of the clock that all processes share. */
static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void work_for(const char *kind, long n, long ms, const char *then, bool is_first,
                     millpond_task_outcome *outcome) {
    const struct timespec pause = {0, ms * 1000000};
    printf("%lld begin %s-%ld\n", now(), kind, n);
    nanosleep(&pause, NULL);
    if (strcmp(then, "reject") == 0)
        outcome->end = MILLPOND_TASK_REJECT;
    else if (strcmp(then, "retry") == 0 && is_first)
        outcome->end = MILLPOND_TASK_FAIL;
    printf("%lld run %s-%ld %s\n", now(), kind, n,
           outcome->end == MILLPOND_TASK_DONE ? "done" : then);
}

static void insert(struct end *end, const char *queue, const char *id, const char *value) {
    millpond_new_task *task = &end->inserts[end->modification.insert_count++];
    millpond_new_task_init(task, sizeof *task);
    task->queue = (millpond_bytes){queue, strlen(queue)};
    task->id = (millpond_bytes){id, strlen(id)};
    task->value = (millpond_bytes){value, value == NULL ? 0 : strlen(value)};
}

static void do_task(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_task *task = millpond_tasks_job_data(job)->tasks;
    struct end *end = context;
    struct said said = read_value(task->value);
    work_for("task", said.n, said.ms, said.then, task->attempt == 0, outcome);
    if (outcome->end == MILLPOND_TASK_DONE) {
        end->done = (millpond_task_id){task->id, task->version};
        millpond_tasks_modification_init(&end->modification, sizeof end->modification);
        end->modification.deletes = &end->done;
        end->modification.delete_count = 1;
        end->modification.inserts = end->inserts;
        snprintf(end->out, sizeof end->out, "out-%ld", said.n);
        insert(end, "out", end->out, NULL);
        if (follows(&said, end->value)) {
            snprintf(end->id, sizeof end->id, "j%ld", said.n + FOLLOWS);
            insert(end, "jobs", end->id, end->value);
        }
        outcome->end = MILLPOND_TASK_FINISH;
        outcome->modification = &end->modification;
    }
    json_decref(said.json);
}

static void do_message(millpond_shuffle_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_shuffle_message *message = millpond_shuffle_job_data(job);
    const char *names[] = {"n", "ms", "then"};
    char texts[3][16];
    for (int i = 0; i < 3; i++) {
        const millpond_shuffle_field *field =
            millpond_shuffle_message_field(message, names[i], strlen(names[i]));
        snprintf(texts[i], sizeof texts[i], "%.*s", (int)field->value_length, field->value);
    }
    work_for("message", atol(texts[0]), atol(texts[1]), texts[2], message->deliveries == 1, outcome);
    (void)context;
}

static void do_event(millpond_events_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_event *event = millpond_events_job_data(job)->events;
    struct said said = read_value(event->payload);
    char value[96];
    work_for("event", said.n, said.ms, said.then, event->attempts == 1, outcome);
    if (follows(&said, value)) {
        millpond_event_receipt receipt = {event->id, event->token};
        millpond_events_result *published;
        millpond_error *failure;
        millpond_new_event next;
        millpond_new_event_init(&next, sizeof next);
        next.payload = (millpond_bytes){value, strlen(value)};
        next.key = event->key;
        if (millpond_events_ack_with(queue_of_events, &receipt, &next, 1, &published, &failure) !=
            MILLPOND_OK) {
            outcome->end = MILLPOND_TASK_FAIL;
            millpond_error_free(failure);
        }
        millpond_events_result_free(published);
    }
    json_decref(said.json);
    (void)context;
}

static void tell(const millpond_report_data *data) {
    if (data->kind != MILLPOND_REPORT_DONE && data->kind != MILLPOND_REPORT_RELEASED)
        printf("%lld told %s %.*s\n", now(), millpond_report_kind_name(data->kind),
               (int)data->message.length, data->message.data);
}

static void tell_of_task(const millpond_tasks_report *report, void *context) {
    tell(millpond_tasks_report_data(report));
    (void)context;
}

static void tell_of_message(const millpond_shuffle_report *report, void *context) {
    tell(millpond_shuffle_report_data(report));
    (void)context;
}

static void tell_of_event(const millpond_events_report *report, void *context) {
    tell(millpond_events_report_data(report));
    (void)context;
}

/* One of the threads that work. */
static void *work(void *unused) {
    struct end end;
    millpond_error *failure;
    if (tasks != NULL)
        ok(millpond_tasks_worker_run(tasks, do_task, tell_of_task, &end, NULL, &failure), failure);
    else if (events != NULL)
        ok(millpond_events_worker_run(events, do_event, tell_of_event, NULL, NULL, &failure), failure);
    else
        ok(millpond_shuffle_worker_run(messages, do_message, tell_of_message, NULL, NULL, &failure),
           failure);
    return unused;
}

static void make_tasks_worker(millpond_client *client) {
    millpond_bytes queue = {"jobs", 4};
    millpond_tasks_store *store;
    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.lease_ms = 10000, options.backoff_ms = 100, options.backoff_max_ms = 200;
    options.concurrency = options.prefetch = THREADS;
    ok(millpond_tasks_store_new(client, "storm", 5, NULL, 0, &store, &error), error);
    ok(millpond_tasks_worker_new(store, &queue, 1, &options, &tasks, &error), error);
}

static void make_messages_worker(millpond_client *client, const char *life) {
    millpond_shuffle_queue *queue;
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_worker_options options;
    millpond_shuffle_worker_options_init(&options, sizeof options);
    options.lease_ms = 10000, options.backoff_ms = 100, options.backoff_max_ms = 200;
    options.concurrency = options.prefetch = THREADS, options.delete_done = true;
    ok(millpond_shuffle_queue_new(client, "storm-messages", 14, NULL, &queue, &error), error);
    ok(millpond_shuffle_consumer_new(queue, "workers", 7, life, strlen(life), NULL, &consumer,
                                     &error),
       error);
    ok(millpond_shuffle_worker_new(consumer, &options, &messages, &error), error);
}

static void make_events_worker(millpond_client *client) {
    millpond_events_worker_options options;
    millpond_events_worker_options_init(&options, sizeof options);
    options.lease_ms = 10000;
    options.concurrency = options.prefetch = THREADS;
    ok(millpond_events_queue_new(client, "storm-events", 12, &queue_of_events, &error), error);
    ok(millpond_events_worker_new(queue_of_events, &options, &events, &error), error);
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    millpond_client *client;
    sigset_t signals;
    int signal;
    if (count != 4)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    ok(millpond_connect(words[2], strlen(words[2]), &client, &error), error);
    if (strcmp(words[1], "tasks") == 0)
        make_tasks_worker(client);
    else if (strcmp(words[1], "events") == 0)
        make_events_worker(client);
    else
        make_messages_worker(client, words[3]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    printf("ready\n");
    sigwait(&signals, &signal);
    ok(tasks != NULL    ? millpond_tasks_worker_stop(tasks, 20000, &error)
       : events != NULL ? millpond_events_worker_stop(events, 20000, &error)
                        : millpond_shuffle_worker_stop(messages, 20000, &error),
       error);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    millpond_tasks_worker_free(tasks);
    millpond_shuffle_worker_free(messages);
    millpond_events_worker_free(events);
    millpond_client_free(client);
    return 0;
}
