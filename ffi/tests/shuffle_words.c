#include "shuffle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MAX = 64, TEXT_MAX = 256 };

millpond_shuffle_queue *queue_of(millpond_client *client, const char *name) {
    millpond_shuffle_queue *queue;
    millpond_error *error;
    OK(millpond_shuffle_queue_new(client, name, strlen(name), NULL, &queue, &error));
    return queue;
}

millpond_shuffle_consumer *consumer_of(millpond_shuffle_queue *queue, const char *group,
                                       const char *consumer) {
    millpond_shuffle_consumer *made;
    millpond_error *error;
    OK(millpond_shuffle_consumer_new(queue, group, strlen(group), consumer, strlen(consumer), NULL,
                                     &made, &error));
    return made;
}

millpond_shuffle_receipt put(millpond_shuffle_queue *queue, const char *tenant, const char *task) {
    millpond_shuffle_field field = {"task", 4, task, strlen(task)};
    millpond_shuffle_receipt receipt;
    millpond_error *error;
    OK(millpond_shuffle_write(queue, tenant, strlen(tenant), &field, 1, &receipt, &error));
    CHECK(receipt.stream >= 0 && receipt.id_time_ms > 0);
    return receipt;
}

bool same(millpond_shuffle_receipt a, millpond_shuffle_receipt b) {
    return a.stream == b.stream && a.id_time_ms == b.id_time_ms && a.id_sequence == b.id_sequence;
}

uint64_t backlog_of(millpond_shuffle_queue *queue) {
    uint64_t found = 77;
    millpond_error *error;
    OK(millpond_shuffle_backlog(queue, &found, &error));
    return found;
}

uint64_t len_of(millpond_shuffle_queue *queue) {
    uint64_t found = 77;
    millpond_error *error;
    OK(millpond_shuffle_len(queue, &found, &error));
    return found;
}

uint64_t pending_of(millpond_shuffle_queue *queue, const char *group) {
    uint64_t found = 77;
    millpond_error *error;
    OK(millpond_shuffle_pending_count(queue, group, strlen(group), &found, &error));
    return found;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* The texts in order, joined. */
static void join(char texts[][TEXT_MAX], size_t count, char *joined) {
    qsort(texts, count, TEXT_MAX, by_text);
    joined[0] = '\0';
    for (size_t i = 0; i < count; i++)
        strcat(strcat(joined, i ? "; " : ""), texts[i]);
}

void check_batch(const char *file, int line, millpond_shuffle_batch *batch, const char *expected) {
    char texts[MESSAGES_MAX][TEXT_MAX] = {""};
    char found[MESSAGES_MAX * TEXT_MAX], wanted[MESSAGES_MAX * TEXT_MAX];
    const millpond_shuffle_message *message = millpond_shuffle_batch_messages(batch);
    size_t count = millpond_shuffle_batch_length(batch);
    CHECK(count <= MESSAGES_MAX);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < message[i].field_count; j++) {
            const millpond_shuffle_field *field = &message[i].fields[j];
            size_t used = strlen(texts[i]);
            snprintf(texts[i] + used, TEXT_MAX - used, "%s%.*s=%.*s", j ? " " : "",
                     (int)field->field_length, field->field, (int)field->value_length,
                     field->value);
        }
    join(texts, count, found);

    char copy[TEXT_MAX * MESSAGES_MAX], *rest = copy;
    CHECK(strlen(expected) < sizeof copy);
    strcpy(copy, expected);
    count = 0;
    for (char *text; (text = strtok_r(rest, ";", &rest)) != NULL; count++)
        strcpy(texts[count], text + (*text == ' '));
    join(texts, count, wanted);
    if (strcmp(found, wanted) != 0) {
        fprintf(stderr, "\"%s\" in place of \"%s\"\n", found, wanted);
        check_failed(file, line, "the messages are those");
    }
    millpond_shuffle_batch_free(batch);
}
