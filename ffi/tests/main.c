/* The suite: every test on every backend that it is for.

   millpond-c-tests [KIND] [NAME]: only on this kind of backend, only the tests of this name. */

#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing here takes so long, under valgrind either. */
#define SECONDS_MAX 300

static int done;

static void run(const struct backend *backend, const struct test *tests, const char *only) {
    for (; tests->name != NULL; tests++) {
        if (only != NULL && strcmp(only, tests->name) != 0)
            continue;
        printf("%s: %s\n", backend->kind, tests->name);
        fflush(stdout);
        alarm(SECONDS_MAX);
        tests->run(backend);
        alarm(0);
        done++;
    }
}

int main(int count, char **arguments) {
    const char *kind = count > 1 ? arguments[1] : "all";
    const char *only = count > 2 ? arguments[2] : NULL;
    bool all = strcmp(kind, "all") == 0;
    const struct test *everywhere[] = {
        steps_tests,        loop_tests,             lease_tests,
        channel_tests,      mistake_tests,          thread_tests,
        fork_tests,         shuffle_tests,          shuffle_group_tests,
        shuffle_loop_tests, shuffle_tracking_tests, shuffle_mistake_tests,
        task_tests,         task_list_tests,        task_loop_tests,
        job_tests,          task_mistake_tests,     task_fork_tests};
    const struct test *on_redis[] = {redis_loop_tests,      redis_shuffle_loop_tests,
                                     redis_task_loop_tests, redis_fork_tests,
                                     connection_tests,      foreign_tests,
                                     foreign_shuffle_tests, foreign_task_tests};
    size_t i;

    if (all || strcmp(kind, "none") == 0) {
        struct backend none = {"none", ""};
        run(&none, error_tests, only);
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
        struct servers *servers = servers_start("redis", &redis);
        for (i = 0; i < sizeof everywhere / sizeof *everywhere; i++)
            run(&redis, everywhere[i], only);
        for (i = 0; i < sizeof on_redis / sizeof *on_redis; i++)
            run(&redis, on_redis[i], only);
        servers_stop(servers);
    }
    if (done == 0) {
        fprintf(stderr, "there is no test of this name on this kind of backend\n");
        return 2;
    }
    printf("%d passed\n", done);
    return 0;
}
