/* Works on what tasks_producer inserts, until nothing has come for a second.

   cc tasks_worker.c -o tasks_worker $(pkg-config --cflags --libs millpond) &&
       ./tasks_worker redis://localhost

   Any number of workers may run. With the default, memory:, it inserts a few tasks for itself
   first. */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What has to be there until the next call of the handler. */
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

/* Takes the notes out of the archive, many in one step. */
static int empty_archive(millpond_tasks_store *store) {
    millpond_bytes archive = text("archive");
    millpond_tasks_claims *claims;
    millpond_tasks_result *result;
    millpond_error *error;
    int archived = 0;
    ok(millpond_tasks_claims_new(store, &archive, 1, MILLPOND_NOT_SET, 100, 0, &claims, &error), &error);
    while (ok(millpond_tasks_claims_next(claims, &result, &error), &error), result != NULL) {
        const millpond_task *note;
        millpond_task_id done[100];
        size_t taken = 0;
        for (; (note = millpond_tasks_result_task(result, taken)) != NULL; taken++)
            done[taken] = (millpond_task_id){note->id, note->version};
        millpond_tasks_modification deletes = {.size = sizeof deletes, .deletes = done,
                                               .delete_count = taken};
        ok(millpond_tasks_modify(store, &deletes, NULL, &error), &error);
        archived += (int)taken;
        millpond_tasks_result_free(result);
    }
    millpond_tasks_claims_free(claims);
    return archived;
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_tasks_store_new(client, "examples/mail", 13, NULL, 0, &store, &error), &error);
    if (strcmp(url, "memory:") == 0)
        insert_some(store);

    /* A task is leased and renewed while send runs. If it fails it is retried, later each time;
       after five attempts, or if its workers died ten times while they worked on it, it goes to
       mails/err. */
    millpond_bytes mails = text("mails");
    millpond_tasks_worker_options options;
    struct sent sent;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.wait_ms = 1000;
    options.max_attempts = 5;
    options.max_claims = 10;
    ok(millpond_tasks_run(store, &mails, 1, &options, send, &sent, &error), &error);

    int archived = empty_archive(store);
    assert(archived == 3 || strcmp(url, "memory:") != 0);
    printf("%d mails archived\n", archived);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
    return 0;
}
