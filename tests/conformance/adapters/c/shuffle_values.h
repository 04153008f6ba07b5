/* Values of a shuffle queue: those of a request as C has them, and returns as JSON. */

#ifndef SHUFFLE_VALUES_H
#define SHUFFLE_VALUES_H

#include "request.h"

json_t *value_of(struct request *request, const char *name);
/* A whole number, or MILLPOND_NOT_SET where there is none. */
int64_t number(struct request *request, json_t *value);
/* Milliseconds, or MILLPOND_NOT_SET where there are none. */
int64_t milliseconds(struct request *request, json_t *value);
/* Milliseconds that have to be there. */
uint64_t duration_ms(struct request *request, const char *name);
/* The queue of a request, or NULL. */
millpond_shuffle_queue *queue_of(struct request *request);
/* The consumer of a request, or NULL. */
millpond_shuffle_consumer *consumer_of(struct request *request);
millpond_shuffle_field *fields(struct request *request, json_t *list, size_t *count);

void read_id(struct request *request, json_t *text, uint64_t *time_ms, uint64_t *sequence);
json_t *json_id(uint64_t time_ms, uint64_t sequence);
json_t *json_receipt(millpond_shuffle_receipt receipt);
json_t *json_message(const millpond_shuffle_message *message);

#endif
