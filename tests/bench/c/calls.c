/* Calls per second from C, ours and hiredis' in turn; prints a list of rows as JSON.

   Arguments: the server's URL, the source of the script that an add calls. */

#include <hiredis/hiredis.h>
#include <millpond.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, MEMBERS_MAX = 1000, WORDS_MAX = 2 * MEMBERS_MAX + 8 };

static millpond_client *client;
static redisContext *redis;

/* The members of every call, as both sides take them. */
static char members[MEMBERS_MAX][24], scores[MEMBERS_MAX][24];
static millpond_ick_pair pairs[MEMBERS_MAX];

static const char *const keys[] = {"k", "k/ick/{k}/pset", "k/ick/{k}/cset"};

static void fail(const char *what) {
    fprintf(stderr, "calls: %s\n", what);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* EVALSHA by hand: hash, keys and arguments. */
struct words {
    char sha1[41];
    const char *text[WORDS_MAX];
    size_t length[WORDS_MAX];
    int count;
};

static void word(struct words *words, const char *text) {
    words->text[words->count] = text;
    words->length[words->count++] = strlen(text);
}

static void begin(struct words *words, const char *source) {
    redisReply *sha1 = redisCommand(redis, "SCRIPT LOAD %b", source, strlen(source));
    if (sha1 == NULL || sha1->type != REDIS_REPLY_STRING)
        fail("SCRIPT LOAD failed");
    snprintf(words->sha1, sizeof words->sha1, "%s", sha1->str);
    freeReplyObject(sha1);
    words->count = 0;
    word(words, "EVALSHA");
    word(words, words->sha1);
    word(words, "3");
    for (int i = 0; i < 3; i++)
        word(words, keys[i]);
}

struct row {
    const char *name;
    int members;
    int calls;
    struct words words;
};

static void our_add(const struct row *row) {
    if (millpond_ick_add(client, "k", 1, pairs, (size_t)row->members, NULL, NULL) != MILLPOND_OK)
        fail("an add failed");
}

static void their_add(const struct row *row) {
    const struct words *words = &row->words;
    redisReply *reply =
        redisCommandArgv(redis, words->count, (const char **)words->text, words->length);
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
        fail("an EVALSHA failed");
    freeReplyObject(reply);
}

static double sum;

static void our_reserve(const struct row *row) {
    millpond_ick_entries *entries;
    size_t max = (size_t)row->members;
    if (millpond_ick_reserve(client, "k", 1, max, false, &entries, NULL) != MILLPOND_OK)
        fail("a reserve failed");
    const char *next = (const char *)millpond_ick_entries_data(entries);
    size_t stride = millpond_ick_entries_stride();
    if (millpond_ick_entries_length(entries) != max)
        fail("a reserve returned too little");
    for (size_t i = 0; i < max; i++, next += stride) {
        const millpond_ick_entry *entry = (const millpond_ick_entry *)next;
        sum += entry->score + (double)entry->member_length;
    }
    millpond_ick_entries_free(entries);
}

static void their_reserve(const struct row *row) {
    const struct words *words = &row->words;
    redisReply *reply =
        redisCommandArgv(redis, words->count, (const char **)words->text, words->length);
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY ||
        reply->elements != 2 * (size_t)row->members)
        fail("an EVALSHA failed");
    for (size_t i = 0; i < reply->elements; i += 2)
        sum += strtod(reply->element[i + 1]->str, NULL) + (double)reply->element[i]->len;
    freeReplyObject(reply);
}

static double per_second(void (*call)(const struct row *), const struct row *row) {
    double start = seconds();
    for (int i = 0; i < row->calls; i++)
        call(row);
    return row->calls / (seconds() - start);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[ROUNDS]) {
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

static void measure(const struct row *row, void (*ours)(const struct row *),
                    void (*theirs)(const struct row *)) {
    static int rows;
    double our[ROUNDS], their[ROUNDS], ratio[ROUNDS];
    /* The first round warms up, and the order alternates. */
    for (int round = -1; round < ROUNDS; round++) {
        double a, b;
        if (round % 2) {
            b = per_second(theirs, row);
            a = per_second(ours, row);
        } else {
            a = per_second(ours, row);
            b = per_second(theirs, row);
        }
        if (round >= 0)
            our[round] = a, their[round] = b, ratio[round] = a / b;
    }
    printf("%s{\"name\": \"%s %d\", \"concurrent\": 1, \"peer\": \"hiredis\", \"ours\": %.1f, "
           "\"theirs\": %.1f, \"ratio\": %.4f}",
           rows++ ? ",\n " : "[", row->name, row->members, median(our), median(their),
           median(ratio));
}

int main(int count, char **arguments) {
    static const int sizes[] = {1, 100, 1000}, calls[] = {2000, 400, 60};
    static struct row row;
    const millpond_script *reserve;
    char host[64];
    int port;
    if (count != 3 || sscanf(arguments[1], "redis://%63[^:/]:%d", host, &port) != 2)
        fail("usage: calls redis://HOST:PORT SOURCE");
    if (millpond_connect(arguments[1], strlen(arguments[1]), &client, NULL) != MILLPOND_OK)
        fail("no client");
    redis = redisConnect(host, port);
    if (redis == NULL || redis->err)
        fail("no connection");
    for (int i = 0; i < MEMBERS_MAX; i++) {
        int length = snprintf(members[i], sizeof members[i], "document-%08d", i);
        double score = 1763691473.5 + i;
        snprintf(scores[i], sizeof scores[i], "%.1f", score);
        pairs[i] = (millpond_ick_pair){members[i], (size_t)length, score, false};
    }

    row.name = "add";
    for (int i = 0; i < 3; i++) {
        row.members = sizes[i], row.calls = calls[i];
        begin(&row.words, arguments[2]);
        word(&row.words, "0");
        for (int j = 0; j < row.members; j++) {
            word(&row.words, scores[j]);
            word(&row.words, members[j]);
        }
        measure(&row, our_add, their_add);
    }

    /* The consumer set fills up once; then each call returns the same batch. */
    row.name = "reserve";
    millpond_script_find("ick.reserve", &reserve, NULL);
    for (int i = 0; i < 3; i++) {
        char max[8];
        row.members = sizes[i], row.calls = calls[i];
        snprintf(max, sizeof max, "%d", row.members);
        begin(&row.words, reserve->source);
        word(&row.words, "");
        word(&row.words, max);
        word(&row.words, "0");
        measure(&row, our_reserve, their_reserve);
    }
    printf("]\n");
    redisFree(redis);
    millpond_client_free(client);
    return sum > 0 ? 0 : 1;
}
