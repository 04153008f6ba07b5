/* The adapter for C: one JSON request per line in, one JSON response per line out. */

#include "request.h"

#include <stdlib.h>
#include <string.h>

static json_t *call_open(struct request *request) {
    millpond_bytes url = named(request, "url");
    millpond_client_free(client);
    client = NULL;
    millpond_connect(url.data, url.length, &client, &request->error);
    return json_null();
}

static json_t *call_close(struct request *request) {
    (void)request;
    millpond_client_free(client);
    client = NULL;
    return json_null();
}

static const struct call client_calls[] = {
    {"open", call_open},
    {"close", call_close},
    {NULL, NULL},
};

static const struct call *find(const char *name) {
    const struct call *lists[] = {client_calls,           ick_calls,  shuffle_calls,
                                  shuffle_consumer_calls, task_calls, task_work_calls};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct call *call = lists[i]; call->name != NULL; call++)
            if (strcmp(call->name, name) == 0)
                return call;
    return NULL;
}

json_t *respond(json_t *json) {
    struct request request = {.json = json};
    const char *call = json_string_value(json_object_get(json, "call"));
    json_t *result = NULL, *response = json_object();
    const struct call *found = call != NULL ? find(call) : NULL;
    if (found != NULL)
        result = found->make(&request);
    else
        unsupported(&request, "this call");
    json_object_set(response, "id", json_object_get(json, "id"));
    if (request.unsupported != NULL) {
        json_object_set_new(response, "unsupported", json_sprintf("C has no way to say %s", request.unsupported));
    } else if (request.error != NULL) {
        json_object_set_new(response, "error", json_error(request.error));
    } else {
        json_object_set(response, "result", result);
    }
    json_decref(result);
    millpond_error_free(request.error);
    for (size_t i = 0; i < request.allocated_count; i++)
        free(request.allocated[i]);
    free(request.allocated);
    return response;
}

int main(void) {
    json_error_t wrong;
    json_t *request;
    while ((request = json_loadf(stdin, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &wrong)) != NULL) {
        json_t *response = respond(request);
        json_dumpf(response, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(response);
        json_decref(request);
    }
    millpond_client_free(client);
    if (feof(stdin))
        return 0;
    fprintf(stderr, "adapter: %s\n", wrong.text);
    return 1;
}
