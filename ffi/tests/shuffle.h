/* Helpers for the tests of the shuffle queue. */

#ifndef SHUFFLE_H
#define SHUFFLE_H

#include "check.h"

/* The queue of this name, with default settings. */
millpond_shuffle_queue *queue_of(millpond_client *client, const char *name);
/* A consumer of a group, with default settings. */
millpond_shuffle_consumer *consumer_of(millpond_shuffle_queue *queue, const char *group,
                                       const char *consumer);

/* Writes one message of a tenant, with one field, task. */
millpond_shuffle_receipt put(millpond_shuffle_queue *queue, const char *tenant, const char *task);

bool same(millpond_shuffle_receipt a, millpond_shuffle_receipt b);
/* What the functions of these names return. */
uint64_t len_of(millpond_shuffle_queue *queue);
uint64_t backlog_of(millpond_shuffle_queue *queue);
uint64_t pending_of(millpond_shuffle_queue *queue, const char *group);

/* The messages are these, written as "field=value field=value; ...", in any order of the messages;
   frees them. */
void check_batch(const char *file, int line, millpond_shuffle_batch *batch, const char *expected);
#define BATCH(batch, expected) check_batch(__FILE__, __LINE__, batch, expected)

#endif
