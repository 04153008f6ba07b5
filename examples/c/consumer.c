/* Works on what producer flags, until nothing has come for a second.

   cc consumer.c -o consumer $(pkg-config --cflags --libs millpond) && ./consumer redis://localhost

   One consumer an Ick. With the default, memory:, it flags a few documents for itself first. */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ick[] = "examples/documents";
static const size_t ick_length = sizeof ick - 1;

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
    millpond_client *client;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    if (strcmp(url, "memory:") == 0) {
        millpond_ick_pair documents[] = {
            {"a.txt", 5, 0, true}, {"b.txt", 5, 0, true}, {"c.txt", 5, 0, true}};
        ok(millpond_ick_add(client, ick, ick_length, documents, 3, NULL, &error), &error);
    }

    int worked = 0;
    /* A batch is committed when the next is requested. A program that ends before leaves it
       reserved, and the next consumer gets it again: at least once. */
    millpond_ick_batches *batches;
    millpond_ick_entries *batch;
    ok(millpond_ick_batches_new(client, ick, ick_length, 100, 1000, &batches, &error), &error);
    while (ok(millpond_ick_batches_next(batches, &batch, &error), &error), batch != NULL) {
        const millpond_ick_entry *entry;
        for (size_t i = 0; (entry = millpond_ick_entries_at(batch, i)) != NULL; i++) {
            printf("working on %.*s\n", (int)entry->member_length, entry->member);
            worked++;
        }
        millpond_ick_entries_free(batch);
    }
    millpond_ick_batches_free(batches);

    millpond_ick_stats stats = {.size = sizeof stats};
    ok(millpond_ick_stats_read(client, ick, ick_length, &stats, &error), &error);
    assert(stats.cset_size == 0 && "what was worked on is committed");
    assert(worked == 3 || strcmp(url, "memory:") != 0);
    printf("%d documents; nothing is left\n", worked);
    millpond_client_free(client);
    return 0;
}
