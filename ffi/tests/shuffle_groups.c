/* Groups of a shuffle queue, and consumers that are gone. */

#include "shuffle.h"

#include <string.h>

static void groups(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "groups");
    millpond_shuffle_consumer *one = consumer_of(queue, "one", "c"),
                              *other = consumer_of(queue, "one", "d"),
                              *two = consumer_of(queue, "two", "c");
    millpond_shuffle_batch *batch;
    millpond_error *error;
    millpond_shuffle_receipt receipt = put(queue, "t", "1");

    OK(millpond_shuffle_read(one, 1, 0, &batch, &error));
    BATCH(batch, "task=1");
    OK(millpond_shuffle_read(other, 1, 0, &batch, &error));
    BATCH(batch, "");
    OK(millpond_shuffle_read(two, 1, 0, &batch, &error));
    BATCH(batch, "task=1");
    OK(millpond_shuffle_ack(one, &receipt, 1, NULL, &error));
    CHECK(pending_of(queue, "one") == 0 && pending_of(queue, "two") == 1 && backlog_of(queue) == 1);

    millpond_shuffle_stats *stats;
    OK(millpond_shuffle_stats_read(queue, S("two"), &stats, &error));
    CHECK(millpond_shuffle_stats_length(stats) == 16);
    const millpond_shuffle_stream_stats *streams = millpond_shuffle_stats_streams(stats),
                                        *total = millpond_shuffle_stats_total(stats);
    for (int64_t i = 0; i < 16; i++) {
        bool is_it = i == receipt.stream;
        CHECK(streams[i].len == is_it && streams[i].pending == is_it && streams[i].lag == 0);
        CHECK((streams[i].oldest_idle_ms >= 0) == is_it);
    }
    CHECK(total->len == 1 && total->pending == 1 && total->lag == 0);
    CHECK(total->oldest_idle_ms == streams[receipt.stream].oldest_idle_ms);
    millpond_shuffle_stats_free(stats);
    put(queue, "t", "2");
    OK(millpond_shuffle_stats_read(queue, S("one"), &stats, &error));
    total = millpond_shuffle_stats_total(stats);
    CHECK(total->len == 2 && total->pending == 0 && total->lag == 1 && total->oldest_idle_ms == MILLPOND_NOT_SET);
    millpond_shuffle_stats_free(stats);

    millpond_shuffle_consumer_free(one);
    millpond_shuffle_consumer_free(other);
    millpond_shuffle_consumer_free(two);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

static void silent_consumers(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_shuffle_queue *queue = queue_of(client, "silent");
    millpond_shuffle_consumer *silent = consumer_of(queue, "g", "silent"), *other;
    millpond_shuffle_consumer_options options;
    millpond_shuffle_batch *batch;
    millpond_error *error;
    uint64_t count = 77;

    millpond_shuffle_consumer_options_init(&options, sizeof options);
    options.max_deliveries = 2;
    OK(millpond_shuffle_consumer_new(queue, S("g"), S("oth\0er"), &options, &other, &error));
    millpond_shuffle_receipt receipt = put(queue, "t", "1");
    OK(millpond_shuffle_read(silent, 1, 0, &batch, &error));
    BATCH(batch, "task=1");
    OK(millpond_shuffle_renew(silent, &receipt, 1, &count, &error));
    CHECK(count == 1);
    OK(millpond_shuffle_renew(other, &receipt, 1, &count, &error));
    CHECK(count == 0);
    OK(millpond_shuffle_reclaim(other, 3600000, 10, &batch, NULL, &error));
    BATCH(batch, "");

    OK(millpond_shuffle_reclaim(other, 0, 10, &batch, &count, &error));
    CHECK(count == 0 && millpond_shuffle_batch_length(batch) == 1);
    CHECK(millpond_shuffle_batch_messages(batch)->deliveries == 2);
    CHECK(same(millpond_shuffle_batch_messages(batch)->receipt, receipt));
    BATCH(batch, "task=1");
    OK(millpond_shuffle_renew(silent, &receipt, 1, NULL, &error));

    OK(millpond_shuffle_reclaim(other, 0, 10, &batch, &count, &error));
    CHECK(count == 1);
    BATCH(batch, "");
    millpond_shuffle_dead_letters *letters;
    OK(millpond_shuffle_dead_letters_read(queue, 100, &letters, &error));
    CHECK(millpond_shuffle_dead_letters_length(letters) == 1);
    const millpond_shuffle_dead_letter *letter = millpond_shuffle_dead_letters_data(letters);
    CHECK(letter->id_time_ms > 0 && same(letter->message->receipt, receipt));
    CHECK(letter->group_length == 1 && letter->group[0] == 'g');
    CHECK(letter->consumer_length == 6 && memcmp(letter->consumer, "oth\0er", 6) == 0);
    CHECK(letter->message->deliveries == 2);
    CHECK(letter->reason_length == 25 && memcmp(letter->reason, "exhausted: max_deliveries", 25) == 0);
    const millpond_shuffle_field *task = millpond_shuffle_message_field(letter->message, S("task"));
    CHECK(task != NULL && task->value_length == 1 && task->value[0] == '1');
    millpond_shuffle_id ids[] = {{letter->id_time_ms, letter->id_sequence}, {1, 1}};
    millpond_shuffle_dead_letters_free(letters);
    OK(millpond_shuffle_dead_letters_after(queue, 9, &ids[1], &letters, &error));
    CHECK(millpond_shuffle_dead_letters_length(letters) == 1);
    millpond_shuffle_dead_letters_free(letters);
    OK(millpond_shuffle_dead_letters_after(queue, 9, &ids[0], &letters, &error));
    CHECK(millpond_shuffle_dead_letters_length(letters) == 0);
    millpond_shuffle_dead_letters_free(letters);
    CHECK(millpond_shuffle_dead_letters_after(queue, 9, NULL, &letters, NULL) ==
          MILLPOND_INVALID_ARGUMENT);
    CHECK(letters == NULL);

    millpond_shuffle_receipt redriven[2];
    OK(millpond_shuffle_redrive(queue, ids, 2, redriven, &error));
    CHECK(redriven[0].id_time_ms > 0 && redriven[0].stream == receipt.stream);
    CHECK(redriven[1].id_time_ms == 0 && redriven[1].id_sequence == 0);
    OK(millpond_shuffle_read(other, 10, 0, &batch, &error));
    CHECK(same(millpond_shuffle_batch_messages(batch)->receipt, redriven[0]));
    BATCH(batch, "task=1");
    OK(millpond_shuffle_release(silent, redriven, 1, 60000, 0, &count, &error));
    CHECK(count == 0);
    OK(millpond_shuffle_release(other, redriven, 1, 60000, 0, &count, &error));
    CHECK(count == 1);
    OK(millpond_shuffle_reclaim(silent, 60000, 10, &batch, NULL, &error));
    CHECK(millpond_shuffle_batch_messages(batch)->deliveries == 1);
    BATCH(batch, "task=1");
    OK(millpond_shuffle_reject(silent, redriven, 1, S("rejected: no"), &count, &error));
    CHECK(count == 1);
    bool flags[] = {true, true};
    OK(millpond_shuffle_ack_each(silent, redriven, 1, flags, &error));
    CHECK(!flags[0] && flags[1]);
    OK(millpond_shuffle_ack_and_delete_each(silent, redriven, 1, NULL, &error));
    CHECK(millpond_shuffle_reject(silent, redriven, 1, S(""), NULL, NULL) ==
          MILLPOND_INVALID_ARGUMENT);
    OK(millpond_shuffle_dead_letters_read(queue, 100, &letters, &error));
    CHECK(millpond_shuffle_dead_letters_length(letters) == 1);
    letter = millpond_shuffle_dead_letters_data(letters);
    CHECK(letter->reason_length == 12 && memcmp(letter->reason, "rejected: no", 12) == 0);
    ids[0] = (millpond_shuffle_id){letter->id_time_ms, letter->id_sequence};
    millpond_shuffle_dead_letters_free(letters);
    OK(millpond_shuffle_remove_idle_consumers(queue, 60000, &count, &error));
    CHECK(count == 0);
    OK(millpond_shuffle_delete_dead_letters(queue, ids, 2, &count, &error));
    CHECK(count == 1);
    OK(millpond_shuffle_dead_letters_read(queue, 100, &letters, &error));
    CHECK(millpond_shuffle_dead_letters_length(letters) == 0);
    millpond_shuffle_dead_letters_free(letters);
    OK(millpond_shuffle_delete_dead_letters(queue, NULL, 0, NULL, &error));
    CHECK(backlog_of(queue) == 0);
    millpond_shuffle_consumer_free(silent);
    millpond_shuffle_consumer_free(other);
    millpond_shuffle_queue_free(queue);
    millpond_client_free(client);
}

const struct test shuffle_group_tests[] = {
    {"groups", groups},
    {"silent_consumers", silent_consumers},
    {NULL, NULL},
};
