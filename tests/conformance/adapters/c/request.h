/* What the calls of all queues need: a request's values as C has them, and returns as JSON. */

#ifndef REQUEST_H
#define REQUEST_H

#include <jansson.h>
#include <millpond.h>

/* What one request made, until its response is written. */
struct request {
    /* The arguments of the first call, which makes what the others are on. */
    json_t *on;
    /* Those of the others, together. */
    json_t *json;
    /* Why C cannot express this. */
    const char *unsupported;
    millpond_error *error;
    /* What was allocated for it, to be freed. */
    void **allocated;
    size_t allocated_count;
};

/* One call of the protocol, by the names of the first and the last. */
struct call {
    const char *name;
    json_t *(*make)(struct request *request);
};

/* The calls of each queue; each list ends with a call without a name. */
extern const struct call ick_calls[], shuffle_calls[], shuffle_consumer_calls[], task_calls[],
    task_work_calls[], event_calls[], volatile_calls[], recruiter_calls[], tracker_calls[];

/* The client that is open. */
extern millpond_client *client;

/* Frees all recruiters, before their client. */
void forget_recruiters(void);

/* The response to one request. */
json_t *respond(json_t *json);

/* Memory of zeros that goes with the request. */
void *allocate(struct request *request, size_t count, size_t size);

/* Records that C cannot express this; returns NULL. */
void *unsupported(struct request *request, const char *why);

/* A string: a JSON string, {"utf8"} or {"b64"}. */
millpond_bytes bytes(struct request *request, json_t *value);
/* The string of this name. */
millpond_bytes named(struct request *request, const char *name);
/* The size of this name, such as max. */
uint64_t size(struct request *request, const char *name);
bool flag(struct request *request, const char *name);
/* A number, or {"float"}. */
double score(struct request *request, json_t *value);

json_t *json_error(const millpond_error *error);
json_t *json_bytes(const char *data, size_t length);

#endif
