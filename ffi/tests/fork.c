/* Fork is normal. */

#include "check.h"
#include "fork.h"
#include "redis.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

#define CHILD_MS_MAX 60000

/* Ends a child that has done its work. Valgrind would check for leaks, and find what the
   parent's threads had on their stacks, which the child does not have. */
void child_is_done(void) {
    if (RUNNING_ON_VALGRIND) {
        CHECK(VALGRIND_COUNT_ERRORS == 0);
        execl("/bin/true", "true", (char *)NULL);
    }
    _exit(0);
}

void in_child(void (*work)(void *), void *argument) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work(argument);
        child_is_done();
    }
    int status;
    int64_t start = now_ms();
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (now_ms() - start > CHILD_MS_MAX) {
            kill(child, SIGKILL);
            CHECK(!"the child hangs");
        }
        sleep_ms(2);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int thread_count(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = -2;
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count;
}

void use_own(void *argument) {
    (void)argument;
    struct backend memory = {"memory", "memory:"};
    millpond_client *client = connect_to(&memory);
    millpond_ick_entries *entries;
    millpond_error *error;
    add(client, "own", "a 1");
    OK(millpond_ick_reserve(client, S("own"), 1, false, &entries, &error));
    ENTRIES(entries, "a 1");
    millpond_client_free(client);
}

static void a_child_has_a_client_of_its_own(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    in_child(use_own, NULL);
    add(client, "a child", "a 1");
    in_child(use_own, NULL);
    millpond_client_free(client);
}

/* The parent's, in the child. */
struct parents {
    bool is_embedded;
    millpond_client *client;
    millpond_ick_lease *lease;
    millpond_volatile_lock *lock;
};

static void end_all(void *argument) {
    struct parents *parents = argument;
    millpond_error *error;
    bool was_held = true;
    OK(millpond_volatile_lock_release(parents->lock, &was_held, &error));
    CHECK(!was_held);
    millpond_volatile_lock_free(parents->lock);
    millpond_ick_lease_free(parents->lease);
    millpond_client_free(parents->client);
    use_own(NULL);
}

static void is_refused(void *argument) {
    struct parents *parents = argument;
    millpond_ick_entries *entries;
    millpond_error *error;
    FAILS(MILLPOND_FORKED, "in the child",
          millpond_volatile_lock_set(parents->lock, S("1"), 1000, &error));
    if (parents->is_embedded) {
        FAILS(MILLPOND_FORKED, "fork",
              millpond_ick_reserve(parents->client, S("ends"), 1, false, &entries, &error));
        FAILS(MILLPOND_FORKED, "fork", millpond_ick_lease_reserve(parents->lease, 1, &entries, &error));
    } else {
        OK(millpond_ick_lease_reserve(parents->lease, 1, &entries, &error));
        ENTRIES(entries, "a 1");
    }
}

static void a_child_leaves_what_its_parent_holds_alone(const struct backend *backend) {
    struct parents parents = {strcmp(backend->kind, "redis") != 0, connect_to(backend), NULL, NULL};
    millpond_volatile_lock *second_lock;
    millpond_volatile_hash *hash;
    millpond_ick_lease *second;
    millpond_error *error;
    bool was_held;
    OK(millpond_ick_lease_acquire(parents.client, S("ends"), 3600000, &parents.lease, &error));
    OK(millpond_volatile_hash_new(parents.client, S("ends"), &hash, &error));
    OK(millpond_volatile_lock_acquire(hash, S("/"), 3600000, &parents.lock, &error));
    add(parents.client, "ends", "a 1");
    in_child(is_refused, &parents);
    in_child(end_all, &parents);
    OK(millpond_ick_lease_acquire(parents.client, S("ends"), 3600000, &second, &error));
    CHECK(second == NULL);
    OK(millpond_ick_lease_release(parents.lease, &was_held, &error));
    CHECK(was_held);
    OK(millpond_volatile_lock_acquire(hash, S("/"), 3600000, &second_lock, &error));
    CHECK(second_lock == NULL);
    OK(millpond_volatile_lock_release(parents.lock, &was_held, &error));
    CHECK(was_held);
    millpond_ick_lease_free(parents.lease);
    millpond_volatile_lock_free(parents.lock);
    millpond_volatile_hash_free(hash);
    millpond_client_free(parents.client);
}

const struct test fork_tests[] = {
    {"a_child_has_a_client_of_its_own", a_child_has_a_client_of_its_own},
    {"a_child_leaves_what_its_parent_holds_alone", a_child_leaves_what_its_parent_holds_alone},
    {NULL, NULL},
};

/* The connections of this name that the server has, as "id id ...". */
static void connections(const struct backend *backend, const char *name, char ids[256]) {
    char named[64];
    snprintf(named, sizeof named, " name=%s ", name);
    redisContext *redis = redis_connect(backend);
    redisReply *list = redis_command(redis, "CLIENT LIST");
    char *rest = list->str;
    ids[0] = '\0';
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
        if (strstr(line, named) != NULL) {
            char id[32];
            CHECK(sscanf(line, "id=%31s", id) == 1);
            strcat(strcat(ids, id), " ");
        }
    freeReplyObject(list);
    redisFree(redis);
}

static bool one_id(const char *ids) {
    return strchr(ids, ' ') != NULL && strchr(ids, ' ')[1] == '\0';
}

struct inherited {
    const struct backend *backend;
    millpond_client *client;
    char of_parent[256];
};

static void add_many(void *argument) {
    struct inherited *inherited = argument;
    char ids[256];
    int threads = thread_count();
    for (int i = 0; i < 100; i++) {
        char member[32];
        millpond_error *error;
        int length = snprintf(member, sizeof member, "%d-%d", (int)getpid(), i);
        millpond_ick_pair pair = {member, (size_t)length, i, false};
        OK(millpond_ick_add(inherited->client, S("inherited"), &pair, 1, NULL, &error));
    }
    CHECK(thread_count() == threads);
    connections(inherited->backend, "inherits", ids);
    if (inherited->of_parent[0] != '\0') {
        char *own = strstr(ids, inherited->of_parent);
        CHECK(own != NULL);
        memmove(own, own + strlen(inherited->of_parent), strlen(own + strlen(inherited->of_parent)) + 1);
    }
    /* One, and not the parent's. */
    CHECK(one_id(ids));
}

static void a_child_uses_its_parents_client(const struct backend *backend) {
    struct inherited inherited = {.backend = backend};
    struct backend named = *backend;
    millpond_error *error;
    millpond_ick_stats stats = {.size = sizeof stats};
    char ids[256];
    strcat(named.url, strchr(named.url, '?') ? "&client_name=inherits" : "?client_name=inherits");
    inherited.client = connect_to(&named);

    /* Before first use, after it, and with the child's connections gone. */
    in_child(add_many, &inherited);
    connections(backend, "inherits", ids);
    CHECK(strcmp(ids, "") == 0);
    add(inherited.client, "inherited", "parent 1");
    connections(backend, "inherits", inherited.of_parent);
    CHECK(one_id(inherited.of_parent));
    for (int i = 0; i < 5; i++)
        in_child(add_many, &inherited);
    OK(millpond_ick_stats_read(inherited.client, S("inherited"), &stats, &error));
    CHECK(stats.pset_size == 601);
    connections(backend, "inherits", ids);
    CHECK(strcmp(ids, inherited.of_parent) == 0);
    millpond_client_free(inherited.client);
}

static volatile int stop;

static void *hammer(void *argument) {
    struct inherited *inherited = argument;
    while (!stop) {
        millpond_ick_entries *entries;
        millpond_error *error;
        OK(millpond_ick_reserve(inherited->client, S("hammered"), 1, false, &entries, &error));
        ENTRIES(entries, "a 1");
        FAILS(MILLPOND_INVALID_ARGUMENT, "freed", millpond_close((void *)entries, &error));
    }
    return NULL;
}

/* Forks at any point of what other threads do: no lock that they held may be missed. Not under
   AddressSanitizer: the runtime of GCC 12 does not let go in the child of what a thread held of its
   allocator, and one run in some hundred hung. */
static void forks_while_threads_work(const struct backend *backend) {
#ifdef __SANITIZE_ADDRESS__
    (void)backend;
    return;
#endif
    enum { THREADS = 4 };
    struct inherited inherited = {.backend = backend, .client = connect_to(backend)};
    pthread_t threads[THREADS];
    add(inherited.client, "hammered", "a 1");
    stop = 0;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, hammer, &inherited) == 0);
    for (int i = 0; i < 50; i++)
        in_child(use_own, NULL);
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    millpond_client_free(inherited.client);
}

static void *ask_on(void *argument) {
    bool lost;
    millpond_error *error;
    while (!stop)
        OK(millpond_ick_lease_is_lost(argument, &lost, &error));
    return NULL;
}

static void ask_once(void *argument) {
    bool lost;
    millpond_error *error;
    OK(millpond_ick_lease_is_lost(argument, &lost, &error));
    CHECK(!lost);
    millpond_ick_lease_free(argument);
}

/* Another thread asks at any time, also when it is forked. The lease lasts as long as the test may take:
   Valgrind runs one thread at a time, and the one that asks leaves the renewals little of it. */
static void a_child_may_check_whether_a_lease_is_lost(const struct backend *backend) {
#ifdef __SANITIZE_ADDRESS__
    (void)backend; /* As above. */
    return;
#endif
    millpond_client *client = connect_to(backend);
    millpond_ick_lease *lease;
    millpond_error *error;
    pthread_t thread;
    OK(millpond_ick_lease_acquire(client, S("asked"), 3600000, &lease, &error));
    stop = 0;
    CHECK(pthread_create(&thread, NULL, ask_on, lease) == 0);
    for (int i = 0; i < 50; i++)
        in_child(ask_once, lease);
    stop = 1;
    pthread_join(thread, NULL);
    millpond_ick_lease_free(lease);
    millpond_client_free(client);
}

const struct test redis_fork_tests[] = {
    {"a_child_may_check_whether_a_lease_is_lost", a_child_may_check_whether_a_lease_is_lost},
    {"a_child_uses_its_parents_client", a_child_uses_its_parents_client},
    {"forks_while_threads_work", forks_while_threads_work},
    {NULL, NULL},
};
