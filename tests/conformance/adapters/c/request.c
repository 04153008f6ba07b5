#include "request.h"

#include "base64.h"
#include "task_values.h"

#include <stdlib.h>
#include <string.h>

millpond_client *client;

void *unsupported(struct request *request, const char *why) {
    request->unsupported = why;
    return NULL;
}

static void *keep(struct request *request, void *allocated) {
    size_t count = request->allocated_count++;
    request->allocated = realloc(request->allocated, (count + 1) * sizeof *request->allocated);
    request->allocated[count] = allocated;
    return allocated;
}

void *allocate(struct request *request, size_t count, size_t size) {
    return keep(request, calloc(count + 1, size));
}

millpond_bytes bytes(struct request *request, json_t *value) {
    millpond_bytes found = {json_string_value(value), json_string_length(value)};
    if (json_is_string(value))
        return found;
    json_t *utf8 = json_object_get(value, "utf8");
    if (json_is_string(utf8))
        return bytes(request, utf8);
    json_t *encoded = json_object_get(value, "b64");
    if (!json_is_string(encoded)) {
        unsupported(request, "a name or member that is no string");
        return found;
    }
    found.data = keep(request, base64_decode(json_string_value(encoded), &found.length));
    return found;
}

millpond_bytes named(struct request *request, const char *name) {
    return bytes(request, json_object_get(request->json, name));
}

uint64_t size(struct request *request, const char *name) {
    json_t *value = json_object_get(request->json, name);
    const char *text = json_string_value(json_object_get(value, "int"));
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        return (uint64_t)json_integer_value(value);
    if (text != NULL && text[0] != '-' && strlen(text) <= 19)
        return strtoull(text, NULL, 10);
    unsupported(request, "a size that is no uint64_t");
    return 0;
}

bool flag(struct request *request, const char *name) {
    json_t *value = json_object_get(request->json, name);
    if (!json_is_boolean(value))
        unsupported(request, "a flag that is no bool");
    return json_is_true(value);
}

json_t *json_error(const millpond_error *error) {
    json_t *json = json_pack("{s:i,s:s,s:s}", "code", (int)millpond_error_code(error), "name",
                             millpond_status_name(millpond_error_code(error)), "message", millpond_error_message(error));
    const millpond_tasks_dependency *dependency = millpond_error_dependency(error);
    if (dependency != NULL)
        json_object_set_new(json, "dependency", json_dependency(dependency));
    return json;
}

json_t *json_bytes(const char *data, size_t length) {
    json_t *text = json_stringn(data, length);
    if (text != NULL)
        return text;
    /* It is no UTF-8. */
    char *encoded = base64_encode(data, length);
    text = json_pack("{s:s}", "b64", encoded);
    free(encoded);
    return text;
}
