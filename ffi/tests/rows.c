/* The table of all loops, and of all calls that wait. */

#include "rows.h"

#include <string.h>

/* Longer than any test. */
#define LEASE_MS 3600000

static const millpond_bytes nothing = {NULL, 0}, one_queue = {S("q")};

void free_queue(const struct use *use) {
    millpond_client_free(use->client);
    millpond_ick_channel_free(use->ick.channel);
    millpond_shuffle_queue_free(use->shuffle.queue);
    millpond_tasks_store_free(use->tasks.store);
    millpond_events_queue_free(use->events.queue);
}

void free_loop(const struct use *use) {
    millpond_ick_batches_free(use->ick.batches);
    /* So that it is free when this returns. */
    millpond_ick_lease_release(use->ick.lease, NULL, NULL);
    millpond_ick_lease_free(use->ick.lease);
    millpond_shuffle_messages_free(use->shuffle.messages);
    millpond_shuffle_run_free(use->shuffle.run);
    millpond_shuffle_worker_free(use->shuffle.worker);
    millpond_shuffle_consumer_free(use->shuffle.consumer);
    millpond_tasks_claims_free(use->tasks.claims);
    millpond_tasks_jobs_free(use->tasks.jobs);
    millpond_tasks_run_free(use->tasks.run);
    millpond_tasks_worker_free(use->tasks.worker);
    millpond_events_deliveries_free(use->events.deliveries);
    millpond_events_run_free(use->events.run);
    millpond_events_worker_free(use->events.worker);
    free_queue(use);
}

void free_use(const struct use *use) {
    free_loop(use);
    millpond_ick_entries_free(use->ick.entries);
    millpond_shuffle_batch_free(use->shuffle.batch);
    millpond_shuffle_job_free(use->shuffle.job);
    millpond_tasks_result_free(use->tasks.result);
    millpond_tasks_job_free(use->tasks.job);
    millpond_events_result_free(use->events.result);
    millpond_events_job_free(use->events.job);
}

/* What a call takes from is the queue or its consumer. */
static millpond_status no_loop(struct use *use, millpond_error **error) {
    (void)use;
    *error = NULL;
    return MILLPOND_OK;
}

/* Icks, and channels of them. */

static void open_ick(struct use *use) { (void)use; }

static millpond_status add_member(const struct use *use, const char *item, int64_t delay_ms,
                                  millpond_error **error) {
    millpond_ick_pair pair = {item, strlen(item), 1, false};
    (void)delay_ms;
    return millpond_ick_add(use->client, use->name, strlen(use->name), &pair, 1, NULL, error);
}

static const struct queue_row ick = {open_ick, add_member, false};

static void open_channel(struct use *use) {
    millpond_error *error;
    OK(millpond_ick_channel_new(use->client, use->name, strlen(use->name), 2, 0, &use->ick.channel,
                                &error));
}

static millpond_status add_to_channel(const struct use *use, const char *item, int64_t delay_ms,
                                      millpond_error **error) {
    millpond_ick_pair pair = {item, strlen(item), 1, false};
    (void)delay_ms;
    return millpond_ick_channel_add(use->ick.channel, &pair, 1, NULL, error);
}

static const struct queue_row channel = {open_channel, add_to_channel, false};

static millpond_status open_batches(struct use *use, millpond_error **error) {
    return millpond_ick_batches_new(use->client, use->name, strlen(use->name), 1, use->wait_ms,
                                    &use->ick.batches, error);
}

static millpond_status open_batches_of_lease(struct use *use, millpond_error **error) {
    millpond_status status = millpond_ick_lease_acquire(use->client, use->name, strlen(use->name),
                                                        LEASE_MS, &use->ick.lease, error);
    return status != MILLPOND_OK ? status
                                 : millpond_ick_lease_batches_new(use->ick.lease, 1, use->wait_ms,
                                                                  &use->ick.batches, error);
}

static millpond_status open_batches_of_channel(struct use *use, millpond_error **error) {
    return millpond_ick_channel_batches_new(use->ick.channel, (uint32_t[]){0, 1}, 2, 1, use->wait_ms,
                                            &use->ick.batches, error);
}

static millpond_status next_batch(struct use *use, millpond_error **error) {
    return millpond_ick_batches_next(use->ick.batches, &use->ick.entries, error);
}

static millpond_bytes member(const struct use *use) {
    const millpond_ick_entry *entry = millpond_ick_entries_at(use->ick.entries, 0);
    return entry == NULL ? nothing : (millpond_bytes){entry->member, entry->member_length};
}

static void commit(struct use *use) {
    millpond_error *error;
    OK(millpond_ick_batches_commit(use->ick.batches, NULL, &error));
    millpond_ick_entries_free(use->ick.entries);
    use->ick.entries = NULL;
}

/* Runs of workers, which are the same for each kind of queue that has them. */

#define RUN_OF(of) \
    static millpond_status start_##of(struct use *use, millpond_error **error) { \
        return millpond_##of##_worker_start(use->of.worker, use->wait_ms == 0, true, \
                                            &use->of.run, error); \
    } \
    \
    static millpond_status next_of_##of##_run(struct use *use, millpond_error **error) { \
        millpond_##of##_report *report; \
        do { \
            millpond_status status = \
                millpond_##of##_run_next(use->of.run, &use->of.job, &report, error); \
            if (status != MILLPOND_OK) \
                return status; \
            if (report != NULL) \
                CHECK(millpond_##of##_report_data(report)->kind == MILLPOND_REPORT_DONE); \
            millpond_##of##_report_free(report); \
        } while (report != NULL); \
        return MILLPOND_OK; \
    } \
    \
    static void end_##of##_job(struct use *use) { \
        millpond_error *error; \
        OK(millpond_##of##_run_end(use->of.run, use->of.job, NULL, &error)); \
        millpond_##of##_job_free(use->of.job); \
        use->of.job = NULL; \
    }

RUN_OF(shuffle)
RUN_OF(tasks)
RUN_OF(events)

/* Shuffle queues. */

static void open_shuffle(struct use *use) {
    millpond_error *error;
    OK(millpond_shuffle_queue_new(use->client, use->name, strlen(use->name), NULL,
                                  &use->shuffle.queue, &error));
    OK(millpond_shuffle_consumer_new(use->shuffle.queue, S("g"), S("c"), NULL, &use->shuffle.consumer,
                                     &error));
}

static millpond_status write_message(const struct use *use, const char *item, int64_t delay_ms,
                                     millpond_error **error) {
    millpond_shuffle_field field = {S("item"), item, strlen(item)};
    (void)delay_ms;
    return millpond_shuffle_write(use->shuffle.queue, S("tenant"), &field, 1, NULL, error);
}

static const struct queue_row shuffle = {open_shuffle, write_message, false};

static millpond_status read_message(struct use *use, millpond_error **error) {
    millpond_status status = millpond_shuffle_read(use->shuffle.consumer, 1, use->wait_ms,
                                                   &use->shuffle.batch, error);
    if (millpond_shuffle_batch_length(use->shuffle.batch) == 0) {
        millpond_shuffle_batch_free(use->shuffle.batch);
        use->shuffle.batch = NULL;
    }
    return status;
}

static millpond_status open_messages(struct use *use, millpond_error **error) {
    return millpond_shuffle_messages_new(use->shuffle.consumer, 1, use->wait_ms,
                                         &use->shuffle.messages, error);
}

static millpond_status next_message(struct use *use, millpond_error **error) {
    return millpond_shuffle_messages_next(use->shuffle.messages, &use->shuffle.batch, error);
}

static millpond_bytes first_value(const millpond_shuffle_message *message) {
    return message == NULL
               ? nothing
               : (millpond_bytes){message->fields->value, message->fields->value_length};
}

static millpond_bytes message(const struct use *use) {
    return first_value(millpond_shuffle_batch_at(use->shuffle.batch, 0));
}

static void acknowledge(struct use *use) {
    const millpond_shuffle_message *taken = millpond_shuffle_batch_at(use->shuffle.batch, 0);
    millpond_error *error;
    OK(millpond_shuffle_ack_and_delete(use->shuffle.consumer, &taken->receipt, 1, NULL, &error));
    millpond_shuffle_batch_free(use->shuffle.batch);
    use->shuffle.batch = NULL;
}

static millpond_status open_shuffle_run(struct use *use, millpond_error **error) {
    millpond_shuffle_worker_options options;
    millpond_shuffle_worker_options_init(&options, sizeof options);
    options.concurrency = 4;
    options.delete_done = true;
    millpond_status status = millpond_shuffle_worker_new(use->shuffle.consumer, &options,
                                                         &use->shuffle.worker, error);
    return status != MILLPOND_OK ? status : start_shuffle(use, error);
}

static millpond_bytes message_of_job(const struct use *use) {
    return first_value(millpond_shuffle_job_data(use->shuffle.job));
}

/* Tasks. */

static void open_store(struct use *use) {
    millpond_error *error;
    OK(millpond_tasks_store_new(use->client, use->name, strlen(use->name), NULL, 0,
                                &use->tasks.store, &error));
}

static millpond_status insert_task(const struct use *use, const char *item, int64_t delay_ms,
                                   millpond_error **error) {
    millpond_new_task task;
    millpond_tasks_modification modification = {.size = sizeof modification, .inserts = &task,
                                                .insert_count = 1};
    millpond_new_task_init(&task, sizeof task);
    task.queue = one_queue;
    task.value = (millpond_bytes){item, strlen(item)};
    task.delay_ms = delay_ms;
    return millpond_tasks_modify(use->tasks.store, &modification, NULL, error);
}

static const struct queue_row tasks = {open_store, insert_task, true};

static millpond_status claim_task(struct use *use, millpond_error **error) {
    return millpond_tasks_claim(use->tasks.store, &one_queue, 1, LEASE_MS, 1, use->wait_ms,
                                &use->tasks.result, error);
}

static millpond_status open_claims(struct use *use, millpond_error **error) {
    return millpond_tasks_claims_new(use->tasks.store, &one_queue, 1, LEASE_MS, 1, use->wait_ms,
                                     &use->tasks.claims, error);
}

static millpond_status next_claim(struct use *use, millpond_error **error) {
    return millpond_tasks_claims_next(use->tasks.claims, &use->tasks.result, error);
}

static millpond_bytes task(const struct use *use) {
    const millpond_task *taken = millpond_tasks_result_task(use->tasks.result, 0);
    return taken == NULL ? nothing : taken->value;
}

static void delete_task(struct use *use) {
    const millpond_task *taken = millpond_tasks_result_task(use->tasks.result, 0);
    millpond_task_id done = {taken->id, taken->version};
    millpond_tasks_modification modification = {.size = sizeof modification, .deletes = &done,
                                                .delete_count = 1};
    millpond_error *error;
    OK(millpond_tasks_modify(use->tasks.store, &modification, NULL, &error));
    millpond_tasks_result_free(use->tasks.result);
    use->tasks.result = NULL;
}

static millpond_status make_tasks_worker(struct use *use, millpond_error **error) {
    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.concurrency = 4;
    options.wait_ms = use->wait_ms;
    return millpond_tasks_worker_new(use->tasks.store, &one_queue, 1, &options, &use->tasks.worker,
                                     error);
}

static millpond_status open_jobs(struct use *use, millpond_error **error) {
    millpond_status status = make_tasks_worker(use, error);
    return status != MILLPOND_OK
               ? status
               : millpond_tasks_worker_jobs(use->tasks.worker, &use->tasks.jobs, error);
}

static millpond_status next_job(struct use *use, millpond_error **error) {
    return millpond_tasks_jobs_next(use->tasks.jobs, &use->tasks.job, error);
}

static millpond_bytes task_of_job(const struct use *use) {
    const millpond_tasks_data *data = millpond_tasks_job_data(use->tasks.job);
    return data == NULL ? nothing : data->tasks->value;
}

static void job_is_done(struct use *use) {
    millpond_error *error;
    OK(millpond_tasks_job_done(use->tasks.job, &error));
    millpond_tasks_job_free(use->tasks.job);
    use->tasks.job = NULL;
}

static millpond_status open_tasks_run(struct use *use, millpond_error **error) {
    millpond_status status = make_tasks_worker(use, error);
    return status != MILLPOND_OK ? status : start_tasks(use, error);
}

/* Events. */

static void open_events(struct use *use) {
    millpond_error *error;
    OK(millpond_events_queue_new(use->client, use->name, strlen(use->name), &use->events.queue,
                                 &error));
}

static millpond_status publish(const struct use *use, const char *item, int64_t delay_ms,
                               millpond_error **error) {
    millpond_new_event event;
    millpond_new_event_init(&event, sizeof event);
    event.payload = (millpond_bytes){item, strlen(item)};
    event.delay_ms = delay_ms;
    return millpond_events_publish(use->events.queue, &event, NULL, error);
}

static const struct queue_row events = {open_events, publish, true};

static millpond_status open_deliveries(struct use *use, millpond_error **error) {
    return millpond_events_deliveries_new(use->events.queue, LEASE_MS, 1, use->wait_ms, NULL, 0,
                                          &use->events.deliveries, error);
}

static millpond_status next_delivery(struct use *use, millpond_error **error) {
    return millpond_events_deliveries_next(use->events.deliveries, &use->events.result, error);
}

static millpond_bytes event(const struct use *use) {
    const millpond_event *taken = millpond_events_result_event(use->events.result, 0);
    return taken == NULL ? nothing : taken->payload;
}

static void acknowledge_event(struct use *use) {
    const millpond_event *taken = millpond_events_result_event(use->events.result, 0);
    millpond_event_receipt receipt = {taken->id, taken->token};
    millpond_error *error;
    OK(millpond_events_ack(use->events.queue, &receipt, &error));
    millpond_events_result_free(use->events.result);
    use->events.result = NULL;
}

static millpond_status open_events_run(struct use *use, millpond_error **error) {
    millpond_events_worker_options options;
    millpond_events_worker_options_init(&options, sizeof options);
    options.concurrency = 4;
    millpond_status status = millpond_events_worker_new(use->events.queue, &options,
                                                        &use->events.worker, error);
    return status != MILLPOND_OK ? status : start_events(use, error);
}

static millpond_bytes event_of_job(const struct use *use) {
    const millpond_events_data *data = millpond_events_job_data(use->events.job);
    return data == NULL ? nothing : data->events->payload;
}

const struct loop_row loop_rows[] = {
    {"ick batches", &ick, open_batches, next_batch, member, commit, LOOP},
    {"ick lease batches", &ick, open_batches_of_lease, next_batch, member, commit, LOOP},
    {"ick channel batches", &channel, open_batches_of_channel, next_batch, member, commit, LOOP},
    {"shuffle read", &shuffle, no_loop, read_message, message, acknowledge, CALL},
    {"shuffle messages", &shuffle, open_messages, next_message, message, acknowledge, LOOP},
    {"shuffle run", &shuffle, open_shuffle_run, next_of_shuffle_run, message_of_job, end_shuffle_job, RUN},
    {"tasks claim", &tasks, no_loop, claim_task, task, delete_task, CALL},
    {"tasks claims", &tasks, open_claims, next_claim, task, delete_task, LOOP},
    {"tasks jobs", &tasks, open_jobs, next_job, task_of_job, job_is_done, LOOP},
    {"tasks run", &tasks, open_tasks_run, next_of_tasks_run, task_of_job, end_tasks_job, RUN},
    {"events deliveries", &events, open_deliveries, next_delivery, event, acknowledge_event, LOOP},
    {"events run", &events, open_events_run, next_of_events_run, event_of_job, end_events_job, RUN},
    {.name = NULL},
};
