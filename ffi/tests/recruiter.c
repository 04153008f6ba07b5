/* Recruiters: enlistments, slices and their ends, the loop, signals, and wrong calls. */

#include "fork.h"
#include "tasks.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)

/* A recruiter that no other test uses; an embedded engine has a clock that the test moves. */
struct at {
    millpond_client *client;
    millpond_clock *clock;
    millpond_recruiter *recruiter;
};

static struct at begin(const struct backend *backend, const char *name) {
    struct at at = {.clock = NULL};
    millpond_error *error;
    if (strcmp(backend->kind, "redis") == 0) {
        at.client = connect_to(backend);
    } else {
        OK(millpond_clock_new(MILLPOND_NOT_SET, &at.clock, &error));
        OK(connect_with_clock(backend->url, at.clock, &at.client, &error));
    }
    OK(millpond_recruiter_new(at.client, name, strlen(name), &at.recruiter, &error));
    /* No rest after a slice, and patience with the server. */
    OK(millpond_recruiter_set_duty_max(at.recruiter, 1, &error));
    OK(millpond_recruiter_set_decision_timeout(at.recruiter, 1000, &error));
    return at;
}

static void end(struct at *at) {
    millpond_recruiter_free(at->recruiter);
    millpond_client_free(at->client);
    millpond_clock_free(at->clock);
}

/* Moves the clock; without one, time passes. */
static void pass(struct at *at, int milliseconds) {
    millpond_error *error;
    if (at->clock != NULL)
        OK(millpond_clock_advance(at->clock, (uint64_t)milliseconds, &error));
    else
        sleep_ms(2);
}

static millpond_new_job job_named(const char *id) {
    millpond_new_job job;
    millpond_new_job_init(&job, sizeof job);
    CHECK(isnan(job.share) && isnan(job.per_second) && job.max_running == 0);
    CHECK(job.burst == MILLPOND_NOT_SET && job.idle_max_ms == MILLPOND_NOT_SET);
    job.id = (millpond_bytes){id, strlen(id)};
    /* No slice is over before its test. */
    job.budget_ms = 60000;
    return job;
}

/* Installs a job that every enlistment runs, or one that runs once in a second. */
static void install(struct at *at, const char *id, bool always) {
    millpond_new_job job = job_named(id);
    millpond_error *error;
    *(always ? &job.share : &job.per_second) = 1;
    OK(millpond_recruiter_install(at->recruiter, &job, &error));
}

/* An enlistment that is dismissed, and why. */
static uint64_t why(struct at *at) {
    millpond_recruiter_slice *slice = (void *)1;
    millpond_error *unavailable = (void *)1, *error;
    millpond_duty duty;
    memset(&duty, 0x5a, sizeof duty);
    OK(millpond_recruiter_enlist(at->recruiter, MILLPOND_NOT_SET, &duty, &slice, &unavailable, &error));
    CHECK(slice == NULL && unavailable == NULL);
    CHECK(duty.recruited == 0 && duty.job.data == NULL && duty.job.length == 0 && duty.took_us == 0);
    return duty.why;
}

/* The slice of an enlistment. */
static millpond_recruiter_slice *slice_for(struct at *at, int64_t budget_ms) {
    millpond_error *unavailable = (void *)1, *error;
    millpond_recruiter_slice *slice;
    millpond_duty duty;
    memset(&duty, 0x5a, sizeof duty);
    OK(millpond_recruiter_enlist(at->recruiter, budget_ms, &duty, &slice, &unavailable, &error));
    CHECK(slice != NULL && unavailable == NULL && duty.why == 0 && duty.job.data == NULL);
    return slice;
}

/* Ends a slice as `how` says, and frees it; the duty's job is checked and gone then. */
enum how { ENDS, ENDS_EMPTY, FAILS_IT, ABORTS };

static millpond_duty ended(millpond_recruiter_slice *slice, const char *job, enum how how) {
    millpond_duty duty;
    millpond_error *error;
    if (how == ABORTS)
        OK(millpond_recruiter_slice_abort(slice, &error));
    if (how == FAILS_IT)
        OK(millpond_recruiter_slice_fail(slice, &duty, &error));
    else
        OK(millpond_recruiter_slice_end(slice, how == ENDS_EMPTY ? 0 : 3, &duty, &error));
    CHECK(is(duty.job, job));
    duty.job = (millpond_bytes){NULL, 0};
    millpond_recruiter_slice_free(slice);
    return duty;
}

/* What has been reported of a job, once that is as many slices; the rest is 0. */
static millpond_recruiter_job_stats stats_of(struct at *at, const char *id, uint64_t slices) {
    for (;;) {
        millpond_recruiter_job_stats found = {.job = {NULL, 0}};
        const millpond_recruiter_job_stats *job;
        millpond_recruiter_result *result;
        millpond_error *error;
        OK(millpond_recruiter_stats(at->recruiter, &result, &error));
        const millpond_recruiter_data *data = millpond_recruiter_result_data(result);
        for (size_t i = 0; (job = millpond_recruiter_result_job(result, i)) != NULL; i++) {
            CHECK((const char *)job == (const char *)data->jobs + i * data->job_size);
            if (is(job->job, id))
                found = *job;
        }
        CHECK(data->stats->enlisted >= found.worked && data->text_length >= data->job_count);
        millpond_recruiter_result_free(result);
        if (found.worked + found.nothing + found.failed + found.aborted >= slices)
            return found;
        sleep_ms(2);
    }
}

static void a_slice_ends_in_one_way(const struct backend *backend) {
    static const struct {
        enum how how;
        uint64_t recruited, why;
    } rows[] = {
        {ENDS, 1, MILLPOND_WHY_WORKED},
        {ENDS_EMPTY, 0, MILLPOND_WHY_NOTHING},
        {FAILS_IT, 0, MILLPOND_WHY_FAILED},
        {ABORTS, 0, MILLPOND_WHY_ABORTED},
    };
    struct at at = begin(backend, "ends");
    millpond_recruiter_slice *slice;
    millpond_error *error;
    millpond_duty duty;

    CHECK(why(&at) == MILLPOND_WHY_NO_JOBS);
    install(&at, "mail", true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        slice = slice_for(&at, MILLPOND_NOT_SET);
        CHECK(why(&at) == MILLPOND_WHY_IN_SLICE);
        duty = ended(slice, "mail", rows[i].how);
        CHECK(duty.recruited == rows[i].recruited && duty.why == rows[i].why);
    }
    /* Without an end it was aborted. The first of two ends counts. */
    millpond_recruiter_slice_free(slice_for(&at, MILLPOND_NOT_SET));
    slice = slice_for(&at, MILLPOND_NOT_SET);
    OK(millpond_recruiter_slice_end(slice, 4, NULL, &error));
    OK(millpond_recruiter_slice_fail(slice, &duty, &error));
    CHECK(duty.why == MILLPOND_WHY_FAILED);
    millpond_recruiter_slice_free(slice);

    slice = slice_for(&at, MILLPOND_NOT_SET);
    OK(millpond_recruiter_stop(at.recruiter, &error));
    CHECK(why(&at) == MILLPOND_WHY_STOPPED);
    CHECK(ended(slice, "mail", ENDS).why == MILLPOND_WHY_WORKED);
    millpond_recruiter_job_stats stats = stats_of(&at, "mail", 7);
    CHECK(stats.worked == 3 && stats.nothing == 1 && stats.failed == 1 && stats.aborted == 2);
    CHECK(stats.items == 10 && stats.granted == 0 && stats.last_granted_us == 0);
    end(&at);
}

static void a_slice_has_a_budget(const struct backend *backend) {
    struct at at = begin(backend, "budget");
    millpond_recruiter_slice *slice;
    millpond_new_job job = job_named("mail");
    millpond_error *error;
    millpond_bytes id;
    uint64_t budget_ms, remaining_ms, fence = 7;
    bool over, lost;
    const int64_t budgets[][2] = {
        {MILLPOND_NOT_SET, 20000}, {5000, 5000}, {50000, 20000}, {0, 0}};

    job.share = 1;
    job.budget_ms = 20000;
    OK(millpond_recruiter_install(at.recruiter, &job, &error));
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        slice = slice_for(&at, budgets[i][0]);
        OK(millpond_recruiter_slice_job(slice, &id, &error));
        OK(millpond_recruiter_slice_budget(slice, &budget_ms, &error));
        OK(millpond_recruiter_slice_remaining(slice, &remaining_ms, &error));
        OK(millpond_recruiter_slice_fence(slice, &fence, &error));
        OK(millpond_recruiter_slice_is_lost(slice, &lost, &error));
        CHECK(is(id, "mail") && budget_ms == (uint64_t)budgets[i][1] && fence == 0 && !lost);
        CHECK(remaining_ms <= budget_ms && (at.clock == NULL || remaining_ms == budget_ms));
        if (at.clock != NULL) {
            OK(millpond_recruiter_slice_is_over(slice, &over, &error));
            CHECK(over == (budget_ms == 0));
            pass(&at, (int)budget_ms);
            OK(millpond_recruiter_slice_is_over(slice, &over, &error));
            OK(millpond_recruiter_slice_remaining(slice, &remaining_ms, &error));
            CHECK(over && remaining_ms == 0);
        }
        millpond_duty duty = ended(slice, "mail", ENDS);
        CHECK(at.clock == NULL || duty.took_us == budget_ms * 1000);
    }
    if (at.clock != NULL) {
        /* A process that gives a tenth of its time rests nine times as long. */
        OK(millpond_recruiter_set_duty_max(at.recruiter, 0.1, &error));
        slice = slice_for(&at, MILLPOND_NOT_SET);
        pass(&at, 10);
        ended(slice, "mail", ENDS);
        pass(&at, 89);
        CHECK(why(&at) == MILLPOND_WHY_OVER_DUTY);
        pass(&at, 1);
        ended(slice_for(&at, MILLPOND_NOT_SET), "mail", ENDS);
    }
    end(&at);
}

/* Enlists until the server grants a slice, in one call or in two. */
static millpond_recruiter_slice *granted(struct at *at, bool in_two) {
    for (;;) {
        millpond_error *unavailable = NULL, *error;
        millpond_recruiter_slice *slice;
        millpond_duty duty;
        bool asks = true;
        if (in_two) {
            OK(millpond_recruiter_decide(at->recruiter, MILLPOND_NOT_SET, &duty, &slice, &asks, &error));
            CHECK(slice == NULL && (duty.why == 0) == asks);
            if (asks)
                OK(millpond_recruiter_ask(at->recruiter, MILLPOND_NOT_SET, &duty, &slice, &unavailable,
                                          &error));
        } else {
            OK(millpond_recruiter_enlist(at->recruiter, MILLPOND_NOT_SET, &duty, &slice, &unavailable,
                                         &error));
        }
        /* A machine that stands still lets a server look as if it did. */
        CHECK((unavailable != NULL) == (duty.why == MILLPOND_WHY_UNAVAILABLE));
        millpond_error_free(unavailable);
        if (slice != NULL) {
            CHECK(duty.why == 0 && asks);
            return slice;
        }
        CHECK(duty.why == MILLPOND_WHY_NOT_DUE || duty.why == MILLPOND_WHY_DENIED ||
              duty.why == MILLPOND_WHY_UNAVAILABLE);
        pass(at, 100);
    }
}

static void the_server_grants_slices(const struct backend *backend) {
    struct at at = begin(backend, "granted");
    millpond_new_job job = job_named("tick");
    millpond_error *error;
    uint64_t fences[2];
    bool flag;

    job.per_second = 10;
    job.burst = 1;
    job.max_running = 1;
    OK(millpond_recruiter_install(at.recruiter, &job, &error));
    if (at.clock != NULL) {
        /* The first ask of a process is within five seconds. */
        pass(&at, 5000);
        OK(millpond_recruiter_is_due(at.recruiter, &flag, &error));
        CHECK(flag);
    }
    for (int i = 0; i < 2; i++) {
        millpond_recruiter_slice *slice = granted(&at, i == 1);
        OK(millpond_recruiter_is_due(at.recruiter, &flag, &error));
        CHECK(!flag);
        OK(millpond_recruiter_slice_fence(slice, &fences[i], &error));
        OK(millpond_recruiter_slice_is_lost(slice, &flag, &error));
        CHECK(fences[i] > 0 && !flag);
        if (at.clock != NULL) {
            /* Its lease is 20 budgets. */
            pass(&at, 20 * 60000);
            OK(millpond_recruiter_slice_is_lost(slice, &flag, &error));
            CHECK(flag);
        }
        OK(millpond_recruiter_slice_more(slice, &error));
        CHECK(ended(slice, "tick", ENDS).recruited == 1);
        OK(millpond_recruiter_wake(at.recruiter, S("tick"), &error));
    }
    CHECK(fences[1] > fences[0]);
    OK(millpond_recruiter_stop(at.recruiter, &error));
    millpond_recruiter_job_stats stats = stats_of(&at, "tick", 2);
    CHECK(stats.granted >= 2 && stats.worked == 2 && stats.items == 6 && stats.backoff == 0);
    CHECK(stats.last_granted_us > 0);

    OK(millpond_recruiter_uninstall(at.recruiter, S("tick"), &flag, &error));
    CHECK(flag);
    OK(millpond_recruiter_uninstall(at.recruiter, S("tick"), &flag, &error));
    CHECK(!flag);
    OK(millpond_recruiter_uninstall(at.recruiter, S("tick"), NULL, &error));
    end(&at);
}

static void a_decision_needs_no_server(const struct backend *backend) {
    struct at at = begin(backend, "decided");
    millpond_recruiter_slice *slice;
    millpond_error *error;
    millpond_duty duty;
    bool asks = true;

    install(&at, "mail", true);
    OK(millpond_recruiter_decide(at.recruiter, 5000, &duty, &slice, &asks, &error));
    CHECK(!asks && slice != NULL && duty.why == 0);
    millpond_recruiter_slice *first = slice;
    OK(millpond_recruiter_decide(at.recruiter, 5000, &duty, &slice, &asks, &error));
    CHECK(!asks && slice == NULL && duty.why == MILLPOND_WHY_IN_SLICE);
    OK(millpond_recruiter_decide(at.recruiter, 5000, NULL, &slice, &asks, &error));
    ended(first, "mail", ENDS);
    end(&at);
}

/* Loops over slices until there is none. */
struct looping {
    struct at *at;
    int64_t wait_ms;
    millpond_status status;
    atomic_int slices;
};

static void *loop(void *argument) {
    struct looping *looping = argument;
    millpond_recruiter_slices *slices;
    millpond_recruiter_slice *slice;
    millpond_error *error;
    OK(millpond_recruiter_slices_new(looping->at->recruiter, looping->wait_ms, &slices, &error));
    for (;;) {
        looping->status = millpond_recruiter_slices_next(slices, &slice, &error);
        CHECK((looping->status == MILLPOND_OK) == (error == NULL));
        bool goes_on = millpond_error_retry(error) != MILLPOND_RETRY_NEVER;
        millpond_error_free(error);
        if (slice == NULL && !(looping->status != MILLPOND_OK && goes_on))
            break;
        if (slice == NULL)
            continue;
        looping->slices++;
        ended(slice, "tick", ENDS);
    }
    millpond_recruiter_slices_free(slices);
    return NULL;
}

static void a_loop_takes_slices(const struct backend *backend) {
    struct at at = begin(backend, "loop");
    struct looping looping = {.at = &at};
    millpond_recruiter_slices *slices;
    millpond_recruiter_slice *slice;
    millpond_error *error;

    install(&at, "mail", true);
    OK(millpond_recruiter_slices_new(at.recruiter, -1, &slices, &error));
    WRONG("a job per second", millpond_recruiter_slices_next(slices, &slice, &error));
    CHECK(slice == NULL);
    millpond_recruiter_slices_free(slices);
    OK(millpond_recruiter_uninstall(at.recruiter, S("mail"), NULL, &error));

    /* One slice a second, and it is not due again while the clock stands. */
    install(&at, "tick", false);
    pass(&at, 5000);
    loop(&looping);
    CHECK(looping.status == MILLPOND_OK && looping.slices <= 1);
    CHECK(at.clock == NULL || looping.slices == 1);
    end(&at);
}

static void a_stop_ends_the_loop(const struct backend *backend) {
    struct at at = begin(backend, "stopped");
    struct looping loops[2] = {{.at = &at, .wait_ms = -1}, {.at = &at, .wait_ms = -1}};
    pthread_t threads[2];
    millpond_error *error;

    install(&at, "tick", false);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, loop, &loops[i]) == 0);
    sleep_ms(20);
    if (at.clock != NULL) {
        /* They are woken when the clock comes to the time of the first ask. */
        pass(&at, 5000);
        while (loops[0].slices + loops[1].slices == 0)
            sleep_ms(2);
    }
    OK(millpond_recruiter_stop(at.recruiter, &error));
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK(loops[i].status == MILLPOND_OK);
    }
    CHECK(why(&at) == MILLPOND_WHY_STOPPED);
    end(&at);
}

static void a_loop_is_interrupted_and_closed(const struct backend *backend) {
    struct at at = begin(backend, "interrupted");
    millpond_recruiter_slices *slices;
    millpond_recruiter_slice *slice;
    struct looping looping = {.at = &at, .wait_ms = -1};
    millpond_new_job job = job_named("tick");
    pthread_t thread;
    millpond_error *error;

    job.per_second = 1.0 / 86400;
    OK(millpond_recruiter_install(at.recruiter, &job, &error));
    /* The day's slice is not for this loop. */
    if (at.clock == NULL)
        ended(granted(&at, false), "tick", ENDS);
    OK(millpond_recruiter_slices_new(at.recruiter, -1, &slices, &error));
    interrupt_at_the_third_check();
    FAILS(MILLPOND_CANCELLED, "", millpond_recruiter_slices_next(slices, &slice, &error));
    was_interrupted();
    CHECK(slice == NULL);
    millpond_recruiter_slices_free(slices);

    CHECK(pthread_create(&thread, NULL, loop, &looping) == 0);
    sleep_ms(20);
    OK(millpond_close(at.client, &error));
    pthread_join(thread, NULL);
    CHECK(looping.status == MILLPOND_CLOSED && looping.slices == 0);
    FAILS(MILLPOND_CLOSED, "", millpond_recruiter_wake(at.recruiter, S("tick"), &error));
    end(&at);
}

/* The parent's recruiter and its slice, in the child. */
struct parents {
    struct at at;
    millpond_recruiter_slice *slice;
};

static void in_the_child(void *argument) {
    struct parents *parents = argument;
    millpond_error *error;
    millpond_duty duty;
    millpond_bytes job;
    FAILS(MILLPOND_FORKED, "parent", millpond_recruiter_slice_end(parents->slice, 1, &duty, &error));
    CHECK(duty.why == 0);
    FAILS(MILLPOND_FORKED, "parent", millpond_recruiter_slice_fail(parents->slice, &duty, &error));
    OK(millpond_recruiter_slice_job(parents->slice, &job, &error));
    CHECK(is(job, "mail"));
    millpond_recruiter_slice_free(parents->slice);
    /* It has the same jobs, and is in no slice. */
    CHECK(ended(slice_for(&parents->at, MILLPOND_NOT_SET), "mail", ENDS).recruited == 1);
    end(&parents->at);
}

static void a_child_has_a_pace_of_its_own(const struct backend *backend) {
    struct parents parents = {.at = begin(backend, "forked")};
    install(&parents.at, "mail", true);
    parents.slice = slice_for(&parents.at, MILLPOND_NOT_SET);
    in_child(in_the_child, &parents);
    CHECK(why(&parents.at) == MILLPOND_WHY_IN_SLICE);
    CHECK(ended(parents.slice, "mail", ENDS).recruited == 1);
    end(&parents.at);
}

static void get_a_signal(void *argument) {
    struct at at = begin(argument, "signalled");
    struct looping looping = {.at = &at, .wait_ms = -1};
    pthread_t thread;
    millpond_error *error;
    install(&at, "tick", false);
    OK(millpond_recruiter_stop_on_signals(at.recruiter, &error));
    CHECK(pthread_create(&thread, NULL, loop, &looping) == 0);
    sleep_ms(20);
    CHECK(kill(getpid(), SIGTERM) == 0);
    pthread_join(thread, NULL);
    CHECK(looping.status == MILLPOND_OK && why(&at) == MILLPOND_WHY_STOPPED);
    end(&at);
}

static void a_signal_stops_it(const struct backend *backend) {
    in_child(get_a_signal, (void *)backend);
}

static void wrong_calls(const struct backend *backend) {
    struct at at = begin(backend, "wrong");
    millpond_recruiter *recruiter = (void *)1, *nameless;
    millpond_recruiter_slice *slice = (void *)1;
    millpond_recruiter_slices *slices = (void *)1;
    millpond_new_job job = job_named("mail"), other;
    millpond_error *error;
    bool flag = false;

    WRONG("recruiter is NULL", millpond_recruiter_new(at.client, S("x"), NULL, &error));
    WRONG("name is NULL", millpond_recruiter_new(at.client, NULL, 1, &recruiter, &error));
    CHECK(recruiter == NULL);
    WRONG("job is NULL", millpond_recruiter_install(at.recruiter, NULL, &error));
    WRONG("a share or a rate", millpond_recruiter_install(at.recruiter, &job, &error));
    job.share = 0.6;
    other = job, other.per_second = 1;
    WRONG("a share or a rate", millpond_recruiter_install(at.recruiter, &other, &error));
    other = job, other.id = (millpond_bytes){NULL, 1};
    WRONG("job.id is NULL", millpond_recruiter_install(at.recruiter, &other, &error));
    other = job, other.id = (millpond_bytes)B("\xff");
    WRONG("job.id is not UTF-8", millpond_recruiter_install(at.recruiter, &other, &error));
    other = job, other.budget_ms = -1;
    WRONG("job.budget_ms is -1", millpond_recruiter_install(at.recruiter, &other, &error));
    other = job, other.budget_ms = 0;
    WRONG("the budget of mail is 0", millpond_recruiter_install(at.recruiter, &other, &error));
    other = job, other.max_running = UINT64_MAX;
    WRONG("job.max_running is", millpond_recruiter_install(at.recruiter, &other, &error));
    other = job, other.burst = 2;
    WRONG("no burst", millpond_recruiter_install(at.recruiter, &other, &error));
    /* Nothing was installed. */
    CHECK(why(&at) == MILLPOND_WHY_NO_JOBS);
    OK(millpond_recruiter_install(at.recruiter, &job, &error));
    WRONG("mail", millpond_recruiter_install(at.recruiter, &job, &error));
    other = job, other.id = (millpond_bytes)B("more");
    WRONG("120.0000 %", millpond_recruiter_install(at.recruiter, &other, &error));
    OK(millpond_recruiter_uninstall(at.recruiter, S("mail"), &flag, &error));
    CHECK(flag);
    OK(millpond_recruiter_install(at.recruiter, &other, &error));

    WRONG("slice is NULL",
          millpond_recruiter_enlist(at.recruiter, MILLPOND_NOT_SET, NULL, NULL, NULL, &error));
    WRONG("budget_ms is -1", millpond_recruiter_enlist(at.recruiter, -1, NULL, &slice, NULL, &error));
    CHECK(slice == NULL);
    WRONG("asks is NULL",
          millpond_recruiter_decide(at.recruiter, MILLPOND_NOT_SET, NULL, &slice, NULL, &error));
    WRONG("budget_ms is -1", millpond_recruiter_ask(at.recruiter, -1, NULL, &slice, NULL, &error));
    WRONG("duty_max is 0", millpond_recruiter_set_duty_max(at.recruiter, 0, &error));
    WRONG("duty_max is NaN", millpond_recruiter_set_duty_max(at.recruiter, (double)NAN, &error));
    WRONG("decision_timeout", millpond_recruiter_set_decision_timeout(at.recruiter, 0, &error));
    WRONG("job is NULL", millpond_recruiter_uninstall(at.recruiter, NULL, 1, &flag, &error));
    CHECK(!flag);
    WRONG("job is not UTF-8", millpond_recruiter_wake(at.recruiter, S("\xff"), &error));
    WRONG("due is NULL", millpond_recruiter_is_due(at.recruiter, NULL, &error));
    WRONG("result is NULL", millpond_recruiter_stats(at.recruiter, NULL, &error));
    WRONG("wait_ms is -2", millpond_recruiter_slices_new(at.recruiter, -2, &slices, &error));
    CHECK(slices == NULL);
    CHECK(millpond_recruiter_result_data(NULL) == NULL && millpond_recruiter_result_job(NULL, 0) == NULL);

    OK(millpond_recruiter_new(at.client, S(""), &nameless, &error));
    WRONG("empty", millpond_recruiter_install(nameless, &job, &error));
    WRONG("empty", millpond_recruiter_wake(nameless, S("mail"), &error));
    millpond_recruiter_free(nameless);
    end(&at);
}

const struct test recruiter_tests[] = {
    {"a_slice_ends_in_one_way", a_slice_ends_in_one_way},
    {"a_slice_has_a_budget", a_slice_has_a_budget},
    {"the_server_grants_slices", the_server_grants_slices},
    {"a_decision_needs_no_server", a_decision_needs_no_server},
    {"a_loop_takes_slices", a_loop_takes_slices},
    {"a_stop_ends_the_loop", a_stop_ends_the_loop},
    {"a_loop_is_interrupted_and_closed", a_loop_is_interrupted_and_closed},
    {"a_child_has_a_pace_of_its_own", a_child_has_a_pace_of_its_own},
    {"a_signal_stops_a_recruiter", a_signal_stops_it},
    {"wrong_recruiter_calls", wrong_calls},
    {NULL, NULL}};

/* A server that is gone is no failure of an enlistment, which has its error. */
static void a_server_that_is_gone(const struct backend *backend) {
    struct backend gone = {backend->kind, "redis://127.0.0.1:1?retries=0"};
    struct at at = begin(&gone, "gone");
    millpond_error *unavailable = NULL, *error;
    millpond_recruiter_slices *slices;
    millpond_recruiter_slice *slice;
    millpond_duty duty;

    install(&at, "tick", false);
    while (unavailable == NULL) {
        OK(millpond_recruiter_enlist(at.recruiter, MILLPOND_NOT_SET, &duty, &slice, &unavailable, &error));
        CHECK(slice == NULL);
        CHECK(duty.why == (unavailable == NULL ? MILLPOND_WHY_NOT_DUE : MILLPOND_WHY_UNAVAILABLE));
        sleep_ms(2);
    }
    CHECK(millpond_error_retry(unavailable) != MILLPOND_RETRY_NEVER);
    CHECK(millpond_error_message(unavailable)[0] != '\0');
    millpond_error_free(unavailable);
    /* Its loop says so as well, and goes on. */
    OK(millpond_recruiter_slices_new(at.recruiter, -1, &slices, &error));
    for (int i = 0; i < 2; i++) {
        CHECK(millpond_recruiter_slices_next(slices, &slice, &error) != MILLPOND_OK);
        CHECK(slice == NULL && millpond_error_retry(error) != MILLPOND_RETRY_NEVER);
        millpond_error_free(error);
    }
    millpond_recruiter_slices_free(slices);
    end(&at);
}

const struct test redis_recruiter_tests[] = {
    {"a_server_that_is_gone", a_server_that_is_gone},
    {NULL, NULL}};
