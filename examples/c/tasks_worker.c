/* Works on what tasks_producer inserts, until Ctrl-C or SIGTERM.

   cc tasks_worker.c -o tasks_worker $(pkg-config --cflags --libs millpond) -lpthread &&
       ./tasks_worker redis://localhost

   Any number of workers may run. With the default, memory:, it works off a few tasks of its own. */

#include <millpond.h>

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

static millpond_bytes text(const char *literal) {
    millpond_bytes bytes = {literal, strlen(literal)};
    return bytes;
}

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static void insert_some(millpond_tasks_store *store) {
    const char *mails[] = {"{\"to\": \"ann\"}", "{\"to\": \"bob\"}", "{\"to\": \"cy\"}"};
    for (int i = 0; i < 3; i++) {
        millpond_error *error;
        ok(millpond_tasks_insert(store, "mails", 5, mails[i], strlen(mails[i]), NULL, &error),
           &error);
    }
}

/* What has to be there until the next call of the handler: each thread has its own. */
struct sent {
    millpond_task_id done;
    millpond_new_task note;
    millpond_tasks_modification modification;
};

/* Sends a mail. What follows from it happens in the same step as the end of the task: here a note
   for the archive. */
static void send(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_task *mail = millpond_tasks_job_data(job)->tasks;
    struct sent *sent = context;
    bool lost;
    if (millpond_tasks_job_is_lost(job, &lost, NULL) != MILLPOND_OK || lost) {
        outcome->end = MILLPOND_TASK_RELEASE;
        return;
    }
    printf("sending %.*s\n", (int)mail->value.length, mail->value.data);
    sent->done = (millpond_task_id){mail->id, mail->version};
    millpond_new_task_init(&sent->note, sizeof sent->note);
    sent->note.queue = text("archive");
    sent->note.value = mail->value;
    sent->modification = (millpond_tasks_modification){.size = sizeof sent->modification,
                                                       .deletes = &sent->done, .delete_count = 1,
                                                       .inserts = &sent->note, .insert_count = 1};
    outcome->end = MILLPOND_TASK_FINISH;
    outcome->modification = &sent->modification;
}

/* Takes a note out of the archive. */
static void forget(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    (void)job, (void)outcome, (void)context;
}

static millpond_tasks_worker *worker_of(millpond_tasks_store *store, const char *queue) {
    /* A task is leased and renewed while it is worked on. If that fails it is retried, later each
       time; after five attempts, or if its workers died ten times while they worked on it, it goes
       to an error queue. What goes wrong is logged to standard error. */
    millpond_bytes queues[] = {text(queue)};
    millpond_tasks_worker_options options;
    millpond_tasks_worker *worker;
    millpond_error *error;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.concurrency = THREADS;
    options.max_attempts = 5;
    options.max_crashes = 10;
    ok(millpond_tasks_worker_new(store, queues, 1, &options, &worker, &error), &error);
    return worker;
}

/* One of the threads that work. */
static void *work(void *worker) {
    struct sent sent;
    millpond_error *error;
    ok(millpond_tasks_worker_run(worker, send, NULL, &sent, NULL, &error), &error);
    return NULL;
}

/* Works until a signal: the first lets mails that are being sent be sent, for up to 25 s; a second
   one does not. */
static void work_until_a_signal(millpond_tasks_worker *worker) {
    pthread_t threads[THREADS];
    millpond_error *error;
    ok(millpond_tasks_worker_stop_on_signals(worker, 25000, &error), &error);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, worker);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_job_counts drained;
    millpond_error *error;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_tasks_store_new(client, "examples/mail", 13, NULL, 0, &store, &error), &error);
    millpond_tasks_worker *mails = worker_of(store, "mails"), *archive = worker_of(store, "archive");
    if (strcmp(url, "memory:") == 0) {
        struct sent sent;
        insert_some(store);
        ok(millpond_tasks_worker_drain(mails, send, NULL, &sent, &drained, &error), &error);
        assert(drained.done == 3);
    } else {
        work_until_a_signal(mails);
    }
    ok(millpond_tasks_worker_drain(archive, forget, NULL, NULL, &drained, &error), &error);
    printf("%d mails archived\n", (int)drained.done);
    millpond_tasks_worker_free(mails);
    millpond_tasks_worker_free(archive);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
    return 0;
}
