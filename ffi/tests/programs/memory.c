/* Nothing grows with the number of calls: a million of them, and the process is as large as before. */

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 1000000, MEMBERS = 10, GROWTH_KIB_MAX = 4096 };

static long resident_kib(void) {
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Eight calls, an error and a few handles among them. */
static void use(millpond_client *client, int turn) {
    static char names[MEMBERS][24];
    millpond_ick_pair pairs[MEMBERS];
    millpond_bytes members[MEMBERS];
    millpond_ick_pair nan_pair = {S("x"), NAN, false};
    millpond_entries *entries;
    millpond_batches *batches;
    millpond_ick_stats stats;
    millpond_error *error;
    uint64_t committed;

    for (int i = 0; i < MEMBERS; i++) {
        size_t length = (size_t)snprintf(names[i], sizeof names[i], "%d-%d", turn, i);
        pairs[i] = (millpond_ick_pair){names[i], length, turn, false};
        members[i] = (millpond_bytes){names[i], length};
    }
    OK(millpond_ick_add(client, S("memory"), pairs, MEMBERS, NULL, &error));
    OK(millpond_ick_reserve(client, S("memory"), MEMBERS, false, &entries, &error));
    CHECK(millpond_entries_length(entries) == MEMBERS);
    millpond_entries_free(entries);
    FAILS(MILLPOND_INVALID_ARGUMENT, "NaN",
          millpond_ick_add(client, S("memory"), &nan_pair, 1, NULL, &error));
    OK(millpond_ick_stats_read(client, S("memory"), &stats, &error));
    OK(millpond_ick_commit(client, S("memory"), members, MEMBERS / 2, &committed, &error));
    OK(millpond_ick_batches(client, S("memory"), MEMBERS, -1, &batches, &error));
    OK(millpond_batches_next(batches, &entries, &error));
    CHECK(millpond_entries_length(entries) == MEMBERS / 2);
    millpond_entries_free(entries);
    OK(millpond_batches_commit(batches, &committed, &error));
    millpond_batches_free(batches);
}

int main(void) {
    struct backend memory = {"memory", "memory:"};
    millpond_client *client = connect_to(&memory);
    int turn = 0;
    while (turn < CALLS / 8 / 10)
        use(client, turn++);
    long before = resident_kib();
    while (turn < CALLS / 8 / 10 + CALLS / 8)
        use(client, turn++);
    long after = resident_kib();
    printf("%d calls: %ld KiB before, %ld KiB after\n", CALLS, before, after);
    CHECK(after - before < GROWTH_KIB_MAX);
    millpond_client_free(client);
    return 0;
}
