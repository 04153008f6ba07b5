/* The server itself, by hiredis: what the library's users would have. */

#ifndef REDIS_H
#define REDIS_H

#include "check.h"

#include <hiredis/hiredis.h>

redisContext *redis_connect(const struct backend *backend);
/* The reply, which is no error. */
redisReply *redis_command(redisContext *redis, const char *format, ...);

#endif
