/* Writes messages of several tenants; run shuffle_consumer with the same URL to work on them.

   cc shuffle_producer.c -o shuffle_producer $(pkg-config --cflags --libs millpond) &&
       ./shuffle_producer redis://localhost

   Any number of producers may run. With the default, memory:, other programs do not see what is
   written. */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TENANTS = 3, PAGES = 3 };

/* The braces tie all keys of the queue to one slot, for a cluster. */
static const char name[] = "{examples/jobs}";

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
    millpond_shuffle_queue *queue;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    millpond_shuffle_options options;
    millpond_shuffle_options_init(&options, sizeof options);
    options.streams = 16;
    options.streams_per_shard = 4;
    options.track_keys = MILLPOND_SHUFFLE_TRACK_QUEUE;
    ok(millpond_shuffle_queue_new(client, name, strlen(name), &options, &queue, &error), &error);

    /* Many messages in one step, each for its tenant. */
    const char *tenants[TENANTS] = {"ann", "bob", "cy"}, *pages[PAGES] = {"1", "2", "3"};
    millpond_shuffle_field fields[TENANTS * PAGES][2];
    millpond_shuffle_new_message jobs[TENANTS * PAGES];
    millpond_shuffle_receipt receipts[TENANTS * PAGES];
    for (int i = 0; i < TENANTS * PAGES; i++) {
        const char *tenant = tenants[i / PAGES], *page = pages[i % PAGES];
        fields[i][0] = (millpond_shuffle_field){"tenant", 6, tenant, strlen(tenant)};
        fields[i][1] = (millpond_shuffle_field){"page", 4, page, strlen(page)};
        millpond_shuffle_new_message_init(&jobs[i], sizeof jobs[i]);
        jobs[i].shard_key = tenant, jobs[i].shard_key_length = strlen(tenant);
        jobs[i].fields = fields[i], jobs[i].field_count = 2;
    }
    ok(millpond_shuffle_write_many(queue, jobs, TENANTS * PAGES, receipts, &error), &error);

    /* Each went to one of the four streams of its tenant. */
    for (int i = 0; i < TENANTS * PAGES; i++) {
        uint32_t shard[4];
        ok(millpond_shuffle_shard(16, 4, jobs[i].shard_key, jobs[i].shard_key_length, shard, &error),
           &error);
        int found = 0;
        for (int j = 0; j < 4; j++)
            found += receipts[i].stream == shard[j];
        assert(found == 1);
    }

    /* One that can be deleted by its number. */
    char number[32];
    size_t length = (size_t)snprintf(number, sizeof number, "ann/4/%ld", (long)getpid());
    millpond_shuffle_field called_off[] = {
        {"tenant", 6, "ann", 3}, {"page", 4, "4", 1}, {"job", 3, number, length}};
    bool deleted;
    ok(millpond_shuffle_write_tracked(queue, "ann", 3, called_off, 3, "job", 3, 0, NULL, &error),
       &error);
    ok(millpond_shuffle_delete_tracked(queue, number, length, &deleted, NULL, &error), &error);
    /* A consumer may have been faster. */
    assert(deleted || strcmp(url, "memory:") != 0);

    uint64_t backlog;
    ok(millpond_shuffle_backlog(queue, &backlog, &error), &error);
    assert(backlog >= TENANTS * PAGES || strcmp(url, "memory:") != 0);
    printf("%d messages written; %llu wait\n", TENANTS * PAGES, (unsigned long long)backlog);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
    return 0;
}
