/* What a recruiter is for: work in the background with no process of its own. The pages of a site remove expired carts
   and send mails, a little after each page.

   cc recruiter.c -o recruiter $(pkg-config --cflags --libs millpond) && ./recruiter [URL] */

#define _POSIX_C_SOURCE 200809L

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static int is(millpond_bytes bytes, const char *text) {
    return bytes.data != NULL && bytes.length == strlen(text) &&
           memcmp(bytes.data, text, bytes.length) == 0;
}

static void pause_1_ms(void) {
    const struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
}

/* The carts of customers, which expire, and the mails that are to be sent. */
static millpond_volatile_hashes *carts;
static uint64_t removed, mails = 20, failures;

static void fill_carts(millpond_client *client) {
    char name[64];
    millpond_error *error;
    int length = snprintf(name, sizeof name, "examples/carts/%ld", (long)getpid());
    ok(millpond_volatile_hashes_new(client, name, (size_t)length, 16, &carts, &error), &error);
    for (int number = 0; number < 100; number++) {
        millpond_volatile_hash *cart;
        length = snprintf(name, sizeof name, "customer %d", number);
        ok(millpond_volatile_hashes_hash_new(carts, name, (size_t)length, &cart, &error), &error);
        ok(millpond_volatile_set(cart, "book", 4, "1", 1, 1, &error), &error);
        millpond_volatile_hash_free(cart);
    }
}

static void install(millpond_recruiter *recruiter, const char *id, double per_second, double share) {
    millpond_new_job job;
    millpond_error *error;
    millpond_new_job_init(&job, sizeof job);
    job.id = (millpond_bytes){id, strlen(id)};
    if (share > 0)
        job.share = share;
    else
        job.per_second = per_second;
    job.budget_ms = 20;
    ok(millpond_recruiter_install(recruiter, &job, &error), &error);
}

/* Removes what has expired, for up to 20 ms, and returns how much it was. */
static uint64_t reap(millpond_recruiter_slice *slice) {
    uint64_t count = 0;
    millpond_error *error;
    bool over = false;
    while (!over) {
        millpond_volatile_result *result;
        ok(millpond_volatile_hashes_reap(carts, 10, &result, &error), &error);
        const millpond_hash_reaped *reaped = millpond_volatile_result_data(result)->reaped;
        bool more = reaped->more;
        count += reaped->fields;
        millpond_volatile_result_free(result);
        if (!more)
            break;
        /* So that the job does not slow down. */
        ok(millpond_recruiter_slice_more(slice, &error), &error);
        ok(millpond_recruiter_slice_is_over(slice, &over, &error), &error);
    }
    removed += count;
    return count;
}

/* Does a slice. Of 0 items there was nothing to do: the job then runs less often. */
static void work(millpond_recruiter_slice *slice) {
    millpond_bytes job;
    millpond_duty duty;
    millpond_error *error;
    ok(millpond_recruiter_slice_job(slice, &job, &error), &error);
    if (is(job, "report")) {
        /* A job that fails, fails no page. */
        failures++;
        ok(millpond_recruiter_slice_fail(slice, &duty, &error), &error);
        assert(duty.why == MILLPOND_WHY_FAILED);
    } else {
        uint64_t items = is(job, "reap") ? reap(slice) : mails > 0 ? 1 : 0;
        if (is(job, "mail"))
            mails -= items; /* send it */
        ok(millpond_recruiter_slice_end(slice, items, &duty, &error), &error);
        assert(duty.why == (items > 0 ? MILLPOND_WHY_WORKED : MILLPOND_WHY_NOTHING));
    }
    millpond_recruiter_slice_free(slice);
}

/* What all processes have reported of a job. */
static uint64_t items_of(millpond_recruiter *recruiter, const char *id) {
    millpond_recruiter_result *result;
    millpond_error *error;
    uint64_t items = 0;
    const millpond_recruiter_job_stats *job;
    ok(millpond_recruiter_stats(recruiter, &result, &error), &error);
    for (size_t i = 0; (job = millpond_recruiter_result_job(result, i)) != NULL; i++)
        if (is(job->job, id))
            items = job->items;
    millpond_recruiter_result_free(result);
    return items;
}

int main(int argc, char **argv) {
    const char *url = argc > 1 ? argv[1] : "memory:";
    millpond_client *client;
    millpond_recruiter *recruiter;
    millpond_recruiter_slice *slice;
    millpond_duty duty;
    millpond_error *error, *unavailable;
    char name[64];
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    fill_carts(client);
    int length = snprintf(name, sizeof name, "examples/site/%ld", (long)getpid());
    ok(millpond_recruiter_new(client, name, (size_t)length, &recruiter, &error), &error);
    ok(millpond_recruiter_set_duty_max(recruiter, 1, &error), &error); /* the pages do nothing else */

    /* 200 slices a second in all processes of the site together; and by a lottery in the process. */
    install(recruiter, "reap", 200, 0);
    install(recruiter, "mail", 0, 0.5);
    install(recruiter, "report", 0, 0.1);
    while (removed < 100 || mails > 0 || failures == 0) {
        /* A page is sent to its visitor here; then: */
        ok(millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, &duty, &slice, &unavailable, &error),
           &error);
        if (slice != NULL)
            work(slice);
        if (unavailable != NULL) {
            /* The server did not respond in time. */
            fprintf(stderr, "%s\n", millpond_error_message(unavailable));
            millpond_error_free(unavailable);
        }
        pause_1_ms();
    }
    ok(millpond_recruiter_stop(recruiter, &error), &error);
    ok(millpond_recruiter_enlist(recruiter, MILLPOND_NOT_SET, &duty, &slice, NULL, &error), &error);
    assert(slice == NULL && duty.why == MILLPOND_WHY_STOPPED && removed == 100);
    puts("100 carts were removed and 20 mails sent, and no page failed");

    /* What the processes have reported, a moment later. */
    while (items_of(recruiter, "reap") != 100 || items_of(recruiter, "mail") != 20)
        pause_1_ms();
    millpond_recruiter_free(recruiter);
    millpond_volatile_hashes_free(carts);
    millpond_client_free(client);
    return 0;
}
