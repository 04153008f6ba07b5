#include "redis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

redisContext *redis_connect(const struct backend *backend) {
    char host[64];
    int port;
    CHECK(sscanf(backend->url, "redis://%63[^:]:%d", host, &port) == 2);
    redisContext *redis = redisConnect(host, port);
    CHECK(redis != NULL && redis->err == 0);
    return redis;
}

redisReply *redis_command(redisContext *redis, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    CHECK(reply != NULL && reply->type != REDIS_REPLY_ERROR);
    return reply;
}

redisReply *redis_script(redisContext *redis, const char *step, const millpond_keys *keys,
                         size_t key_count, size_t count, const char *const *arguments) {
    const millpond_script *script;
    millpond_error *error;
    char number[8];
    const char *words[40] = {"EVALSHA", NULL, number};
    size_t lengths[40] = {7, 40}, length = 3;

    OK(millpond_script_find(step, &script, &error));
    words[1] = script->sha1;
    CHECK(strlen(script->sha1) == 40);
    lengths[2] = (size_t)snprintf(number, sizeof number, "%zu", key_count);
    CHECK(key_count <= millpond_keys_length(keys) && length + key_count + count <= 40);
    for (size_t i = 0; i < key_count; i++) {
        words[length] = millpond_keys_data(keys)[i].data;
        lengths[length++] = millpond_keys_data(keys)[i].length;
    }
    for (size_t i = 0; i < count; i++) {
        words[length] = arguments[i];
        lengths[length++] = strlen(arguments[i]);
    }
    redisReply *reply = redisCommandArgv(redis, (int)length, words, lengths);
    CHECK(reply != NULL);
    if (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0) {
        freeReplyObject(reply);
        words[0] = "EVAL", lengths[0] = 4;
        words[1] = script->source, lengths[1] = script->source_length;
        reply = redisCommandArgv(redis, (int)length, words, lengths);
        CHECK(reply != NULL);
    }
    return reply;
}
