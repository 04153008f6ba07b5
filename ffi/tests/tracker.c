/* Queue trackers: ids, scans and prunes by their halves, several of them at the same time, and wrong calls. */

#include "fork.h"
#include "redis.h"
#include "tasks.h"

#include <string.h>

/* A round that begins anew at each end of the table, and one that stays there. */
#define ALWAYS 0
#define NEVER UINT64_C(3155760000000)
#define LIMIT 2
#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)
#define DATA(result) (millpond_tracker_result_data(result))

static millpond_tracker *tracker_named(millpond_client *client, const char *name) {
    millpond_tracker *tracker;
    millpond_error *error;
    OK(millpond_tracker_new(client, name, strlen(name), &tracker, &error));
    return tracker;
}

/* Texts that are written as "ann bob"; returns how many. */
static size_t texts_of(const char *words, millpond_bytes texts[8]) {
    size_t count = 0;
    while (*words != '\0') {
        size_t length = strcspn(words, " ");
        texts[count++] = (millpond_bytes){words, length};
        words += length + (words[length] == ' ');
    }
    return count;
}

static void track(millpond_tracker *tracker, const char *words) {
    millpond_bytes ids[8];
    millpond_error *error;
    OK(millpond_tracker_add(tracker, ids, texts_of(words, ids), &error));
}

/* Which of these ids are tracked, as "10" for the first of two. */
static bool are_queued(millpond_tracker *tracker, const char *words, const char *expected) {
    millpond_bytes ids[8];
    bool flags[8], queued = false;
    size_t count = texts_of(words, ids);
    millpond_error *error;
    CHECK(strlen(expected) == count);
    OK(millpond_tracker_are_queued(tracker, ids, count, flags, &error));
    for (size_t i = 0; i < count; i++) {
        OK(millpond_tracker_is_queued(tracker, ids[i].data, ids[i].length, &queued, &error));
        CHECK(queued == flags[i]);
        if (flags[i] != (expected[i] == '1'))
            return false;
    }
    return true;
}

/* The numbers of the stats, and the row; NULL: the beginning. */
static bool has_come_to(millpond_tracker *tracker, uint64_t ids, uint64_t rounds, const char *row) {
    millpond_tracker_result *result;
    millpond_error *error;
    OK(millpond_tracker_stats(tracker, &result, &error));
    const millpond_tracker_data *data = DATA(result);
    CHECK((data->stats->oldest == MILLPOND_NOT_SET) == (data->stats->ids == 0));
    CHECK(data->entry_count == 0 && data->id_count == 0 && data->scanned == NULL && data->pruned == NULL);
    CHECK(data->text_length == (row != NULL ? strlen(row) : 0));
    bool has = data->stats->ids == ids && data->stats->rounds == rounds && is(data->stats->row, row);
    millpond_tracker_result_free(result);
    return has;
}

/* The second half of a scan: rows that are written as "1=ann 2=bob 3=", the last of which has no id. */
static millpond_tracker_scanned advance(millpond_tracker *tracker, millpond_bytes after, const char *words,
                                        uint64_t round_ms) {
    millpond_bytes rows[8], ids[8];
    size_t count = texts_of(words, rows);
    millpond_tracker_result *result;
    millpond_error *error;
    for (size_t i = 0; i < count; i++) {
        const char *end = strchr(rows[i].data, '=');
        size_t length = (size_t)(end - rows[i].data);
        ids[i] = (millpond_bytes){end + 1, rows[i].length - length - 1};
        if (ids[i].length == 0)
            ids[i].data = NULL;
        rows[i].length = length;
    }
    OK(millpond_tracker_advance(tracker, after.data, after.length, rows, count, ids, count, LIMIT, round_ms,
                                &result, &error));
    CHECK(DATA(result)->stats == NULL && DATA(result)->pruned == NULL && DATA(result)->text_length == 0);
    millpond_tracker_scanned scanned = *DATA(result)->scanned;
    millpond_tracker_result_free(result);
    return scanned;
}

static bool did(millpond_tracker_scanned scanned, uint64_t rows, uint64_t added, uint64_t more) {
    return scanned.rows == rows && scanned.added == added && scanned.more == more;
}

/* A scan that begins after this row; NULL: at the beginning. */
static millpond_tracker_scanned scan(millpond_tracker *tracker, const char *after, const char *words,
                                     uint64_t round_ms) {
    millpond_tracker_result *begun;
    millpond_error *error;
    OK(millpond_tracker_begin_scan(tracker, LIMIT, round_ms, &begun, &error));
    CHECK(is(DATA(begun)->stats->row, after));
    millpond_tracker_scanned scanned = advance(tracker, DATA(begun)->stats->row, words, round_ms);
    millpond_tracker_result_free(begun);
    return scanned;
}

/* The first half of a prune: a sample of these ids. */
static millpond_tracker_result *sample(millpond_tracker *tracker, size_t limit, const char *words) {
    millpond_bytes expected[8];
    size_t count = texts_of(words, expected);
    millpond_tracker_result *result;
    millpond_error *error;
    OK(millpond_tracker_sample(tracker, limit, &result, &error));
    CHECK(DATA(result)->id_count == count && millpond_tracker_result_id(result, count) == NULL);
    for (size_t i = 0; i < count; i++) {
        const millpond_bytes *id = millpond_tracker_result_id(result, i);
        CHECK(id == &DATA(result)->ids[i] && id->length == expected[i].length);
        CHECK(memcmp(id->data, expected[i].data, id->length) == 0);
    }
    CHECK(DATA(result)->stats == NULL && DATA(result)->entry_count == 0);
    return result;
}

/* The second half, which frees the sample: how many of these ids were removed. */
static uint64_t removed(millpond_tracker *tracker, millpond_tracker_result *sampled, const char *words) {
    const millpond_tracker_data *data = DATA(sampled);
    millpond_bytes done[8];
    millpond_tracker_result *result;
    millpond_error *error;
    OK(millpond_tracker_remove(tracker, done, texts_of(words, done), data->ids, data->id_count, data->stamp,
                               &result, &error));
    CHECK(DATA(result)->pruned->checked == data->id_count && DATA(result)->scanned == NULL);
    uint64_t count = DATA(result)->pruned->removed;
    millpond_tracker_result_free(result);
    millpond_tracker_result_free(sampled);
    return count;
}

static void ids_are_added_and_listed(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tracker *tracker = tracker_named(client, "ids"), *other = tracker_named(client, "{ids}:other");
    millpond_bytes odd = B("\xff\0=");
    millpond_tracker_result *first, *second;
    millpond_error *error;
    uint64_t number = 7;
    bool queued = true;

    CHECK(has_come_to(tracker, 0, 0, NULL) && are_queued(tracker, "ann", "0"));
    OK(millpond_tracker_clear(tracker, &number, &error));
    CHECK(number == 0);
    track(tracker, "bob ann bob");
    OK(millpond_tracker_add(tracker, &odd, 1, &error));
    OK(millpond_tracker_is_queued(tracker, S("\xff\0="), &queued, &error));
    CHECK(queued && are_queued(tracker, "bob eve ann bob", "1011"));
    OK(millpond_tracker_are_queued(tracker, &odd, 1, NULL, &error));
    OK(millpond_tracker_len(tracker, &number, &error));
    CHECK(number == 3 && has_come_to(tracker, 3, 0, NULL) && has_come_to(other, 0, 0, NULL));

    /* Those of one stamp are on one page. */
    OK(millpond_tracker_ids(tracker, 0, 1, &first, &error));
    const millpond_tracked *ann = millpond_tracker_result_entry(first, 0);
    const millpond_tracked *bob = millpond_tracker_result_entry(first, 1);
    CHECK(DATA(first)->entry_count == 2 && millpond_tracker_result_entry(first, 2) == NULL);
    CHECK((const char *)bob - (const char *)ann == (ptrdiff_t)DATA(first)->entry_size);
    CHECK(is(ann->id, "ann") && is(bob->id, "bob") && bob->stamp == ann->stamp && ann->stamp > 0);
    CHECK(DATA(first)->text_length == 6 && memcmp(DATA(first)->text, "annbob", 6) == 0);
    OK(millpond_tracker_ids(tracker, bob->stamp, 1, &second, &error));
    const millpond_tracked *last = DATA(second)->entries;
    CHECK(DATA(second)->entry_count == 1 && last->stamp > bob->stamp);
    CHECK(last->id.length == 3 && memcmp(last->id.data, "\xff\0=", 3) == 0);
    millpond_tracker_result_free(first);
    OK(millpond_tracker_ids(tracker, last->stamp, 1000, &first, &error));
    CHECK(DATA(first)->entry_count == 0 && millpond_tracker_result_entry(first, 0) == NULL);
    millpond_tracker_result_free(first);
    millpond_tracker_result_free(second);

    OK(millpond_tracker_clear(tracker, &number, &error));
    CHECK(number == 3 && has_come_to(tracker, 0, 0, NULL));
    OK(millpond_tracker_clear(tracker, NULL, &error));
    millpond_tracker_free(other);
    millpond_tracker_free(tracker);
    millpond_client_free(client);
}

static void a_scan_goes_on_where_the_last_one_ended(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tracker *tracker = tracker_named(client, "scans");
    millpond_tracker_result *begun;
    millpond_error *error;

    /* Rows are numbers or texts, and an id may be missing. */
    CHECK(did(scan(tracker, NULL, "7=ann 8=bob", NEVER), 2, 2, 1));
    CHECK(did(scan(tracker, "8", "x/1=ann x/2=", NEVER), 2, 0, 1));
    CHECK(has_come_to(tracker, 2, 0, "x/2"));
    /* At the end it waits for rows that are new, or begins anew. */
    CHECK(did(scan(tracker, "x/2", "", NEVER), 0, 0, 0) && has_come_to(tracker, 2, 0, "x/2"));
    CHECK(did(scan(tracker, "x/2", "y=eve", ALWAYS), 1, 1, 0) && has_come_to(tracker, 3, 1, NULL));
    CHECK(did(scan(tracker, NULL, "6=cy", ALWAYS), 1, 1, 0) && has_come_to(tracker, 4, 2, NULL));

    /* A program whose query fails makes no second half. */
    CHECK(did(scan(tracker, NULL, "7=ann 8=bob", NEVER), 2, 0, 1));
    OK(millpond_tracker_begin_scan(tracker, LIMIT, NEVER, &begun, &error));
    CHECK(DATA(begun)->stats->ids == 4 && DATA(begun)->stats->rounds == 2);
    millpond_tracker_result_free(begun);
    CHECK(did(scan(tracker, "8", "9=bob", NEVER), 1, 0, 0));
    CHECK(are_queued(tracker, "ann bob eve cy dee", "11110"));
    millpond_tracker_free(tracker);
    millpond_client_free(client);
}

static void a_prune_removes_what_has_no_work(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tracker *tracker = tracker_named(client, "prunes");

    CHECK(removed(tracker, sample(tracker, 9, ""), "") == 0);
    track(tracker, "ann bob cy");
    track(tracker, "dee");
    CHECK(removed(tracker, sample(tracker, 2, "ann bob"), "bob") == 1);
    CHECK(are_queued(tracker, "ann bob cy dee", "1011"));
    /* Those first that were checked longest ago. */
    CHECK(removed(tracker, sample(tracker, 9, "cy dee ann"), "") == 0);
    /* After a check that failed, there is a single one. */
    millpond_tracker_result_free(sample(tracker, 2, "ann cy"));
    CHECK(removed(tracker, sample(tracker, 2, "dee"), "dee") == 1);
    CHECK(removed(tracker, sample(tracker, 2, "ann cy"), "ann cy") == 2 && has_come_to(tracker, 0, 0, NULL));
    millpond_tracker_free(tracker);
    millpond_client_free(client);
}

static void others_are_at_work_too(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tracker *tracker = tracker_named(client, "others"), *again = tracker_named(client, "others");
    millpond_bytes none = {NULL, 0}, one = B("1");

    /* What is added or scanned while it is checked stays. */
    track(again, "ann bob cy");
    millpond_tracker_result *sampled = sample(tracker, 9, "ann bob cy");
    track(again, "bob");
    CHECK(did(scan(again, NULL, "1=cy 2=", NEVER), 2, 0, 1));
    CHECK(removed(tracker, sampled, "ann bob cy") == 1 && are_queued(tracker, "ann bob cy", "011"));
    /* Of two scans, one moves on; it may be repeated. */
    CHECK(did(advance(tracker, none, "1=ann 3=ann", NEVER), 0, 0, 1) && are_queued(tracker, "ann", "0"));
    CHECK(did(advance(tracker, none, "1=cy 2=", NEVER), 2, 0, 1));
    CHECK(did(advance(tracker, one, "2=ann 3=ann", NEVER), 0, 0, 1) && has_come_to(tracker, 2, 0, "2"));
    /* Of two prunes, each has other ids. */
    sampled = sample(tracker, 1, "bob");
    millpond_tracker_result *other = sample(again, 1, "cy");
    CHECK(DATA(other)->stamp > DATA(sampled)->stamp);
    CHECK(removed(tracker, sampled, "bob") == 1 && removed(again, other, "cy") == 1);
    CHECK(has_come_to(tracker, 0, 0, "2"));
    millpond_tracker_free(tracker);
    millpond_tracker_free(again);
    millpond_client_free(client);
}

/* The parent's tracker, in the child. */
struct parents {
    bool is_embedded;
    millpond_tracker *tracker;
};

static void in_the_child(void *argument) {
    struct parents *parents = argument;
    millpond_bytes id = B("child");
    millpond_error *error;
    if (parents->is_embedded)
        FAILS(MILLPOND_FORKED, "fork", millpond_tracker_add(parents->tracker, &id, 1, &error));
    else
        OK(millpond_tracker_add(parents->tracker, &id, 1, &error));
    millpond_tracker_free(parents->tracker);
}

static void a_child_has_its_parents_tracker(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    struct parents parents = {strcmp(backend->kind, "redis") != 0, tracker_named(client, "forked")};
    millpond_error *error;
    bool queued;

    track(parents.tracker, "parent");
    in_child(in_the_child, &parents);
    CHECK(are_queued(parents.tracker, "parent child", parents.is_embedded ? "10" : "11"));
    OK(millpond_close(client, &error));
    FAILS(MILLPOND_CLOSED, "", millpond_tracker_is_queued(parents.tracker, S("parent"), &queued, &error));
    CHECK(!queued);
    millpond_tracker_free(parents.tracker);
    millpond_client_free(client);
}

#define ADVANCE(...) millpond_tracker_advance(tracker, __VA_ARGS__, LIMIT, ALWAYS, &result, &error)

static void wrong_calls(const struct backend *backend) {
    static char long_text[1025];
    static millpond_bytes many[1001];
    static bool flags[1001];
    millpond_client *client = connect_to(backend);
    millpond_tracker *tracker = (void *)1, *nameless;
    millpond_bytes wrong[] = {B("a"), {NULL, 3}}, back[] = {B("6"), B("5")}, odd = B("\xff"), empty = B(""),
                   a = B("a"), long_id = {long_text, 513}, long_row = {long_text, 1025};
    millpond_tracker_result *result = (void *)1;
    millpond_error *error;
    bool queued = true;

    memset(long_text, 'x', sizeof long_text);
    for (size_t i = 0; i < 1001; i++)
        many[i] = a, flags[i] = true;
    WRONG("tracker is NULL", millpond_tracker_new(client, S("x"), NULL, &error));
    WRONG("name is NULL", millpond_tracker_new(client, NULL, 1, &tracker, &error));
    CHECK(tracker == NULL);
    tracker = tracker_named(client, "wrong");
    WRONG("ids is NULL", millpond_tracker_add(tracker, NULL, 1, &error));
    WRONG("ids[1].data is NULL", millpond_tracker_add(tracker, wrong, 2, &error));
    WRONG("no id", millpond_tracker_add(tracker, NULL, 0, &error));
    WRONG("an id has 0 bytes", millpond_tracker_add(tracker, &empty, 1, &error));
    WRONG("an id has 513 bytes", millpond_tracker_add(tracker, &long_id, 1, &error));
    WRONG("at most 1000 ids", millpond_tracker_add(tracker, many, 1001, &error));
    WRONG("id is NULL", millpond_tracker_is_queued(tracker, NULL, 1, &queued, &error));
    WRONG("an id has 0 bytes", millpond_tracker_is_queued(tracker, S(""), &queued, &error));
    CHECK(!queued);
    WRONG("queued is NULL", millpond_tracker_is_queued(tracker, S("a"), NULL, &error));
    WRONG("at most 1000 ids", millpond_tracker_are_queued(tracker, many, 1001, flags, &error));
    CHECK(!flags[0] && !flags[1000]);
    WRONG("no id", millpond_tracker_are_queued(tracker, NULL, 0, NULL, &error));
    WRONG("len is NULL", millpond_tracker_len(tracker, NULL, &error));
    WRONG("result is NULL", millpond_tracker_stats(tracker, NULL, &error));
    WRONG("limit is 0", millpond_tracker_ids(tracker, 0, 0, &result, &error));
    CHECK(result == NULL);
    WRONG("limit is 1001", millpond_tracker_ids(tracker, 0, 1001, &result, &error));

    WRONG("limit is 0", millpond_tracker_begin_scan(tracker, 0, ALWAYS, &result, &error));
    WRONG("100 years", millpond_tracker_begin_scan(tracker, 1, NEVER + 1, &result, &error));
    WRONG("after is NULL", ADVANCE(NULL, 1, &a, 1, &a, 1));
    WRONG("after is not UTF-8", ADVANCE(S("\xff"), &a, 1, &a, 1));
    WRONG("rows is NULL", ADVANCE(S(""), NULL, 1, &a, 1));
    WRONG("ids[1].data is NULL", ADVANCE(S(""), back, 2, wrong, 2));
    WRONG("more rows than ids", ADVANCE(S(""), back, 2, &a, 1));
    WRONG("more ids than rows", ADVANCE(S(""), &a, 1, back, 2));
    WRONG("a row has 0 bytes", ADVANCE(S(""), &empty, 1, &a, 1));
    WRONG("a row has 1025 bytes", ADVANCE(S(""), &long_row, 1, &a, 1));
    WRONG("a row is not UTF-8", ADVANCE(S(""), &odd, 1, &a, 1));
    WRONG("an id has 513 bytes", ADVANCE(S(""), &a, 1, &long_id, 1));
    WRONG("at most 1000 rows", ADVANCE(S(""), many, 1001, many, 1001));
    WRONG("the rows end where they began", ADVANCE(S("5"), back, 2, back, 2));
    WRONG("limit is 0", millpond_tracker_sample(tracker, 0, &result, &error));
    WRONG("were not sampled", millpond_tracker_remove(tracker, back, 2, &a, 1, 1, &result, &error));
    WRONG("sampled is NULL", millpond_tracker_remove(tracker, &a, 1, NULL, 1, 1, &result, &error));
    WRONG("result is NULL", millpond_tracker_remove(tracker, &a, 1, &a, 1, 1, NULL, &error));
    CHECK(DATA(NULL) == NULL && millpond_tracker_result_entry(NULL, 0) == NULL);
    CHECK(millpond_tracker_result_id(NULL, 0) == NULL);
    nameless = tracker_named(client, "");
    WRONG("the name is empty", millpond_tracker_clear(nameless, NULL, &error));
    millpond_tracker_free(nameless);

    /* Nothing was sent. */
    CHECK(has_come_to(tracker, 0, 0, NULL));
    if (strcmp(backend->kind, "redis") == 0) {
        redisContext *redis = redis_connect(backend);
        freeReplyObject(redis_command(redis, "SET {wrong}:tracker:ids 1"));
        FAILS(MILLPOND_WRONG_TYPE, "{wrong}:tracker:ids", millpond_tracker_sample(tracker, 1, &result, &error));
        CHECK(result == NULL);
        freeReplyObject(redis_command(redis, "DEL {wrong}:tracker:ids"));
        redisFree(redis);
    }
    millpond_tracker_free(tracker);
    millpond_client_free(client);
}

const struct test tracker_tests[] = {
    {"ids_are_added_and_listed", ids_are_added_and_listed},
    {"a_scan_goes_on_where_the_last_one_ended", a_scan_goes_on_where_the_last_one_ended},
    {"a_prune_removes_what_has_no_work", a_prune_removes_what_has_no_work},
    {"others_are_at_work_too", others_are_at_work_too},
    {"a_child_has_its_parents_tracker", a_child_has_its_parents_tracker},
    {"wrong_tracker_calls", wrong_calls},
    {NULL, NULL}};
