/* The suite: every test on every backend that it is for.

   millpond-c-tests [KIND] [NAME]: only on this kind of backend, only the tests of this name. */

#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing here takes this long, not even under valgrind. MILLPOND_TEST_SECONDS_MAX overrides it. */
#define SECONDS_MAX 300

static int done;

static const char *running_kind = "none", *running_name = "nothing";

/* Names the test that hangs, and ends the suite; only async-signal-safe calls. */
static void hangs(int signal) {
    (void)signal;
    const char *const words[] = {"\nHANGS: ", running_kind, ": ", running_name,
                                 checked_row != NULL ? " of " : "",
                                 checked_row != NULL ? checked_row : "", "\n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (write(STDERR_FILENO, words[i], strlen(words[i])) < 0)
            break;
    _exit(124);
}

/* From now on this runs, and may take this long. */
static void limit(const char *kind, const char *name) {
    const char *seconds = getenv("MILLPOND_TEST_SECONDS_MAX");
    running_kind = kind, running_name = name;
    alarm(seconds != NULL ? (unsigned)atoi(seconds) : SECONDS_MAX);
}

static void run(const struct backend *backend, const struct test *tests, const char *only) {
    for (; tests->name != NULL; tests++) {
        if (only != NULL && strcmp(only, tests->name) != 0)
            continue;
        printf("%s: %s\n", backend->kind, tests->name);
        fflush(stdout);
        limit(backend->kind, tests->name);
        tests->run(backend);
        alarm(0);
        done++;
    }
}

/* Proves the limit: run alone, as the kind "hang". */
static void never_ends(const struct backend *backend) {
    (void)backend;
    for (;;)
        pause();
}

int main(int count, char **arguments) {
    const char *kind = count > 1 ? arguments[1] : "all";
    const char *only = count > 2 ? arguments[2] : NULL;
    bool all = strcmp(kind, "all") == 0;
    const struct test *everywhere[] = {
        loop_tests,            steps_tests,            lease_tests,        channel_tests,
        mistake_tests,         fork_tests,             shuffle_tests,      shuffle_group_tests,
        shuffle_mistake_tests, shuffle_tracking_tests, task_tests,         task_list_tests,
        task_loop_tests,       job_tests,              task_mistake_tests, worker_tests,
        shuffle_worker_tests,  event_tests,            volatile_tests,     recruiter_tests,
        tracker_tests,         signal_tests,           size_tests};
    const struct test *on_redis[] = {redis_loop_tests, redis_fork_tests,      connection_tests,
                                     foreign_tests,    foreign_shuffle_tests, foreign_task_tests,
                                     redis_worker_tests, redis_recruiter_tests};
    size_t i;

    signal(SIGALRM, hangs);
    if (all || strcmp(kind, "none") == 0) {
        struct backend none = {"none", ""};
        run(&none, error_tests, only);
        run(&none, handle_tests, only);
        run(&none, clock_tests, only);
    }
    if (strcmp(kind, "hang") == 0) {
        struct backend hang = {"hang", ""};
        const struct test hanging[] = {{"a_test_that_hangs", never_ends}, {NULL, NULL}};
        run(&hang, hanging, only);
    }
    if (all || strcmp(kind, "memory") == 0) {
        struct backend memory = {"memory", "memory:"};
        for (i = 0; i < sizeof everywhere / sizeof *everywhere; i++)
            run(&memory, everywhere[i], only);
    }
    if (all || strcmp(kind, "file") == 0) {
        for (i = 0; i < sizeof everywhere / sizeof *everywhere; i++) {
            for (const struct test *test = everywhere[i]; test->name != NULL; test++) {
                /* A directory for each, and no waiting for the disk. */
                char folder[] = "/tmp/millpond-c-XXXXXX", remove[64];
                struct test alone[] = {*test, {NULL, NULL}};
                struct backend file = {"file", ""};
                CHECK(mkdtemp(folder) != NULL);
                snprintf(file.url, sizeof file.url, "file:%s/data?sync=never", folder);
                run(&file, alone, only);
                snprintf(remove, sizeof remove, "rm -r %s", folder);
                CHECK(system(remove) == 0);
            }
        }
    }
    if (all || strcmp(kind, "redis") == 0) {
        struct backend redis;
        limit("redis", "the start of the server");
        struct servers *servers = servers_start("redis", &redis);
        for (i = 0; i < sizeof everywhere / sizeof *everywhere; i++)
            run(&redis, everywhere[i], only);
        for (i = 0; i < sizeof on_redis / sizeof *on_redis; i++)
            run(&redis, on_redis[i], only);
        limit("redis", "the end of the server");
        servers_stop(servers);
        alarm(0);
    }
    if (done == 0) {
        fprintf(stderr, "there is no test of this name on this kind of backend\n");
        return 2;
    }
    printf("%d passed\n", done);
    return 0;
}
