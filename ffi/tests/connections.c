/* What only a server can do to a caller, and the options of a connection. */

#include "check.h"
#include "redis.h"

#include <pthread.h>
#include <string.h>

static void broken_keys(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    redisContext *redis = redis_connect(backend);
    millpond_ick_entries *entries;
    millpond_error *error;
    uint64_t removed;

    freeReplyObject(redis_command(redis, "SET broken something"));
    FAILS(MILLPOND_INCOMPATIBLE_VERSION, "broken",
          millpond_ick_reserve(client, S("broken"), 1, false, &entries, &error));
    freeReplyObject(redis_command(redis, "SET broken ick.v1"));
    freeReplyObject(redis_command(redis, "SET broken/ick/{broken}/pset text"));
    FAILS(MILLPOND_WRONG_TYPE, "broken/ick/{broken}/pset",
          millpond_ick_reserve(client, S("broken"), 1, false, &entries, &error));
    CHECK(entries == NULL);
    OK(millpond_ick_delete(client, S("broken"), true, &removed, &error));
    CHECK(removed == 2);
    redisFree(redis);
    millpond_client_free(client);
}

static void a_lost_lease(const struct backend *backend) {
    millpond_client *client = connect_with_options(backend, RENEWING);
    redisContext *redis = redis_connect(backend);
    millpond_ick_lease *lease;
    millpond_ick_batches *batches;
    millpond_ick_entries *entries;
    millpond_error *error;
    uint64_t committed = 77;
    bool lost = false, was_held = true;

    add(client, "lost", "a 1");
    OK(millpond_ick_lease_acquire(client, S("lost"), 60000, &lease, &error));
    OK(millpond_ick_lease_batches_new(lease, 1, 0, &batches, &error));
    OK(millpond_ick_batches_next(batches, &entries, &error));
    ENTRIES(entries, "a 1");

    /* As if this process had been paused for long and another consumer had taken the lease. */
    freeReplyObject(redis_command(redis, "SET lost/ick/{lost}/lease another"));
    FAILS(MILLPOND_LEASE_LOST, "lost", millpond_ick_lease_reserve(lease, 1, &entries, &error));
    FAILS(MILLPOND_LEASE_LOST, "lost",
          millpond_ick_lease_commit(lease, (millpond_bytes[]){{S("a")}}, 1, &committed, &error));
    CHECK(committed == 0);
    FAILS(MILLPOND_LEASE_LOST, "lost", millpond_ick_batches_commit(batches, &committed, &error));
    /* The next renewal finds out, long before the term is over. */
    for (int64_t start = now_ms(); !lost && now_ms() - start < 30000;) {
        OK(millpond_ick_lease_is_lost(lease, &lost, &error));
        sleep_ms(10);
    }
    CHECK(lost);
    OK(millpond_ick_lease_release(lease, &was_held, &error));
    CHECK(!was_held);
    millpond_ick_lease_free(lease);
    millpond_ick_batches_free(batches);
    redisFree(redis);
    millpond_client_free(client);
}


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int refused, returned;

static void *reserve_once(void *argument) {
    millpond_ick_entries *entries;
    millpond_error *error;
    millpond_status status = millpond_ick_lease_reserve(argument, 1, &entries, &error);
    pthread_mutex_lock(&lock);
    if (status == MILLPOND_INVALID_ARGUMENT) {
        CHECK(strstr(millpond_error_message(error), "another thread is making a step") != NULL);
        refused++;
    } else {
        CHECK(status == MILLPOND_OK);
        returned++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    millpond_error_free(error);
    millpond_ick_entries_free(entries);
    return NULL;
}

static void a_server_that_stops(const struct backend *shared) {
    (void)shared;
    struct backend backend;
    struct servers *servers = servers_start("redis", &backend);
    millpond_client *client = connect_with_options(&backend, "timeout=60s"), *hasty;
    millpond_ick_lease *lease;
    millpond_ick_stats stats = {.size = sizeof stats};
    millpond_error *error;
    pthread_t threads[2];
    bool lost = true;
    millpond_options options;

    OK(millpond_ick_lease_acquire(client, S("stops"), 3600000, &lease, &error));
    millpond_options_init(&options, sizeof options);
    options.url = (millpond_bytes){backend.url, strlen(backend.url)};
    options.timeout_ms = 2000;
    OK(millpond_connect_with(&options, &hasty, &error));
    /* It is connected, however long that takes. */
    while (millpond_ick_stats_read(hasty, S("stops"), &stats, &error) != MILLPOND_OK) {
        CHECK(millpond_error_retry(error) != MILLPOND_RETRY_NEVER);
        millpond_error_free(error);
    }

    /* A step hangs, and so it is known that the other thread's is refused meanwhile. */
    servers_run(servers, "stop");
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, reserve_once, lease) == 0);
    pthread_mutex_lock(&lock);
    while (refused == 0)
        pthread_cond_wait(&changed, &lock);
    CHECK(returned == 0);
    pthread_mutex_unlock(&lock);
    /* Any thread may check at any time. */
    OK(millpond_ick_lease_is_lost(lease, &lost, &error));
    CHECK(!lost);
    FAILS(MILLPOND_INVALID_ARGUMENT, "another thread is making a step",
          millpond_ick_lease_release(lease, NULL, &error));

    FAILS(MILLPOND_TIMEOUT, "ick.stats", millpond_ick_stats_read(hasty, S("stops"), &stats, &error));
    servers_run(servers, "cont");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(returned == 1);

    /* And one that is gone. */
    OK(millpond_ick_lease_release(lease, NULL, &error));
    millpond_ick_lease_free(lease);
    servers_run(servers, "kill");
    millpond_status status = millpond_ick_stats_read(hasty, S("stops"), &stats, &error);
    CHECK(status == MILLPOND_CONNECTION_FAILED || status == MILLPOND_CONNECTION_LOST ||
          status == MILLPOND_TIMEOUT);
    CHECK(millpond_error_retry(error) != MILLPOND_RETRY_NEVER);
    millpond_error_free(error);
    servers_run(servers, "restart");
    OK(millpond_ick_stats_read(client, S("stops"), &stats, &error));
    millpond_client_free(client);
    millpond_client_free(hasty);
    servers_stop(servers);
}

static void options_beside_the_url(const struct backend *backend) {
    redisContext *redis = redis_connect(backend);
    millpond_client *client;
    millpond_ick_stats stats = {.size = sizeof stats};
    millpond_error *error;
    millpond_options options, wrong;

    freeReplyObject(redis_command(redis, "ACL SETUSER me on >p@ss:word ~* &* +@all"));
    millpond_options_init(&options, sizeof options);
    millpond_options_init(NULL, 8);
    options.url = (millpond_bytes){backend->url, strlen(backend->url)};
    options.username = (millpond_bytes){S("me")};
    options.password = (millpond_bytes){S("p@ss:word")};
    options.client_name = (millpond_bytes){S("with-options")};
    options.timeout_ms = 20000;
    options.connect_timeout_ms = 10000;
    options.retries = 0;
    OK(millpond_connect_with(&options, &client, &error));
    OK(millpond_ick_stats_read(client, S("options"), &stats, &error));
    redisReply *list = redis_command(redis, "CLIENT LIST");
    CHECK(strstr(list->str, "name=with-options") != NULL && strstr(list->str, "user=me") != NULL);
    freeReplyObject(list);
    millpond_client_free(client);

    wrong = options;
    wrong.password = (millpond_bytes){S("secret")};
    OK(millpond_connect_with(&wrong, &client, &error));
    CHECK(millpond_ick_stats_read(client, S("options"), &stats, &error) ==
          MILLPOND_AUTHENTICATION_FAILED);
    CHECK(strstr(millpond_error_message(error), "secret") == NULL);
    millpond_error_free(error);
    millpond_client_free(client);

    wrong = options;
    wrong.timeout_ms = 0;
    FAILS(MILLPOND_INVALID_ARGUMENT, "timeout_ms is 0",
          millpond_connect_with(&wrong, &client, &error));
    wrong = options;
    wrong.connect_timeout_ms = -2;
    FAILS(MILLPOND_INVALID_ARGUMENT, "connect_timeout_ms is -2",
          millpond_connect_with(&wrong, &client, &error));
    /* What -1 once left out. */
    int64_t *optional[] = {&wrong.timeout_ms, &wrong.connect_timeout_ms, &wrong.retries};
    for (size_t i = 0; i < 3; i++) {
        wrong = options;
        *optional[i] = -1;
        FAILS(MILLPOND_INVALID_ARGUMENT, "is -1",
              millpond_connect_with(&wrong, &client, &error));
    }
    wrong = options;
    wrong.retries = INT64_MAX;
    FAILS(MILLPOND_INVALID_ARGUMENT, "retries is",
          millpond_connect_with(&wrong, &client, &error));
    wrong = options;
    wrong.password = (millpond_bytes){NULL, 0};
    FAILS(MILLPOND_INVALID_ARGUMENT, "username goes with a password",
          millpond_connect_with(&wrong, &client, &error));
    wrong = options;
    wrong.client_name = (millpond_bytes){NULL, 4};
    FAILS(MILLPOND_INVALID_ARGUMENT, "client_name is NULL, but its length is 4",
          millpond_connect_with(&wrong, &client, &error));
    wrong = options;
    wrong.client_name = (millpond_bytes){S("\xff")};
    FAILS(MILLPOND_INVALID_ARGUMENT, "client_name is not UTF-8",
          millpond_connect_with(&wrong, &client, &error));
    CHECK(client == NULL);
    redisFree(redis);
}

/* A peer that sends a byte now and then holds no call beyond its timeout, which is so long that no machine
   holds the call up for as long again. */
static void a_hostile_peer(const struct backend *backend) {
    struct backend hostile;
    struct servers *servers = servers_start("hostile", &hostile);
    millpond_ick_pair pair = {"x", 1, 1, false};
    millpond_options options;
    millpond_client *client;
    millpond_error *error;

    (void)backend;
    millpond_options_init(&options, sizeof options);
    options.url = (millpond_bytes){hostile.url, strlen(hostile.url)};
    options.timeout_ms = 10000;
    OK(millpond_connect_with(&options, &client, &error));
    int64_t start = now_ms();
    CHECK(millpond_ick_add(client, S("k"), &pair, 1, NULL, &error) == MILLPOND_TIMEOUT);
    CHECK(now_ms() - start < 19000);
    millpond_error_free(error);
    millpond_client_free(client);
    servers_stop(servers);
}

const struct test connection_tests[] = {
    {"broken_keys", broken_keys},
    {"a_lost_lease", a_lost_lease},
    {"a_server_that_stops", a_server_that_stops},
    {"options_beside_the_url", options_beside_the_url},
    {"a_hostile_peer", a_hostile_peer},
    {NULL, NULL},
};
