/* Flags documents as dirty; run consumer with the same URL to work on them.

   cc producer.c -o producer $(pkg-config --cflags --libs millpond) && ./producer redis://localhost

   Any number of producers may run. With the default, memory:, other programs do not see what is
   flagged. */

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

    /* Three documents, with no score: the server's time, so the oldest flag comes first. */
    millpond_ick_pair documents[] = {
        {"a.txt", 5, 0, true}, {"b.txt", 5, 0, true}, {"c.txt", 5, 0, true}};
    ok(millpond_ick_add(client, ick, ick_length, documents, 3, NULL, &error), &error);

    /* A busy document is flagged a thousand times and is one piece of work. It may be new, if a
       consumer took the first flag meanwhile; a later time never lowers its score. */
    millpond_ick_pair busy[1000];
    for (size_t i = 0; i < 1000; i++)
        busy[i] = (millpond_ick_pair){"busy.txt", 8, 0, true};
    millpond_ick_added added;
    ok(millpond_ick_add(client, ick, ick_length, busy, 1000, &added, &error), &error);
    assert(added.new_members <= 1);
    assert(added.lowered_members == 0);

    millpond_ick_stats stats = {.size = sizeof stats};
    ok(millpond_ick_stats_read(client, ick, ick_length, &stats, &error), &error);
    assert(stats.pset_size <= 4 || strcmp(url, "memory:") != 0);
    printf("flagged; %llu documents wait, %llu are being worked on\n",
           (unsigned long long)stats.pset_size, (unsigned long long)stats.cset_size);
    millpond_client_free(client);
    return 0;
}
