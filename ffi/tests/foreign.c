/* A connection that is not Millpond's, and what it takes from the library. */

#include "check.h"
#include "redis.h"

#include <string.h>

/* Calls a script of an Ick. */
static redisReply *call(redisContext *redis, const char *step, const char *ick, size_t count,
                        const char *const *arguments) {
    millpond_keys *keys;
    millpond_error *error;
    OK(millpond_ick_keys(ick, strlen(ick), &keys, &error));
    CHECK(millpond_keys_length(keys) == 3);
    redisReply *reply = redis_script(redis, step, keys, 3, count, arguments);
    millpond_keys_free(keys);
    return reply;
}

static void steps_over_hiredis(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    redisContext *redis = redis_connect(backend);
    millpond_ick_entries *entries;
    millpond_error *error;
    redisReply *reply;

    freeReplyObject(redis_command(redis, "SCRIPT FLUSH"));
    for (int turn = 0; turn < 2; turn++) {
        /* First by its source, then by its hash. */
        reply = call(redis, "ick.add", "foreign", 5, (const char *[]){"0", "1.5", "a", "2", "b"});
        CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
        CHECK(reply->element[0]->integer == (turn == 0 ? 2 : 0));
        freeReplyObject(reply);
    }
    OK(millpond_ick_peek(client, S("foreign"), MILLPOND_ICK_PRODUCER, 10, &entries, &error));
    ENTRIES(entries, "a 1.5 b 2");
    reply = call(redis, "ick.reserve", "foreign", 3, (const char *[]){"", "1", "0"});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    CHECK(strcmp(reply->element[0]->str, "a") == 0 && strcmp(reply->element[1]->str, "1.5") == 0);
    freeReplyObject(reply);

    freeReplyObject(redis_command(redis, "SET odd odd"));
    reply = call(redis, "ick.stats", "odd", 0, NULL);
    CHECK(reply->type == REDIS_REPLY_ERROR);
    FAILS(MILLPOND_INCOMPATIBLE_VERSION, "odd", millpond_script_error(reply->str, reply->len, &error));
    freeReplyObject(reply);
    redisFree(redis);
    millpond_client_free(client);
}

static void every_script(const struct backend *backend) {
    redisContext *redis = redis_connect(backend);
    const millpond_script *script, *found;
    millpond_error *error;
    size_t count = millpond_script_count();
    CHECK(count == 98);
    for (size_t i = 0; i < count; i++) {
        OK(millpond_script_at(i, &script, &error));
        OK(millpond_script_find(script->name, &found, &error));
        CHECK(script == found);
        CHECK(strlen(script->source) == script->source_length);
        redisReply *sha1 = redis_command(redis, "SCRIPT LOAD %b", script->source, script->source_length);
        CHECK(strcmp(sha1->str, script->sha1) == 0);
        freeReplyObject(sha1);
    }
    char beyond[40];
    snprintf(beyond, sizeof beyond, "there is no script %zu", count);
    FAILS(MILLPOND_INVALID_ARGUMENT, beyond, millpond_script_at(count, &script, &error));
    CHECK(script == NULL);
    FAILS(MILLPOND_INVALID_ARGUMENT, "\"ick.ad\", which no script has",
          millpond_script_find("ick.ad", &script, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "name is NULL", millpond_script_find(NULL, &script, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "script is NULL", millpond_script_find("ick.add", NULL, &error));

    millpond_keys *keys;
    OK(millpond_ick_lease_keys(S("a\0b"), &keys, &error));
    CHECK(millpond_keys_length(keys) == 1 && millpond_keys_data(keys)->length == 19);
    CHECK(memcmp(millpond_keys_data(keys)->data, "a\0b/ick/{a\0b}/lease", 19) == 0);
    millpond_keys_free(keys);
    OK(millpond_volatile_keys(S("pages"), &keys, &error));
    CHECK(millpond_keys_length(keys) == 5 && millpond_keys_data(keys)->length == 17);
    CHECK(memcmp(millpond_keys_data(keys)->data, "vhash-map:{pages}", 17) == 0);
    millpond_keys_free(keys);
    OK(millpond_recruiter_keys(S("site"), &keys, &error));
    CHECK(millpond_keys_length(keys) == 2 && millpond_keys_data(keys)[1].length == 18);
    CHECK(memcmp(millpond_keys_data(keys)[1].data, "{site}:steal:stats", 18) == 0);
    millpond_keys_free(keys);
    OK(millpond_tracker_keys(S("orders"), &keys, &error));
    CHECK(millpond_keys_length(keys) == 2 && millpond_keys_data(keys)[1].length == 20);
    CHECK(memcmp(millpond_keys_data(keys)[0].data, "{orders}:tracker", 16) == 0);
    CHECK(memcmp(millpond_keys_data(keys)[1].data, "{orders}:tracker:ids", 20) == 0);
    millpond_keys_free(keys);
    redisFree(redis);
}

static void errors_of_a_server(const struct backend *backend) {
    (void)backend;
    millpond_error *error;
    FAILS(MILLPOND_LEASE_LOST, "it is gone", millpond_script_error(S("LEASE_LOST it is gone"), &error));
    FAILS(MILLPOND_WRONG_TYPE, "the key", millpond_script_error(S("WRONGTYPE the key"), &error));
    FAILS(MILLPOND_UNAVAILABLE, "LOADING", millpond_script_error(S("LOADING data"), &error));
    FAILS(MILLPOND_SERVER, "ERR odd", millpond_script_error(S("ERR odd\xff"), &error));
    FAILS(MILLPOND_SERVER, "a\\0b", millpond_script_error(S("ERR a\0b"), &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "reply is NULL", millpond_script_error(NULL, 3, &error));
}

const struct test foreign_tests[] = {
    {"steps_over_hiredis", steps_over_hiredis},
    {"every_script", every_script},
    {"errors_of_a_server", errors_of_a_server},
    {NULL, NULL},
};
