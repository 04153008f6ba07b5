#include "base64.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const char *data, size_t length) {
    const unsigned char *bytes = (const unsigned char *)data;
    char *text = malloc(length / 3 * 4 + 5), *end = text;
    for (size_t i = 0; i < length; i += 3) {
        unsigned long group = (unsigned long)bytes[i] << 16;
        if (i + 1 < length)
            group |= (unsigned long)bytes[i + 1] << 8;
        if (i + 2 < length)
            group |= bytes[i + 2];
        *end++ = digits[group >> 18 & 63];
        *end++ = digits[group >> 12 & 63];
        *end++ = i + 1 < length ? digits[group >> 6 & 63] : '=';
        *end++ = i + 2 < length ? digits[group & 63] : '=';
    }
    *end = '\0';
    return text;
}

char *base64_decode(const char *text, size_t *length) {
    char *data = malloc(strlen(text) / 4 * 3 + 3), *end = data;
    unsigned long group = 0;
    int bits = 0;
    for (; *text != '\0' && *text != '='; text++) {
        group = group << 6 | (unsigned long)(strchr(digits, *text) - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            *end++ = (char)(group >> bits & 255);
        }
    }
    *length = (size_t)(end - data);
    return data;
}
