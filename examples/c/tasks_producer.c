/* Inserts tasks, now and for later; run tasks_worker with the same URL to work on them.

   cc tasks_producer.c -o tasks_producer $(pkg-config --cflags --libs millpond) &&
       ./tasks_producer redis://localhost

   Any number of producers may run. With the default, memory:, other programs do not see what is
   inserted. */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAILS = 6 };

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

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    const char *to[MAILS] = {"ann", "bob", "cy", "dee", "eve", "all"};
    char values[MAILS][32];
    millpond_client *client;
    millpond_tasks_store *store;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_tasks_store_new(client, "examples/mail", 13, NULL, 0, &store, &error), &error);

    /* Many tasks in one step: all of them or none. */
    millpond_new_task mails[MAILS];
    for (int i = 0; i < MAILS; i++) {
        snprintf(values[i], sizeof values[i], "{\"to\": \"%s\"}", to[i]);
        millpond_new_task_init(&mails[i], sizeof mails[i]);
        mails[i].queue = text("mails");
        mails[i].value = text(values[i]);
    }
    /* One that has to go first, one for later, and one that is sent once, however often
       this runs within a day of it. */
    mails[3].priority = 9;
    mails[4].delay_ms = 500;
    mails[5].id = text("welcome");
    mails[5].dedup_window_ms = 86400000;
    mails[5].skip_colliding = true;

    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = mails,
                                                .insert_count = MAILS};
    millpond_tasks_result *result;
    ok(millpond_tasks_modify(store, &modification, &result, &error), &error);
    size_t inserted = millpond_tasks_result_data(result)->inserted_count;
    assert(inserted == MAILS || strcmp(url, "memory:") != 0);
    printf("%d mails to send\n", (int)inserted);
    millpond_tasks_result_free(result);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
    return 0;
}
