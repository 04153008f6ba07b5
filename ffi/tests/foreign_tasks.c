/* Tasks over a connection that is not Millpond's. */

#include "redis.h"
#include "tasks.h"

#include <string.h>

static void steps_over_hiredis(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    redisContext *redis = redis_connect(backend);
    millpond_tasks_store *store = store_of(client, "foreign", "ann");
    millpond_tasks_result *result;
    millpond_keys *keys;
    millpond_error *error;
    redisReply *reply;

    OK(millpond_tasks_keys(S("foreign"), &keys, &error));
    CHECK(millpond_keys_length(keys) == 10);
    CHECK(is(*millpond_keys_data(keys), "{foreign}:tasks"));
    reply = redis_script(redis, "tasks.modify", keys, 10, 22,
                         (const char *[]){"bob", "bob", "1", "0", "0", "0", "0", "0", "0", "0", "t", "q",
                                          "+0", "0", "", "0", "", "0", "", "1", "{\"n\": 1}", "0"});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->element[0]->integer == 1);
    freeReplyObject(reply);
    result = claim(store, "q");
    CHECK(is(task_of(result)->id, "t") && is(task_of(result)->value, "{\"n\": 1}"));
    millpond_tasks_result_free(result);
    reply = redis_script(redis, "tasks.fetch", keys, 7, 3, (const char *[]){"", "0", "t"});
    CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == 14);
    CHECK(strcmp(reply->element[6]->str, "ann") == 0);
    freeReplyObject(reply);
    millpond_keys_free(keys);

    /* A key of another kind is reported. */
    freeReplyObject(redis_command(redis, "SET {broken}:tasks x"));
    millpond_tasks_store *broken = store_of(client, "broken", NULL);
    FAILS(MILLPOND_WRONG_TYPE, "{broken}:tasks",
          millpond_tasks_insert(broken, S("q"), S("1"), NULL, &error));
    millpond_tasks_store_free(broken);
    millpond_tasks_store_free(store);
    redisFree(redis);
    millpond_client_free(client);
}

const struct test foreign_task_tests[] = {
    {"tasks_steps_over_hiredis", steps_over_hiredis},
    {NULL, NULL},
};
