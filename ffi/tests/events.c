/* Queues of events: calls, workers, and wrong calls. */

#include "redis.h"
#include "tasks.h"

#include <string.h>

#define WRONG(says, call) FAILS(MILLPOND_INVALID_ARGUMENT, says, call)
/* What a function returned, of which there is one. */
#define DATA(result) (millpond_events_result_data(result))
#define EVENT(result) (millpond_events_result_event(result, 0))

static millpond_events_queue *queue_named(millpond_client *client, const char *name) {
    millpond_events_queue *queue;
    millpond_error *error;
    OK(millpond_events_queue_new(client, name, strlen(name), &queue, &error));
    return queue;
}

static millpond_new_event event_of(const char *payload, int64_t delay_ms) {
    millpond_new_event event;
    millpond_new_event_init(&event, sizeof event);
    event.payload = (millpond_bytes){payload, strlen(payload)};
    event.delay_ms = delay_ms;
    return event;
}

static void publish(millpond_events_queue *queue, const char *payload, int64_t delay_ms) {
    millpond_new_event event = event_of(payload, delay_ms);
    millpond_error *error;
    OK(millpond_events_publish(queue, &event, NULL, &error));
}

/* Receives one, which has to be this. */
static millpond_events_result *received(millpond_events_queue *queue, const char *payload) {
    millpond_events_result *result;
    millpond_error *error;
    OK(millpond_events_receive(queue, 1, &result, &error));
    CHECK(DATA(result)->event_count == 1 && is(EVENT(result)->payload, payload));
    return result;
}

static millpond_event_receipt receipt_of(millpond_events_result *result) {
    return (millpond_event_receipt){EVENT(result)->id, EVENT(result)->token};
}

static void an_event_is_published_received_and_acknowledged(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "events");
    millpond_new_event event = event_of("paid", MILLPOND_NOT_SET), next = event_of("ship", MILLPOND_NOT_SET);
    millpond_events_result *published, *result, *again, *followed;
    millpond_event_receipt receipt;
    millpond_error *error;
    char headers[16];
    uint32_t outcome;

    event.key = (millpond_bytes)B("customer-12");
    event.headers = (millpond_bytes){
        headers, millpond_headers_add(headers, 0, sizeof headers, S("version"), S("1"))};
    OK(millpond_events_publish(queue, &event, &published, &error));
    CHECK(DATA(published)->published_count == 1);
    CHECK(millpond_events_result_published(published, 0)->status == MILLPOND_EVENT_CREATED);

    result = received(queue, "paid");
    CHECK(is(EVENT(result)->key, "customer-12") && EVENT(result)->attempts == 1);
    CHECK(EVENT(result)->state == MILLPOND_EVENT_LEASED && EVENT(result)->headers.length > 0);
    receipt = receipt_of(result);
    OK(millpond_events_renew(queue, &receipt, 1, 60000, &outcome, &error));
    CHECK(outcome == MILLPOND_EVENT_LEASE_HELD);
    /* With the next attempt the first one's token is worth nothing. */
    OK(millpond_events_nack(queue, &receipt, S("no printer"), 0, &error));
    FAILS(MILLPOND_LEASE_LOST, "", millpond_events_ack(queue, &receipt, &error));
    again = received(queue, "paid");
    CHECK(is(EVENT(again)->err, "no printer") && EVENT(again)->attempts == 2);
    FAILS(MILLPOND_LEASE_LOST, "", millpond_events_ack(queue, &receipt, &error));
    millpond_events_result_free(result);

    receipt = receipt_of(again);
    OK(millpond_events_ack_with(queue, &receipt, &next, 1, &followed, &error));
    CHECK(DATA(followed)->published_count == 1);
    OK(millpond_events_fetch(queue, &millpond_events_result_published(published, 0)->id, 1, &result,
                             &error));
    CHECK(DATA(result)->event_count == 0);
    millpond_events_result_free(result);
    millpond_events_result_free(followed);
    millpond_events_result_free(again);
    millpond_events_result_free(published);

    result = received(queue, "ship");
    receipt = receipt_of(result);
    OK(millpond_events_ack_many(queue, &receipt, 1, &outcome, &error));
    CHECK(outcome == MILLPOND_EVENT_END_ENDED);
    millpond_events_result_free(result);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

static void a_name_is_published_once_and_can_be_moved(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "named events");
    millpond_new_event event = event_of("remind", 3600000);
    millpond_events_result *first, *again;
    millpond_error *error;
    millpond_bytes id;
    uint32_t outcome;

    event.dedup_id = (millpond_bytes)B("cart 7");
    OK(millpond_events_publish(queue, &event, &first, &error));
    OK(millpond_events_publish(queue, &event, &again, &error));
    id = millpond_events_result_published(first, 0)->id;
    CHECK(millpond_events_result_published(again, 0)->status == MILLPOND_EVENT_DUPLICATE);
    CHECK(memcmp(millpond_events_result_published(again, 0)->id.data, id.data, id.length) == 0);
    millpond_events_result_free(again);
    event.if_exists = MILLPOND_IF_EXISTS_ERROR;
    FAILS(MILLPOND_ALREADY_EXISTS, "are taken", millpond_events_publish(queue, &event, NULL, &error));

    OK(millpond_events_reschedule(queue, &id, 1, 7200000, &outcome, &error));
    CHECK(outcome == MILLPOND_EVENT_RESCHEDULE_RESCHEDULED);
    OK(millpond_events_cancel(queue, &id, 1, false, false, &outcome, &error));
    CHECK(outcome == MILLPOND_EVENT_CANCEL_REMOVED);
    OK(millpond_events_cancel(queue, &id, 1, false, false, &outcome, &error));
    CHECK(outcome == MILLPOND_EVENT_CANCEL_REMOVED);
    millpond_events_result_free(first);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

/* What the handler is called with. */
struct handling {
    int called, reports[10];
    millpond_events_worker *worker;
};

/* Ends an event as its payload says. */
static void work(millpond_events_job *job, millpond_task_outcome *outcome, void *context) {
    struct handling *handling = context;
    const millpond_event *event = millpond_events_job_data(job)->events;
    millpond_error *error;
    int64_t left_ms;
    bool lost, cancelled;
    OK(millpond_events_job_is_lost(job, &lost, &error));
    OK(millpond_events_job_is_cancelled(job, &cancelled, &error));
    OK(millpond_events_job_time_left_ms(job, &left_ms, &error));
    CHECK(!lost && !cancelled && left_ms > 3000000 && left_ms <= 3600000);
    handling->called++;
    outcome->err = (millpond_bytes)B("no such address");
    switch (event->payload.data[0]) {
    case 'r': /* Once, and then it is done. */
        outcome->end = event->attempts == 1 ? MILLPOND_TASK_RETRY : MILLPOND_TASK_DONE;
        outcome->delay_ms = 0;
        break;
    case 'j':
        outcome->end = MILLPOND_TASK_REJECT;
        break;
    case 's':
        OK(millpond_events_worker_stop(handling->worker, -1, &error));
    }
}

static void count_report(const millpond_events_report *report, void *context) {
    struct handling *handling = context;
    const millpond_report_data *data = millpond_events_report_data(report);
    const millpond_events_data *events = millpond_events_report_job_data(report);
    CHECK(events->event_count == 1 && events->events->id.length > 0);
    handling->reports[data->kind]++;
}

static void a_worker_ends_events_as_its_handler_says(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "worked on");
    millpond_events_worker_options options;
    millpond_event_redrive_filter rejected;
    struct handling handling = {0};
    millpond_events_result *result;
    millpond_job_counts drained, more;
    millpond_error *error;
    uint64_t number;

    millpond_events_worker_options_init(&options, sizeof options);
    options.timeout_ms = 3600000;
    OK(millpond_events_worker_new(queue, &options, &handling.worker, &error));
    publish(queue, "done", MILLPOND_NOT_SET);
    publish(queue, "retry", MILLPOND_NOT_SET);
    publish(queue, "j", MILLPOND_NOT_SET);
    OK(millpond_events_worker_drain(handling.worker, work, count_report, &handling, &drained, &error));
    /* What is tried again may be there only later. */
    while (drained.done < 2) {
        OK(millpond_events_worker_drain(handling.worker, work, count_report, &handling, &more, &error));
        drained.done += more.done;
    }
    CHECK(handling.called == 4 && handling.reports[MILLPOND_REPORT_DONE] == 2);
    CHECK(handling.reports[MILLPOND_REPORT_RETRIED] == 1 && handling.reports[MILLPOND_REPORT_DEAD] == 1);

    OK(millpond_events_list(queue, MILLPOND_EVENT_DEAD, NULL, &result, &error));
    CHECK(DATA(result)->event_count == 1 && EVENT(result)->reason == MILLPOND_EVENT_REJECTED);
    CHECK(is(EVENT(result)->err, "no such address"));
    millpond_events_result_free(result);
    millpond_event_redrive_filter_init(&rejected, sizeof rejected);
    rejected.reason = MILLPOND_EVENT_REJECTED;
    OK(millpond_events_redrive_all(queue, &rejected, &number, &error));
    CHECK(number == 1);
    publish(queue, "stop", MILLPOND_NOT_SET);
    OK(millpond_events_worker_run(handling.worker, work, NULL, &handling, NULL, &error));
    OK(millpond_events_stats(queue, &result, &error));
    CHECK(DATA(result)->stats->dead == 1 && DATA(result)->stats->events == 1);
    millpond_events_result_free(result);
    millpond_events_worker_free(handling.worker);
    OK(millpond_events_delete(queue, &error));
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

static void a_schedule_is_put_read_and_triggered(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "scheduled");
    const millpond_schedule_info *info;
    millpond_schedule both[2], *look = &both[0];
    millpond_events_result *result, *published;
    millpond_error *error;
    millpond_bytes id;
    uint32_t outcome;
    bool found;

    millpond_schedule_init(NULL, sizeof *look);
    millpond_schedule_init(&both[0], sizeof both[0]);
    millpond_schedule_init(&both[1], sizeof both[1]);
    look->id = (millpond_bytes)B("look");
    look->every_ms = 3600000;
    look->payload = (millpond_bytes)B("all");
    look->missed = MILLPOND_MISSED_EXPIRE;
    look->overlap = MILLPOND_OVERLAP_ALLOW;
    OK(millpond_events_put_schedule(queue, look, &outcome, &error));
    CHECK(outcome == MILLPOND_SCHEDULE_CREATED);
    OK(millpond_events_put_schedule(queue, look, &outcome, &error));
    CHECK(outcome == MILLPOND_SCHEDULE_UNCHANGED);
    OK(millpond_events_get_schedule(queue, S("look"), &result, &error));
    info = millpond_events_result_schedule(result, 0);
    CHECK(DATA(result)->schedule_count == 1 && millpond_events_result_schedule(result, 1) == NULL);
    CHECK(is(info->id, "look") && is(info->payload, "all") && info->every_ms == 3600000);
    CHECK(info->cron.data == NULL && info->zone.data == NULL && info->owner.length == 0);
    CHECK(info->paused == 0 && info->next_us > 0 && info->passed_us == MILLPOND_NOT_SET);
    millpond_events_result_free(result);

    OK(millpond_events_trigger_schedule(queue, S("look"), &published, &error));
    result = received(queue, "all");
    id = millpond_events_result_published(published, 0)->id;
    CHECK(memcmp(id.data, EVENT(result)->id.data, id.length) == 0 && EVENT(result)->key.length == 0);
    millpond_events_result_free(result);
    millpond_events_result_free(published);

    both[1].id = (millpond_bytes)B("nightly");
    both[1].cron = (millpond_bytes)B("30 3 * * *");
    OK(millpond_events_sync_schedules(queue, S("app"), 1, both, 2, &result, &error));
    CHECK(DATA(result)->synced->created == 1 && DATA(result)->synced->updated + DATA(result)->synced->unchanged == 1);
    millpond_events_result_free(result);
    OK(millpond_events_list_schedules(queue, &result, &error));
    info = millpond_events_result_schedule(result, 1);
    CHECK(is(info->cron, "30 3 * * *") && is(info->zone, "UTC") && is(info->owner, "app"));
    CHECK(info->every_ms == MILLPOND_NOT_SET);
    millpond_events_result_free(result);
    OK(millpond_events_sync_schedules(queue, S("app"), 2, NULL, 0, &result, &error));
    CHECK(DATA(result)->synced->removed == 2 && DATA(result)->synced->ignored == 0);
    millpond_events_result_free(result);

    OK(millpond_events_get_schedule(queue, S("look"), &result, &error));
    CHECK(result == NULL);
    OK(millpond_events_trigger_schedule(queue, S("look"), &result, &error));
    CHECK(result == NULL);
    OK(millpond_events_pause_schedule(queue, S("look"), &found, &error));
    CHECK(!found);
    OK(millpond_events_resume_schedule(queue, S("look"), &found, &error));
    CHECK(!found);
    OK(millpond_events_remove_schedule(queue, S("look"), NULL, &error));
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

static void wrong_schedules(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "wrong schedules");
    millpond_events_result *result = (void *)1;
    millpond_schedule schedule;
    millpond_error *error;
    uint32_t outcome;

    millpond_schedule_init(&schedule, sizeof schedule);
    schedule.id = (millpond_bytes)B("look");
    WRONG("queue is NULL", millpond_events_put_schedule(NULL, &schedule, &outcome, &error));
    WRONG("schedule is NULL", millpond_events_put_schedule(queue, NULL, &outcome, &error));
    WRONG("either cron or every", millpond_events_put_schedule(queue, &schedule, &outcome, &error));
    schedule.every_ms = -2;
    WRONG("every_ms is -2", millpond_events_put_schedule(queue, &schedule, &outcome, &error));
    schedule.every_ms = 1000;
    schedule.missed = 9;
    WRONG("missed is 9", millpond_events_put_schedule(queue, &schedule, &outcome, &error));
    schedule.missed = MILLPOND_NOT_SET;
    schedule.payload = (millpond_bytes){NULL, 3};
    WRONG("schedule.payload is NULL", millpond_events_put_schedule(queue, &schedule, &outcome, &error));
    WRONG("schedules[0].payload is NULL",
          millpond_events_sync_schedules(queue, S("app"), 1, &schedule, 1, &result, &error));
    CHECK(result == NULL);
    WRONG("schedules is NULL", millpond_events_sync_schedules(queue, S("app"), 1, NULL, 1, &result, &error));
    WRONG("id is NULL", millpond_events_get_schedule(queue, NULL, 1, &result, &error));
    WRONG("result is NULL", millpond_events_list_schedules(queue, NULL, &error));
    WRONG("UTF-8", millpond_events_pause_schedule(queue, S("\xff"), NULL, &error));
    OK(millpond_events_list_schedules(queue, &result, &error));
    CHECK(DATA(result)->schedule_count == 0);
    millpond_events_result_free(result);
    CHECK(millpond_events_result_schedule(NULL, 0) == NULL);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

static void wrong_calls(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "wrong events"), *other = (void *)1;
    millpond_new_event event = event_of("paid", 1), many[2] = {event, event};
    millpond_event_receipt receipt = {B("dc2fd201jd1kkk7tdq2g"), B("t")};
    millpond_events_worker_options options;
    millpond_events_deliveries *loop;
    millpond_events_result *result;
    millpond_events_worker *worker;
    millpond_event_config_change change;
    millpond_error *error;
    millpond_bytes id = B("no id");
    uint32_t outcome;

    WRONG("queue is NULL", millpond_events_queue_new(client, S("x"), NULL, &error));
    WRONG("name is NULL", millpond_events_queue_new(client, NULL, 1, &other, &error));
    CHECK(other == NULL);
    OK(millpond_events_queue_new(client, NULL, 0, &other, &error));
    WRONG("name is empty", millpond_events_pause(other, &error));
    millpond_events_queue_free(other);
    WRONG("queue is NULL", millpond_events_publish(NULL, &event, &result, &error));
    WRONG("event is NULL", millpond_events_publish(queue, NULL, &result, &error));
    CHECK(result == NULL);
    event.at_ms = 1;
    WRONG("delay", millpond_events_publish(queue, &event, &result, &error));
    event = event_of("paid", MILLPOND_NOT_SET);
    event.key = (millpond_bytes){NULL, 3};
    WRONG("event.key is NULL", millpond_events_publish(queue, &event, &result, &error));
    event.key = (millpond_bytes)B("");
    event.headers = (millpond_bytes)B("no headers");
    WRONG("headers", millpond_events_publish(queue, &event, &result, &error));
    {
        /* A header that does not fit costs the others nothing: the whole event is refused. */
        char headers[16];
        size_t length = millpond_headers_add(headers, 0, sizeof headers, S("tenant"), S("7"));

        CHECK(length == 11);
        length = millpond_headers_add(headers, length, sizeof headers, S("trace"), S("4bf92f"));
        length = millpond_headers_add(headers, length, sizeof headers, S("v"), S("1"));
        event.headers = (millpond_bytes){headers, length};
        WRONG("event.headers: a header did not fit", millpond_events_publish(queue, &event, &result, &error));
    }
    event = event_of("paid", MILLPOND_NOT_SET);
    event.if_exists = 9;
    WRONG("if_exists", millpond_events_publish(queue, &event, &result, &error));
    WRONG("events is NULL", millpond_events_publish_many(queue, NULL, 1, &result, &error));
    many[1].payload = (millpond_bytes){NULL, 3};
    WRONG("events[1].payload is NULL", millpond_events_publish_many(queue, many, 2, &result, &error));
    WRONG("takes 1 to 1000", millpond_events_receive(queue, 0, &result, &error));
    WRONG("result is NULL", millpond_events_receive(queue, 1, NULL, &error));
    WRONG("delivery is NULL", millpond_events_ack(queue, NULL, &error));
    WRONG("token", millpond_events_ack(queue, &receipt, &error));
    receipt.id = id;
    WRONG("twenty digits", millpond_events_ack(queue, &receipt, &error));
    WRONG("twenty digits", millpond_events_cancel(queue, &id, 1, false, false, &outcome, &error));
    WRONG("twenty digits", millpond_events_fetch(queue, &id, 1, &result, &error));
    WRONG("state is 0", millpond_events_list(queue, 0, NULL, &result, &error));
    millpond_event_config_change_init(&change, sizeof change);
    change.partitions = 0;
    WRONG("partitions", millpond_events_configure(queue, &change, &error));
    OK(millpond_events_deliveries_new(queue, MILLPOND_NOT_SET, 0, 0, NULL, 0, &loop, &error));
    WRONG("takes 1 to 1000", millpond_events_deliveries_next(loop, &result, &error));
    millpond_events_deliveries_free(loop);
    OK(millpond_events_deliveries_new(queue, 0, 1, 0, NULL, 0, &loop, &error));
    WRONG("lease", millpond_events_deliveries_next(loop, &result, &error));
    millpond_events_deliveries_free(loop);
    millpond_events_worker_options_init(&options, sizeof options);
    options.lease_ms = -2;
    WRONG("lease_ms", millpond_events_worker_new(queue, &options, &worker, &error));
    CHECK(worker == NULL);
    OK(millpond_events_worker_new(queue, NULL, &worker, &error));
    WRONG("handler is NULL", millpond_events_worker_run(worker, NULL, NULL, NULL, NULL, &error));
    millpond_events_worker_free(worker);
    /* Nothing was sent. */
    OK(millpond_events_stats(queue, &result, &error));
    CHECK(DATA(result)->stats->events == 0);
    millpond_events_result_free(result);
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

static void an_event_is_published_in_a_transaction(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_events_queue *queue = queue_named(client, "transactions");
    millpond_new_event event = event_of("paid", MILLPOND_NOT_SET);
    millpond_keys *call;
    millpond_error *error;
    const char *words[20];
    size_t lengths[20];

    if (strcmp(backend->kind, "redis") != 0) {
        FAILS(MILLPOND_INVALID_ARGUMENT, "no transactions",
              millpond_events_publish_call(queue, &event, &call, &error));
        CHECK(call == NULL);
    } else {
        redisContext *redis = redis_connect(backend);
        OK(millpond_events_publish_call(queue, &event, &call, &error));
        size_t length = millpond_keys_length(call);
        CHECK(length <= 20);
        for (size_t i = 0; i < length; i++) {
            words[i] = millpond_keys_data(call)[i].data;
            lengths[i] = millpond_keys_data(call)[i].length;
        }
        freeReplyObject(redis_command(redis, "MULTI"));
        freeReplyObject(redis_command(redis, "SET transaction paid"));
        freeReplyObject(redisCommandArgv(redis, (int)length, words, lengths));
        millpond_keys_free(call);
        redisReply *reply = redis_command(redis, "EXEC");
        CHECK(reply->elements == 2 && reply->element[1]->type == REDIS_REPLY_STRING);
        millpond_events_result *result = received(queue, "paid");
        CHECK(is(millpond_events_result_data(result)->events->id, reply->element[1]->str));
        millpond_events_result_free(result);
        freeReplyObject(reply);
        redisFree(redis);
    }
    event.if_exists = MILLPOND_IF_EXISTS_ERROR;
    FAILS(MILLPOND_INVALID_ARGUMENT, "", millpond_events_publish_call(queue, &event, NULL, &error));
    millpond_events_queue_free(queue);
    millpond_client_free(client);
}

const struct test event_tests[] = {
    {"an_event_is_published_received_and_acknowledged", an_event_is_published_received_and_acknowledged},
    {"a_name_is_published_once_and_can_be_moved", a_name_is_published_once_and_can_be_moved},
    {"an_event_is_published_in_a_transaction", an_event_is_published_in_a_transaction},
    {"a_worker_ends_events_as_its_handler_says", a_worker_ends_events_as_its_handler_says},
    {"a_schedule_is_put_read_and_triggered", a_schedule_is_put_read_and_triggered},
    {"wrong_schedules", wrong_schedules},
    {"wrong_calls", wrong_calls},
    {NULL, NULL}};
