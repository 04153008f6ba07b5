/* Base64 with padding, as JSON carries bytes. */

#ifndef BASE64_H
#define BASE64_H

#include <stddef.h>

/* The caller frees both results. */
char *base64_encode(const char *data, size_t length);
char *base64_decode(const char *text, size_t *length);

#endif
