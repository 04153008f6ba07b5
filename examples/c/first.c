/* What an Ick is for: a document that changes while it is being worked on is processed again.

   cc first.c -o first $(pkg-config --cflags --libs millpond) && ./first [URL] */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ick[] = "examples/first";
static const size_t ick_length = sizeof ick - 1;

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static int is(const millpond_ick_entry *entry, const char *member) {
    return entry->member_length == strlen(member) &&
           memcmp(entry->member, member, entry->member_length) == 0;
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    millpond_client *client;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    ok(millpond_ick_delete(client, ick, ick_length, false, NULL, &error), &error);

    /* Flag two documents. The score says how urgent: the lowest comes first. */
    millpond_ick_pair two[] = {{"b.txt", 5, 2.0, false}, {"a.txt", 5, 1.0, false}};
    millpond_ick_added added;
    ok(millpond_ick_add(client, ick, ick_length, two, 2, &added, &error), &error);
    assert(added.new_members == 2 && added.lowered_members == 0);

    /* Flag one of them again: it is merged into the existing flag, which keeps its score. */
    millpond_ick_pair again = {"a.txt", 5, 3.0, false};
    ok(millpond_ick_add(client, ick, ick_length, &again, 1, &added, &error), &error);
    assert(added.new_members == 0 && added.lowered_members == 0);

    /* Take a batch. It stays reserved until it is committed. */
    millpond_ick_entries *batch;
    ok(millpond_ick_reserve(client, ick, ick_length, 10, false, &batch, &error), &error);
    const millpond_ick_entry *first = millpond_ick_entries_at(batch, 0),
                             *second = millpond_ick_entries_at(batch, 1);
    assert(millpond_ick_entries_length(batch) == 2 && is(first, "a.txt") && is(second, "b.txt"));

    /* While we work, a.txt changes again. The commit does not remove that flag. */
    millpond_ick_pair changed = {"a.txt", 5, 4.0, false};
    millpond_bytes done[] = {{first->member, first->member_length},
                             {second->member, second->member_length}};
    uint64_t committed;
    ok(millpond_ick_add(client, ick, ick_length, &changed, 1, NULL, &error), &error);
    ok(millpond_ick_commit(client, ick, ick_length, done, 2, &committed, &error), &error);
    assert(committed == 2);
    millpond_ick_entries_free(batch);

    ok(millpond_ick_reserve(client, ick, ick_length, 10, false, &batch, &error), &error);
    first = millpond_ick_entries_at(batch, 0);
    assert(millpond_ick_entries_length(batch) == 1 && is(first, "a.txt") && first->score == 4.0);
    millpond_ick_entries_free(batch);
    printf("a.txt changed while it was being worked on, and came again\n");

    ok(millpond_ick_delete(client, ick, ick_length, false, NULL, &error), &error);
    millpond_client_free(client);
    return 0;
}
