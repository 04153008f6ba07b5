/* The server itself, by hiredis: what the library's users would have. */

#ifndef REDIS_H
#define REDIS_H

#include "check.h"

#include <hiredis/hiredis.h>

redisContext *redis_connect(const struct backend *backend);
/* The reply, which is no error. */
redisReply *redis_command(redisContext *redis, const char *format, ...);

/* Calls the script of a step with the first of these keys and these arguments: by its hash, and by
   its source if the server does not know it yet. */
redisReply *redis_script(redisContext *redis, const char *step, const millpond_keys *keys,
                         size_t key_count, size_t count, const char *const *arguments);

#endif
