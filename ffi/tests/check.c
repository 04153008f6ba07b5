#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *checked_row;

void check_failed(const char *file, int line, const char *what) {
    if (checked_row != NULL)
        fprintf(stderr, "%s: ", checked_row);
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    fflush(stdout);
    _exit(1);
}

void check_ok(const char *file, int line, const char *call, millpond_status status,
              millpond_error **error) {
    if (status != MILLPOND_OK) {
        fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
                millpond_error_message(*error));
        check_failed(file, line, call);
    }
    if (*error != NULL)
        check_failed(file, line, "there is no error after MILLPOND_OK");
}

void check_fails(const char *file, int line, const char *call, millpond_status status,
                 millpond_error **error, millpond_status expected, const char *says) {
    if (status != expected || millpond_error_code(*error) != expected ||
        strstr(millpond_error_message(*error), says) == NULL) {
        fprintf(stderr, "status %d instead of %d; %s: %s\nin place of: %s\n", (int)status,
                (int)expected, millpond_status_name(millpond_error_code(*error)), millpond_error_message(*error), says);
        check_failed(file, line, call);
    }
    millpond_error_free(*error);
    *error = NULL;
}

void check_entries(const char *file, int line, millpond_ick_entries *entries, const char *expected) {
    char found[4096] = "";
    const millpond_ick_entry *entry = millpond_ick_entries_data(entries);
    for (size_t i = 0; i < millpond_ick_entries_length(entries); i++) {
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%.*s %g", i ? " " : "",
                 (int)entry[i].member_length, entry[i].member, entry[i].score);
    }
    if (strcmp(found, expected) != 0) {
        fprintf(stderr, "\"%s\" instead of \"%s\"\n", found, expected);
        check_failed(file, line, "the entries are those");
    }
    millpond_ick_entries_free(entries);
}

millpond_client *connect_to(const struct backend *backend) {
    millpond_client *client;
    millpond_error *error;
    OK(millpond_connect(backend->url, strlen(backend->url), &client, &error));
    return client;
}

struct backend with_options(const struct backend *backend, const char *options) {
    struct backend other = *backend;
    size_t length = strlen(other.url);
    int added = snprintf(other.url + length, sizeof other.url - length, "%c%s",
                         strchr(other.url, '?') ? '&' : '?', options);
    CHECK(added > 0 && (size_t)added < sizeof other.url - length);
    return other;
}

millpond_client *connect_with_options(const struct backend *backend, const char *options) {
    struct backend other = with_options(backend, options);
    return connect_to(&other);
}

millpond_status connect_with_clock(const char *url, millpond_clock *clock,
                                          millpond_client **client, millpond_error **error) {
    millpond_options options;
    millpond_options_init(&options, sizeof options);
    CHECK(options.clock == NULL);
    options.url.data = url;
    options.url.length = strlen(url);
    options.clock = clock;
    return millpond_connect_with(&options, client, error);
}

void add(millpond_client *client, const char *name, const char *pairs) {
    char words[1024];
    millpond_error *error;
    CHECK(strlen(pairs) < sizeof words);
    strcpy(words, pairs);
    char *rest = words;
    for (char *member; (member = strtok_r(rest, " ", &rest)) != NULL;) {
        char *score = strtok_r(rest, " ", &rest);
        millpond_ick_pair pair = {member, strlen(member), atof(score), false};
        OK(millpond_ick_add(client, name, strlen(name), &pair, 1, NULL, &error));
    }
}

static pthread_t interrupted;
static int checks;

static bool stop_at_the_third(void) {
    CHECK(pthread_equal(pthread_self(), interrupted));
    return ++checks == 3;
}

void interrupt_at_the_third_check(void) {
    interrupted = pthread_self();
    checks = 0;
    millpond_on_interrupt(stop_at_the_third);
}

void was_interrupted(void) {
    millpond_on_interrupt(NULL);
    CHECK(checks == 3);
}

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_ms(int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

struct servers {
    pid_t pid;
    FILE *to, *from;
};

struct servers *servers_start(const char *kind, struct backend *backend) {
    const char *binary = getenv("MILLPOND_TEST_SERVERS");
    if (binary == NULL)
        check_failed(__FILE__, __LINE__, "MILLPOND_TEST_SERVERS names the binary of that name");
    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    struct servers *servers = malloc(sizeof *servers);
    servers->pid = fork();
    if (servers->pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execl(binary, binary, kind, (char *)NULL);
        perror(binary);
        _exit(1);
    }
    close(to[0]), close(from[1]);
    servers->to = fdopen(to[1], "w");
    servers->from = fdopen(from[0], "r");

    char line[4096];
    CHECK(fgets(line, sizeof line, servers->from) != NULL);
    const char *url = strstr(line, "\"url\":\"");
    CHECK(url != NULL);
    url += strlen("\"url\":\"");
    backend->kind = kind;
    snprintf(backend->url, sizeof backend->url, "%.*s", (int)strcspn(url, "\""), url);
    return servers;
}

void servers_run(struct servers *servers, const char *command) {
    char line[4096];
    CHECK(fprintf(servers->to, "%s\n", command) > 0 && fflush(servers->to) == 0);
    CHECK(fgets(line, sizeof line, servers->from) != NULL && strcmp(line, "ok\n") == 0);
}

void servers_stop(struct servers *servers) {
    fclose(servers->to);
    CHECK(waitpid(servers->pid, NULL, 0) == servers->pid);
    fclose(servers->from);
    free(servers);
}
