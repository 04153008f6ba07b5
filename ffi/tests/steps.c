/* Every step of an Ick, on every backend. */

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void adds(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_ick_added added;
    millpond_ick_entries *entries;

    millpond_ick_pair pairs[] = {{S("b"), 2.0, false}, {S("a"), 1.5, false}, {S("a"), -1.0, false}};
    OK(millpond_ick_add(client, S("adds"), pairs, 3, &added, &error));
    CHECK(added.new_members == 2 && added.lowered_members == 1);
    pairs[0].score = 7;
    OK(millpond_ick_add(client, S("adds"), pairs, 1, &added, &error));
    CHECK(added.new_members == 0 && added.lowered_members == 0);
    OK(millpond_ick_add(client, S("adds"), pairs, 3, NULL, &error));
    CHECK(millpond_ick_add(client, S("adds"), pairs, 3, NULL, NULL) == MILLPOND_OK);

    millpond_ick_pair infinite[] = {{S("last"), INFINITY, false}, {S("first"), -INFINITY, false}};
    OK(millpond_ick_add(client, S("adds"), infinite, 2, &added, &error));
    CHECK(added.new_members == 2);
    OK(millpond_ick_reserve(client, S("adds"), 10, false, &entries, &error));
    ENTRIES(entries, "first -inf a -1 b 2 last inf");

    /* A NaN anywhere: nothing is done. */
    millpond_ick_pair bad[] = {{S("good"), 1, false}, {S("bad"), NAN, false}};
    FAILS(MILLPOND_INVALID_ARGUMENT, "ick.add: score 1 is NaN",
          millpond_ick_add(client, S("adds bad"), bad, 2, &added, &error));
    CHECK(added.new_members == 0);
    millpond_ick_stats stats = {.size = sizeof stats};
    OK(millpond_ick_stats_read(client, S("adds bad"), &stats, &error));
    CHECK(!stats.exists);

    /* The server's time, whatever the score beside it. */
    millpond_ick_pair timed[] = {{S("now"), NAN, true}};
    OK(millpond_ick_add(client, S("adds now"), timed, 1, &added, &error));
    OK(millpond_ick_stats_read(client, S("adds now"), &stats, &error));
    CHECK(stats.pset_min > 1.7e9 && stats.pset_min < 1e11);

    /* No pairs make an Ick all the same. */
    OK(millpond_ick_add(client, S("adds nothing"), NULL, 0, &added, &error));
    OK(millpond_ick_stats_read(client, S("adds nothing"), &stats, &error));
    CHECK(stats.exists && stats.total_size == 0);
    millpond_client_free(client);
}

static void reserves(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_ick_entries *entries;

    OK(millpond_ick_reserve(client, S("reserves"), 10, false, &entries, &error));
    CHECK(entries != NULL);
    ENTRIES(entries, "");
    add(client, "reserves", "a 1 b 2 c 3");
    OK(millpond_ick_reserve(client, S("reserves"), 2, false, &entries, &error));
    ENTRIES(entries, "a 1 b 2");
    OK(millpond_ick_reserve(client, S("reserves"), 0, false, &entries, &error));
    ENTRIES(entries, "");
    add(client, "reserves", "first 0");
    OK(millpond_ick_reserve(client, S("reserves"), 2, false, &entries, &error));
    ENTRIES(entries, "a 1 b 2");
    OK(millpond_ick_reserve(client, S("reserves"), 2, true, &entries, &error));
    ENTRIES(entries, "first 0 a 1");
    FAILS(MILLPOND_INVALID_ARGUMENT, "ick.reserve: the size 100000000000000000 is too large",
          millpond_ick_reserve(client, S("reserves"), 100000000000000000, false, &entries, &error));
    CHECK(entries == NULL);
    millpond_client_free(client);
}

static void commits(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_ick_entries *entries;
    uint64_t committed = 77;

    add(client, "commits", "a 1 b 2 c 3");
    OK(millpond_ick_reserve(client, S("commits"), 2, false, &entries, &error));
    ENTRIES(entries, "a 1 b 2");
    add(client, "commits", "a 5");
    millpond_bytes members[] = {{S("a")}, {S("c")}, {S("none")}};
    OK(millpond_ick_commit(client, S("commits"), members, 3, &committed, &error));
    CHECK(committed == 1);
    OK(millpond_ick_commit(client, S("commits"), NULL, 0, &committed, &error));
    CHECK(committed == 0);
    OK(millpond_ick_commit(client, S("commits"), members, 3, NULL, &error));

    millpond_bytes done[] = {{S("b")}};
    OK(millpond_ick_exchange(client, S("commits"), 1, done, 1, false, &entries, &error));
    ENTRIES(entries, "c 3");
    add(client, "commits", "z 0");
    OK(millpond_ick_exchange(client, S("commits"), 2, NULL, 0, true, &entries, &error));
    ENTRIES(entries, "z 0 c 3");
    millpond_client_free(client);
}

static void reads(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_ick_entries *entries;
    millpond_ick_stats stats = {.size = sizeof stats, .exists = true, .total_size = 9};

    OK(millpond_ick_stats_read(client, S("reads"), &stats, &error));
    CHECK(!stats.exists && stats.total_size == 0 && stats.total_max == 0);
    add(client, "reads", "a 1 b 2 c 3 d 4");
    OK(millpond_ick_reserve(client, S("reads"), 2, false, &entries, &error));
    ENTRIES(entries, "a 1 b 2");
    OK(millpond_ick_stats_read(client, S("reads"), &stats, &error));
    CHECK(stats.exists && stats.pset_size == 2 && stats.cset_size == 2 && stats.total_size == 4);
    CHECK(stats.pset_min == 3 && stats.pset_max == 4 && stats.cset_min == 1 && stats.cset_max == 2);
    CHECK(stats.total_min == 1 && stats.total_max == 4);

    OK(millpond_ick_peek(client, S("reads"), MILLPOND_ICK_PRODUCER, 10, &entries, &error));
    ENTRIES(entries, "c 3 d 4");
    OK(millpond_ick_peek(client, S("reads"), MILLPOND_ICK_CONSUMER, 1, &entries, &error));
    ENTRIES(entries, "a 1");
    for (uint32_t set = 0; set < 5; set += 3)
        FAILS(MILLPOND_INVALID_ARGUMENT, "it has to be MILLPOND_ICK_PRODUCER or",
              millpond_ick_peek(client, S("reads"), set, 1, &entries, &error));
    millpond_client_free(client);
}

static void deletes(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    uint64_t removed = 77;
    for (int unlink = 0; unlink < 2; unlink++) {
        OK(millpond_ick_delete(client, S("deletes"), unlink, &removed, &error));
        CHECK(removed == 0);
        add(client, "deletes", "a 1");
        OK(millpond_ick_delete(client, S("deletes"), unlink, &removed, &error));
        CHECK(removed == 2);
        OK(millpond_ick_delete(client, S("deletes"), unlink, NULL, &error));
    }
    millpond_client_free(client);
}

static void any_bytes(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_ick_entries *entries;
    uint64_t committed;

    /* A name and members with NUL, with what is no UTF-8, and without anything. */
    millpond_ick_pair pairs[] = {{S("a\0b"), 1, false}, {S("\xff\xfe"), 2, false}, {NULL, 0, 3, false}};
    OK(millpond_ick_add(client, S("any\0\xff"), pairs, 3, NULL, &error));
    OK(millpond_ick_reserve(client, S("any\0\xff"), 10, false, &entries, &error));
    const millpond_ick_entry *entry = millpond_ick_entries_data(entries);
    CHECK(millpond_ick_entries_length(entries) == 3);
    CHECK(entry[0].member_length == 3 && memcmp(entry[0].member, "a\0b", 3) == 0);
    CHECK(entry[1].member_length == 2 && memcmp(entry[1].member, "\xff\xfe", 2) == 0);
    CHECK(entry[2].member_length == 0 && entry[2].score == 3);

    /* All in one buffer, without gaps. */
    CHECK(millpond_ick_entries_bytes_length(entries) == 5);
    CHECK(memcmp(millpond_ick_entries_bytes(entries), "a\0b\xff\xfe", 5) == 0);
    CHECK(entry[0].member == millpond_ick_entries_bytes(entries));
    CHECK(entry[1].member == entry[0].member + 3 && entry[2].member == entry[1].member + 2);

    millpond_bytes members[] = {{entry[0].member, 3}, {entry[1].member, 2}, {NULL, 0}};
    OK(millpond_ick_commit(client, S("any\0\xff"), members, 3, &committed, &error));
    CHECK(committed == 3);
    millpond_ick_entries_free(entries);

    OK(millpond_ick_add(client, NULL, 0, pairs, 1, NULL, &error));
    OK(millpond_ick_reserve(client, "", 0, 1, false, &entries, &error));
    CHECK(millpond_ick_entries_length(entries) == 1);
    millpond_ick_entries_free(entries);
    OK(millpond_ick_delete(client, NULL, 0, false, NULL, &error));
    millpond_client_free(client);
}

static void large_batches(const struct backend *backend) {
    enum { MANY = 30000 };
    static char members[MANY][16];
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_ick_entries *entries;
    millpond_ick_added added;
    uint64_t committed;
    millpond_ick_pair *pairs = calloc(MANY, sizeof *pairs);
    millpond_bytes *done = calloc(MANY, sizeof *done);

    for (size_t i = 0; i < MANY; i++) {
        int length = snprintf(members[i], sizeof members[i], "member-%zu", i);
        pairs[i] = (millpond_ick_pair){members[i], (size_t)length, (double)(MANY - i), false};
    }
    OK(millpond_ick_add(client, S("large"), pairs, MANY, &added, &error));
    CHECK(added.new_members == MANY);
    OK(millpond_ick_reserve(client, S("large"), MANY, false, &entries, &error));
    CHECK(millpond_ick_entries_length(entries) == MANY);
    const millpond_ick_entry *entry = millpond_ick_entries_data(entries);
    for (size_t i = 0; i < MANY; i++) {
        CHECK(entry[i].score == (double)(i + 1));
        CHECK(memcmp(entry[i].member, members[MANY - 1 - i], entry[i].member_length) == 0);
        done[i] = (millpond_bytes){entry[i].member, entry[i].member_length};
    }
    OK(millpond_ick_commit(client, S("large"), done, MANY, &committed, &error));
    CHECK(committed == MANY);
    millpond_ick_entries_free(entries);
    free(pairs);
    free(done);

    char *member = malloc(16 * 1024 * 1024 + 1);
    memset(member, 'x', 16 * 1024 * 1024 + 1);
    millpond_ick_pair too_long = {member, 16 * 1024 * 1024 + 1, 1, false};
    FAILS(MILLPOND_INVALID_ARGUMENT, "member 0 has 16777217 bytes",
          millpond_ick_add(client, S("large"), &too_long, 1, NULL, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "the name has 65537 bytes",
          millpond_ick_delete(client, member, 65537, false, NULL, &error));
    free(member);
    millpond_client_free(client);
}

/* A loop commits what it returned with the next request, and what it returned last when it is told to. */
static void loops(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;
    millpond_ick_stats stats = {.size = sizeof stats};
    uint64_t committed = 77;

    add(client, "loops", "a 1 b 2 c 3 d 4");
    OK(millpond_ick_batches_new(client, S("loops"), 2, 0, &batches, &error));
    OK(millpond_ick_batches_commit(batches, &committed, &error));
    CHECK(committed == 0);
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "a 1 b 2");
    OK(millpond_ick_batches_commit(batches, &committed, &error));
    CHECK(committed == 2);
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "c 3 d 4");
    /* Not committed, so it comes again. */
    millpond_ick_batches_free(batches);
    OK(millpond_ick_batches_new(client, S("loops"), 3, 0, &batches, &error));
    add(client, "loops", "e 5 f 6");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "c 3 d 4 e 5");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "f 6");
    OK(millpond_ick_batches_next(batches, &entries, &error));
    CHECK(entries == NULL);
    OK(millpond_ick_stats_read(client, S("loops"), &stats, &error));
    CHECK(stats.total_size == 0);
    millpond_ick_batches_free(batches);
    millpond_client_free(client);
}

static void recovery(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_error *error;
    millpond_recovery *recovery;
    bool is_file = strcmp(backend->kind, "file") == 0;
    OK(millpond_recovery_read(client, &recovery, &error));
    CHECK((recovery != NULL) == is_file);
    const millpond_recovered *found = millpond_recovery_data(recovery);
    CHECK((found != NULL) == is_file);
    if (is_file) {
        CHECK(found->records == 0 && found->torn_bytes == 0 && found->snapshot_bytes == 0);
        CHECK(found->log_bytes > 0 && found->closed);
        CHECK(found->suspicion == NULL && found->warnings == NULL);
    }
    millpond_recovery_free(recovery);
    CHECK(millpond_recovery_data(recovery) == NULL);
    millpond_client_free(client);
    recovery = (millpond_recovery *)1;
    FAILS(MILLPOND_INVALID_ARGUMENT, "client", millpond_recovery_read(NULL, &recovery, &error));
    CHECK(recovery == NULL);
}

/* What opening a directory found, as texts. */
static void warnings(const struct backend *backend) {
    if (strcmp(backend->kind, "file") != 0)
        return;
    char folder[] = "/tmp/millpond-c-XXXXXX", command[64], url[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(command, sizeof command, "chmod 755 %s", folder);
    CHECK(system(command) == 0);
    snprintf(url, sizeof url, "file:%s", folder);
    millpond_options options;
    millpond_options_init(&options, sizeof options);
    CHECK(!options.quiet);
    options.url.data = url;
    options.url.length = strlen(url);
    options.quiet = true;
    millpond_client *client;
    millpond_error *error;
    millpond_recovery *recovery;
    OK(millpond_connect_with(&options, &client, &error));
    OK(millpond_recovery_read(client, &recovery, &error));
    const millpond_recovered *found = millpond_recovery_data(recovery);
    CHECK(found->suspicion == NULL);
    CHECK(strstr(found->warnings, "mode 0755") != NULL && strchr(found->warnings, '\n') == NULL);
    millpond_recovery_free(recovery);
    millpond_client_free(client);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

const struct test steps_tests[] = {
    {"adds", adds},           {"reserves", reserves}, {"commits", commits},
    {"reads", reads},         {"deletes", deletes},   {"any_bytes", any_bytes},
    {"large_batches", large_batches}, {"loops", loops},
    {"recovery", recovery},   {"warnings", warnings},
    {NULL, NULL},
};
