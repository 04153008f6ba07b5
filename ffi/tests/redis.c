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
