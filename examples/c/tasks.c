/* What a store of tasks is for: a step of work and everything that follows from it happen together,
   once, even if several workers try it.

   cc tasks.c -o tasks $(pkg-config --cflags --libs millpond) && ./tasks [URL] */

#include <millpond.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static millpond_bytes text(const char *literal) {
    millpond_bytes bytes = {literal, strlen(literal)};
    return bytes;
}

/* Ends the program if a call failed. */
static void ok(millpond_status status, millpond_error **error) {
    if (status == MILLPOND_OK)
        return;
    fprintf(stderr, "%s: %s\n", millpond_status_name(millpond_error_code(*error)),
            millpond_error_message(*error));
    exit(1);
}

static millpond_tasks_store *store_of(millpond_client *client, const char *claimant) {
    /* A store of its own for each run. */
    char name[64];
    int length = snprintf(name, sizeof name, "examples/tasks/%ld", (long)getpid());
    millpond_tasks_store *store;
    millpond_error *error;
    ok(millpond_tasks_store_new(client, name, (size_t)length, claimant, strlen(claimant), &store,
                                &error),
       &error);
    return store;
}

/* Claims the order for this long. */
static millpond_tasks_result *claim_order(millpond_tasks_store *store, int64_t lease_ms) {
    millpond_bytes orders = text("orders");
    millpond_tasks_result *result;
    millpond_error *error;
    ok(millpond_tasks_claim(store, &orders, 1, lease_ms, 1, 0, &result, &error), &error);
    assert(result != NULL);
    return result;
}

/* An order, and an account that it will be taken from. */
static void open_shop(millpond_tasks_store *store) {
    const char order[] = "{\"account\": \"7\", \"price\": 30}";
    millpond_new_doc account;
    millpond_error *error;
    ok(millpond_tasks_insert(store, "orders", 6, order, strlen(order), NULL, &error), &error);
    millpond_new_doc_init(&account, sizeof account);
    account.namespace_name = text("accounts");
    account.key = text("7");
    account.content = text("{\"balance\": 100}");
    ok(millpond_tasks_put_doc(store, &account, NULL, &error), &error);
}

/* Does all of an order in one step: the order is gone, the invoice is there, the balance is
   less. */
static void settle(millpond_tasks_store *store, const millpond_task *order) {
    millpond_tasks_result *account, *done;
    millpond_bytes key = text("7");
    millpond_error *error;
    ok(millpond_tasks_claim_docs(store, "accounts", 8, &key, 1, 30000, &account, &error), &error);
    const millpond_doc *before = millpond_tasks_result_doc(account, 0);
    millpond_task_id settled = {order->id, order->version};
    millpond_new_task invoice;
    millpond_new_task_init(&invoice, sizeof invoice);
    invoice.queue = text("invoices");
    invoice.value = order->value;
    millpond_doc_change change;
    millpond_doc_change_init(&change, sizeof change, before);
    change.content = text("{\"balance\": 70}");
    change.delay_ms = 0; /* And release it. */
    millpond_tasks_modification modification = {.size = sizeof modification, .deletes = &settled,
                                                .delete_count = 1, .inserts = &invoice,
                                                .insert_count = 1, .doc_changes = &change,
                                                .doc_change_count = 1};
    ok(millpond_tasks_modify(store, &modification, &done, &error), &error);
    assert(millpond_tasks_result_doc(done, 0)->version == before->version + 1);
    millpond_tasks_result_free(done);
    millpond_tasks_result_free(account);
}

/* The printer of the invoices, which may be off. */
static void print(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    const bool *is_on = context;
    (void)job;
    if (*is_on)
        return;
    outcome->end = MILLPOND_TASK_RETRY;
    outcome->err = text("the printer is off");
}

int main(int count, char **arguments) {
    const char *url = count > 1 ? arguments[1] : "memory:";
    millpond_client *client;
    millpond_error *error;
    ok(millpond_connect(url, strlen(url), &client, &error), &error);
    millpond_tasks_store *ann = store_of(client, "ann"), *bob = store_of(client, "bob");
    open_shop(ann);

    /* Ann claims the order, and is too slow: her lease is over at once. Bob claims it as well. */
    millpond_tasks_result *anns = claim_order(ann, 0), *bobs = claim_order(bob, 30000);
    const millpond_task *late = millpond_tasks_result_task(anns, 0);
    assert(late->version == 1 && millpond_tasks_result_task(bobs, 0)->version == 2);
    settle(bob, millpond_tasks_result_task(bobs, 0));

    /* Ann's version is stale, so her modification is refused: no second invoice. */
    millpond_task_id gone = {late->id, late->version};
    millpond_new_task second;
    millpond_new_task_init(&second, sizeof second);
    second.queue = text("invoices");
    millpond_tasks_modification modification = {.size = sizeof modification, .deletes = &gone,
                                                .delete_count = 1, .inserts = &second,
                                                .insert_count = 1};
    millpond_status status = millpond_tasks_modify(ann, &modification, NULL, &error);
    assert(status == MILLPOND_DEPENDENCY && millpond_error_dependency(error)->delete_count == 1);
    printf("one order, one invoice: %s (%d)\n", millpond_error_message(error), (int)status);
    millpond_error_free(error);
    millpond_tasks_result_free(anns);
    millpond_tasks_result_free(bobs);

    /* A worker claims, renews while the handler works, retries what failed, and moves to the error
       queue what fails too often. */
    millpond_bytes invoices = text("invoices");
    millpond_tasks_worker *worker;
    millpond_tasks_worker_options options;
    bool is_on = false;
    millpond_tasks_worker_options_init(&options, sizeof options);
    options.backoff_ms = options.backoff_max_ms = 0;
    options.max_attempts = 2;
    ok(millpond_tasks_worker_new(bob, &invoices, 1, &options, &worker, &error), &error);
    ok(millpond_tasks_worker_drain(worker, print, NULL, &is_on, NULL, &error), &error);
    millpond_tasks_result *page;
    ok(millpond_tasks_list(bob, "invoices/err", 12, NULL, &page, &error), &error);
    assert(millpond_tasks_result_data(page)->task_count == 1);
    const millpond_task *aside = millpond_tasks_result_task(page, 0);
    const char *err = "the printer is off\nexhausted: the printer is off";
    assert(aside->attempt == 2 && aside->err.length == strlen(err));
    assert(memcmp(aside->err.data, err, aside->err.length) == 0);
    printf("after %d attempts in %.*s: %.*s\n", (int)aside->attempt, (int)aside->queue.length,
           aside->queue.data, (int)strlen("the printer is off"), aside->err.data);

    /* It is switched on, and the invoice moved back. */
    is_on = true;
    millpond_task_change again;
    millpond_task_change_init(&again, sizeof again, aside);
    again.queue = invoices;
    again.attempt = 0;
    again.err = text("");
    modification = (millpond_tasks_modification){.size = sizeof modification, .changes = &again,
                                                 .change_count = 1};
    ok(millpond_tasks_modify(bob, &modification, NULL, &error), &error);
    millpond_tasks_result_free(page);
    millpond_job_counts drained;
    ok(millpond_tasks_worker_drain(worker, print, NULL, &is_on, &drained, &error), &error);
    assert(drained.done == 1);
    millpond_tasks_worker_free(worker);

    /* Nothing is left to do. */
    millpond_tasks_filter all;
    millpond_bytes any = text("");
    bool empty;
    millpond_tasks_filter_init(&all, sizeof all);
    all.prefixes = &any;
    all.prefix_count = 1;
    ok(millpond_tasks_are_empty(bob, &all, &empty, &error), &error);
    assert(empty);
    ok(millpond_tasks_list_docs(bob, "accounts", 8, NULL, &page, &error), &error);
    const millpond_doc *account = millpond_tasks_result_doc(page, 0);
    millpond_doc_id closed = {account->namespace_name, account->id, account->version};
    modification = (millpond_tasks_modification){.size = sizeof modification,
                                                 .doc_deletes = &closed, .doc_delete_count = 1};
    ok(millpond_tasks_modify(bob, &modification, NULL, &error), &error);
    millpond_tasks_result_free(page);
    millpond_tasks_store_free(ann);
    millpond_tasks_store_free(bob);
    millpond_client_free(client);
    return 0;
}
