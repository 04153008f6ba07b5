/* What the calls of events and their workers share. */

#ifndef EVENT_VALUES_H
#define EVENT_VALUES_H

#include "request.h"

/* The queue of a request, or NULL. */
millpond_events_queue *events_of(struct request *request);
json_t *json_event(const millpond_event *event);

#endif
