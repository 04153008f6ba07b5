/* One client and many threads. */

#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, ADDS = 250 };

struct adder {
    millpond_client *client;
    int number;
};

static void *add_own(void *argument) {
    struct adder *adder = argument;
    millpond_error *error;
    for (int i = 0; i < ADDS; i++) {
        char member[32];
        millpond_ick_added added;
        int length = snprintf(member, sizeof member, "%d-%d", adder->number, i);
        millpond_ick_pair pair = {member, (size_t)length, i, false};
        OK(millpond_ick_add(adder->client, S("threads"), &pair, 1, &added, &error));
        CHECK(added.new_members == 1);
        /* Errors are each thread's own. */
        FAILS(MILLPOND_INVALID_ARGUMENT, "client is NULL", millpond_close(NULL, &error));
    }
    return NULL;
}

static void share_a_client(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    pthread_t threads[THREADS];
    struct adder adders[THREADS];
    millpond_ick_stats stats = {.size = sizeof stats};
    for (int i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){client, i};
        CHECK(pthread_create(&threads[i], NULL, add_own, &adders[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(millpond_ick_stats_read(client, S("threads"), &stats, &error));
    CHECK(stats.pset_size == THREADS * ADDS);
    millpond_client_free(client);
}

const struct test thread_tests[] = {
    {"share_a_client", share_a_client},
    {NULL, NULL},
};
