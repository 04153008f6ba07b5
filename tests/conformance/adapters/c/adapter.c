/* The adapter for C: one JSON request per line in, one JSON response per line out. */

/* getline. */
#define _POSIX_C_SOURCE 200809L

#include "request.h"

#include <stdlib.h>
#include <string.h>

static json_t *call_open(struct request *request) {
    millpond_bytes url = bytes(request, json_object_get(request->json, "url"));
    forget_recruiters();
    millpond_client_free(client);
    client = NULL;
    millpond_connect(url.data, url.length, &client, &request->error);
    return json_null();
}

static json_t *call_close(struct request *request) {
    (void)request;
    forget_recruiters();
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
                                  shuffle_consumer_calls, task_calls, task_work_calls,
                                  event_calls,            volatile_calls, recruiter_calls,
                                  tracker_calls};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct call *call = lists[i]; call->name != NULL; call++)
            if (strcmp(call->name, name) == 0)
                return call;
    return NULL;
}

/* Finds what the request calls, and puts the arguments together; the caller frees them. */
static const struct call *read_calls(struct request *request, json_t *json, const char **last) {
    json_t *calls = json_object_get(json, "calls"), *first = json_array_get(calls, 0), *call;
    const char *on;
    char name[100];
    size_t i;
    request->json = json_object();
    if (calls == NULL) {
        *last = json_string_value(json_object_get(json, "call"));
        json_object_update(request->json, json);
        return *last != NULL ? find(*last) : NULL;
    }
    request->on = json_array_get(first, 1);
    json_array_foreach(calls, i, call) {
        *last = json_string_value(json_array_get(call, 0));
        if (i > 0)
            json_object_update(request->json, json_array_get(call, 1));
    }
    /* A hash of a family has the calls of a hash. */
    on = json_array_size(calls) == 3 && json_object_get(request->json, "base") != NULL
             ? "volatile_hash"
             : json_string_value(json_array_get(first, 0));
    snprintf(name, sizeof name, "%s.%s", on, *last);
    return find(name);
}

json_t *respond(json_t *json) {
    struct request request = {0};
    const char *last = NULL;
    json_t *result = NULL, *response = json_object();
    const struct call *found = read_calls(&request, json, &last);
    if (found != NULL)
        result = found->make(&request);
    json_object_set(response, "id", json_object_get(json, "id"));
    if (found == NULL) {
        json_object_set_new(response, "unsupported", json_sprintf("the call %s is not known", last));
    } else if (request.unsupported != NULL) {
        json_object_set_new(response, "unsupported", json_sprintf("C has no way to say %s", request.unsupported));
    } else if (request.error != NULL) {
        json_object_set_new(response, "error", json_error(request.error));
    } else {
        json_object_set(response, "result", result);
    }
    json_decref(result);
    json_decref(request.json);
    millpond_error_free(request.error);
    for (size_t i = 0; i < request.allocated_count; i++)
        free(request.allocated[i]);
    free(request.allocated);
    return response;
}

/* The response to a line that jansson cannot read, or NULL if it is no request at all: it knows no integers above
   2^63 - 1. */
static json_t *respond_unread(const char *line, size_t length) {
    json_t *json = json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    json_t *id = json_object_get(json, "id");
    json_t *response = NULL;
    if (id != NULL)
        response = json_pack("{s:I,s:s}", "id", (json_int_t)json_number_value(id), "unsupported",
                             "C has no way to say a number above 2^63 - 1");
    json_decref(json);
    return response;
}

int main(void) {
    json_error_t wrong = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = 0;
    while (status == 0 && (length = getline(&line, &room, stdin)) > 0) {
        json_t *request = json_loadb(line, (size_t)length, JSON_ALLOW_NUL, &wrong);
        json_t *response = request != NULL ? respond(request) : respond_unread(line, (size_t)length);
        if (response == NULL) {
            fprintf(stderr, "adapter: %s\n", wrong.text);
            status = 1;
        } else {
            json_dumpf(response, stdout, JSON_COMPACT);
            putchar('\n');
            fflush(stdout);
        }
        json_decref(response);
        json_decref(request);
    }
    free(line);
    forget_recruiters();
    millpond_client_free(client);
    return status;
}
