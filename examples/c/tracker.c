/* What a queue tracker is for: a page asks which customers have work queued, and the work is in a database, where
   nobody could ask that quickly. The pages themselves keep the tracker up to date, in small slices.

   cc tracker.c -o tracker $(pkg-config --cflags --libs millpond sqlite3) && ./tracker [URL] */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>
#include <sqlite3.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 25, ROUND_MS = 60000, CUSTOMERS = 11 };

static sqlite3 *database;
static millpond_tracker *tracker;

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

/* The same for a call of SQLite. */
static void sqlite_ok(int code) {
    if (code == SQLITE_OK)
        return;
    fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void execute(const char *sql) {
    sqlite_ok(sqlite3_exec(database, sql, NULL, NULL, NULL));
}

static sqlite3_stmt *prepared(const char *sql) {
    sqlite3_stmt *query;
    sqlite_ok(sqlite3_prepare_v2(database, sql, -1, &query, NULL));
    return query;
}

/* Whether the query has another row. */
static int has_row(sqlite3_stmt *query) {
    int code = sqlite3_step(query);
    sqlite_ok(code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code);
    return code == SQLITE_ROW;
}

/* A column of the row, which SQLite keeps until the next one, in memory of our own. */
static millpond_bytes copied(sqlite3_stmt *query, int column, char room[32]) {
    int length = snprintf(room, 32, "%s", (const char *)sqlite3_column_text(query, column));
    assert(length < 32);
    return (millpond_bytes){room, (size_t)length};
}

/* Tracks the customers of the next rows; returns how many rows. */
static uint64_t scan(millpond_recruiter_slice *slice) {
    char numbers[LIMIT][32], customers[LIMIT][32];
    millpond_bytes rows[LIMIT], ids[LIMIT];
    millpond_tracker_result *begun, *advanced;
    millpond_error *error;
    size_t count = 0;
    ok(millpond_tracker_begin_scan(tracker, LIMIT, ROUND_MS, &begun, &error), &error);
    millpond_bytes after = millpond_tracker_result_data(begun)->stats->row;

    sqlite3_stmt *query = prepared("select number, customer from work where number > ? order by number limit ?");
    /* A text that is compared with an integer column is an integer. */
    if (after.data != NULL)
        sqlite_ok(sqlite3_bind_text(query, 1, after.data, (int)after.length, SQLITE_STATIC));
    else
        sqlite_ok(sqlite3_bind_int(query, 1, 0));
    sqlite_ok(sqlite3_bind_int(query, 2, LIMIT));
    for (; has_row(query); count++) {
        rows[count] = copied(query, 0, numbers[count]);
        ids[count] = copied(query, 1, customers[count]);
    }
    sqlite_ok(sqlite3_finalize(query));

    ok(millpond_tracker_advance(tracker, after.data, after.length, rows, count, ids, count, LIMIT, ROUND_MS,
                                &advanced, &error),
       &error);
    const millpond_tracker_scanned *scanned = millpond_tracker_result_data(advanced)->scanned;
    uint64_t scanned_rows = scanned->rows;
    if (scanned->more)
        ok(millpond_recruiter_slice_more(slice, &error), &error); /* so that the job does not slow down */
    millpond_tracker_result_free(advanced);
    millpond_tracker_result_free(begun);
    return scanned_rows;
}

/* Forgets the customers that have no rows any more; returns how many. */
static uint64_t prune(millpond_recruiter_slice *slice) {
    millpond_bytes done[LIMIT];
    millpond_tracker_result *sample, *removed;
    const millpond_bytes *id;
    millpond_error *error;
    size_t count = 0;
    ok(millpond_tracker_sample(tracker, LIMIT, &sample, &error), &error);

    sqlite3_stmt *query = prepared("select 1 from work where customer = ?");
    for (size_t i = 0; (id = millpond_tracker_result_id(sample, i)) != NULL; i++) {
        sqlite_ok(sqlite3_bind_text(query, 1, id->data, (int)id->length, SQLITE_STATIC));
        if (!has_row(query))
            done[count++] = *id;
        sqlite_ok(sqlite3_reset(query));
    }
    sqlite_ok(sqlite3_finalize(query));

    const millpond_tracker_data *sampled = millpond_tracker_result_data(sample);
    ok(millpond_tracker_remove(tracker, done, count, sampled->ids, sampled->id_count, sampled->stamp, &removed,
                               &error),
       &error);
    uint64_t removed_ids = millpond_tracker_result_data(removed)->pruned->removed;
    if (removed_ids > 0)
        ok(millpond_recruiter_slice_more(slice, &error), &error);
    millpond_tracker_result_free(removed);
    millpond_tracker_result_free(sample);
    return removed_ids;
}

/* One at a time of this job, in all processes of the shop together. */
static void install(millpond_recruiter *recruiter, const char *id) {
    millpond_new_job job;
    millpond_error *error;
    millpond_new_job_init(&job, sizeof job);
    job.id = (millpond_bytes){id, strlen(id)};
    job.per_second = 200;
    job.max_running = 1;
    ok(millpond_recruiter_install(recruiter, &job, &error), &error);
}

/* Does a slice, if the enlistment of a page got one. */
static void enlist(millpond_recruiter *recruiter) {
    millpond_recruiter_slice *slice;
    millpond_bytes job;
    millpond_error *error;
    ok(millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, NULL, &slice, NULL, &error), &error);
    if (slice == NULL)
        return;
    ok(millpond_recruiter_slice_job(slice, &job, &error), &error);
    uint64_t items = job.data[0] == 's' ? scan(slice) : prune(slice);
    ok(millpond_recruiter_slice_end(slice, items, NULL, &error), &error);
    millpond_recruiter_slice_free(slice);
}

/* Whether exactly these customers are tracked: a 1 for each that is. */
static int are_tracked(const char *expected) {
    char names[CUSTOMERS][32];
    millpond_bytes ids[CUSTOMERS];
    bool flags[CUSTOMERS];
    millpond_error *error;
    for (int number = 0; number < CUSTOMERS; number++) {
        int length = snprintf(names[number], sizeof names[number], "customer %d", number);
        ids[number] = (millpond_bytes){names[number], (size_t)length};
    }
    ok(millpond_tracker_are_queued(tracker, ids, CUSTOMERS, flags, &error), &error);
    for (int number = 0; number < CUSTOMERS; number++)
        if (flags[number] != (expected[number] == '1'))
            return 0;
    return 1;
}

static void enlist_until(millpond_recruiter *recruiter, const char *expected) {
    const struct timespec moment = {0, 1000000};
    while (!are_tracked(expected)) {
        /* A page is sent to its visitor here; then: */
        enlist(recruiter);
        nanosleep(&moment, NULL);
    }
}

int main(int argc, char **argv) {
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_recruiter *recruiter;
    millpond_error *error;
    uint64_t tracked;
    char text[100];
    bool queued;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    /* Names of its own for each run. */
    int length = snprintf(text, sizeof text, "examples/customers/%ld", (long)getpid());
    ok(millpond_tracker_new(client, text, (size_t)length, &tracker, &error), &error);
    length = snprintf(text, sizeof text, "examples/shop/%ld", (long)getpid());
    ok(millpond_recruiter_new(client, text, (size_t)length, &recruiter, &error), &error);
    ok(millpond_recruiter_set_duty_max(recruiter, 1, &error), &error); /* the pages do nothing else */
    install(recruiter, "scan");
    install(recruiter, "prune");

    sqlite_ok(sqlite3_open(":memory:", &database));
    execute("create table work(number integer primary key, customer text not null)");
    for (int number = 0; number < 100; number++) {
        snprintf(text, sizeof text, "insert into work(customer) values ('customer %d')", number % 10);
        execute(text);
    }
    enlist_until(recruiter, "11111111110");

    /* The work of four customers is done, and there is work for a new one. Its row first, and then its id. */
    execute("delete from work where customer in ('customer 1', 'customer 3', 'customer 5', 'customer 7')");
    execute("insert into work(customer) values ('customer 10')");
    millpond_bytes added = {"customer 10", 11};
    ok(millpond_tracker_add(tracker, &added, 1, &error), &error);
    ok(millpond_tracker_is_queued(tracker, added.data, added.length, &queued, &error), &error);
    assert(queued);
    enlist_until(recruiter, "10101010111");
    ok(millpond_tracker_len(tracker, &tracked, &error), &error);
    assert(tracked == 7);
    ok(millpond_recruiter_stop(recruiter, &error), &error);
    puts("7 of 11 customers have work queued, as the database says");

    sqlite_ok(sqlite3_close(database));
    millpond_recruiter_free(recruiter);
    millpond_tracker_free(tracker);
    millpond_client_free(client);
    return 0;
}
