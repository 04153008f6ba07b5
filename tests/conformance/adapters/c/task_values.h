/* Values of a store of tasks: those of a request as C has them, and returns as JSON. */

#ifndef TASK_VALUES_H
#define TASK_VALUES_H

#include "request.h"

/* Whether something of this name was given. */
bool is_given(json_t *of, const char *name);
/* The text of this name; NULL where there is none. */
millpond_bytes text(struct request *request, json_t *of, const char *name);
/* The texts of this name. */
millpond_bytes *texts(struct request *request, json_t *of, const char *name, size_t *count);
/* A whole number, or MILLPOND_NOT_SET where there is none. */
int64_t whole(struct request *request, json_t *of, const char *name);
/* How long to wait in milliseconds; 0 where nothing is said. */
int64_t wait_of(struct request *request, json_t *of, const char *name);
/* The same from 0 on, and 0 where there is none. */
uint64_t count(struct request *request, json_t *of, const char *name);
/* Headers in one piece; NULL if there are none to set. */
millpond_bytes headers(struct request *request, json_t *of);
/* The same as pairs. */
json_t *json_headers(millpond_bytes headers);
/* Whether it was given and is true. */
bool is_true(json_t *of, const char *name);

/* The store of a request, or NULL. */
millpond_tasks_store *store_of(struct request *request);
millpond_task_id *task_ids(struct request *request, json_t *of, const char *name, size_t *count);
millpond_doc_id *doc_ids(struct request *request, json_t *of, const char *name, size_t *count);

/* A document to insert or to put. */
void read_new_doc(struct request *request, json_t *of, millpond_new_doc *doc);

json_t *json_text(millpond_bytes text);
json_t *json_task(const millpond_task *task);
json_t *json_tasks(const millpond_tasks_result *result, size_t begin, size_t end);
json_t *json_docs(const millpond_tasks_result *result, size_t begin, size_t end);
/* What tasks_modify returns; frees it. */
json_t *json_modified(millpond_tasks_result *result);
/* What is behind an error DEPENDENCY. */
json_t *json_dependency(const millpond_tasks_dependency *dependency);

/* The modification whose lists are in this. */
millpond_tasks_modification modification(struct request *request, json_t *of);

#endif
