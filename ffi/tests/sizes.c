/* Structures that a program allocates: one of each size lies at the end of memory, so that a read or a
   write behind it crashes. */

#include "tasks.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static millpond_client *client;
static millpond_shuffle_queue *queue;
static millpond_tasks_store *store;
static millpond_volatile_hash *hash;
static millpond_recruiter *recruiter;

/* A structure, and a call that takes it. */
struct kind {
    const char *name;
    size_t size;
    void (*init)(void *it, size_t size);
    millpond_status (*use)(void *it, millpond_error **error);
};

#define INIT(kind) \
    static void init_##kind(void *it, size_t size) { \
        millpond_##kind##_init(it, size); \
    }
INIT(options)
INIT(ick_stats)
INIT(shuffle_options)
INIT(shuffle_consumer_options)
INIT(shuffle_worker_options)
INIT(shuffle_new_message)
INIT(tasks_modification)
INIT(new_task)
INIT(new_doc)
INIT(task_query)
INIT(doc_query)
INIT(tasks_filter)
INIT(task_filter)
INIT(tasks_worker_options)
INIT(field_query)
INIT(new_job)

static void init_task_change(void *it, size_t size) {
    millpond_task_change_init(it, size, NULL);
}

static void init_doc_change(void *it, size_t size) {
    millpond_doc_change_init(it, size, NULL);
}

static millpond_status use_options(void *it, millpond_error **error) {
    millpond_client *made;
    millpond_status status = millpond_connect_with(it, &made, error);
    millpond_client_free(made);
    return status;
}

static millpond_status use_ick_stats(void *it, millpond_error **error) {
    return millpond_ick_stats_read(client, S("sizes"), it, error);
}

static millpond_status use_shuffle_options(void *it, millpond_error **error) {
    millpond_shuffle_queue *made;
    millpond_status status = millpond_shuffle_queue_new(client, S("sizes"), it, &made, error);
    millpond_shuffle_queue_free(made);
    return status;
}

static millpond_status use_shuffle_consumer_options(void *it, millpond_error **error) {
    millpond_shuffle_consumer *made;
    millpond_status status = millpond_shuffle_consumer_new(queue, S("g"), S("c"), it, &made, error);
    millpond_shuffle_consumer_free(made);
    return status;
}

static millpond_status use_shuffle_worker_options(void *it, millpond_error **error) {
    millpond_shuffle_consumer *consumer;
    millpond_shuffle_worker *worker = NULL;
    millpond_status status =
        millpond_shuffle_consumer_new(queue, S("g"), S("c"), NULL, &consumer, error);
    if (status == MILLPOND_OK)
        status = millpond_shuffle_worker_new(consumer, it, &worker, error);
    millpond_shuffle_worker_free(worker);
    millpond_shuffle_consumer_free(consumer);
    return status;
}

static millpond_status use_shuffle_new_message(void *it, millpond_error **error) {
    return millpond_shuffle_write_many(queue, it, 1, NULL, error);
}

static millpond_status modify(millpond_tasks_modification modification, millpond_error **error) {
    modification.size = sizeof modification;
    return millpond_tasks_modify(store, &modification, NULL, error);
}

static millpond_status use_tasks_modification(void *it, millpond_error **error) {
    return millpond_tasks_modify(store, it, NULL, error);
}

static millpond_status use_new_task(void *it, millpond_error **error) {
    return modify((millpond_tasks_modification){.inserts = it, .insert_count = 1}, error);
}

static millpond_status use_task_change(void *it, millpond_error **error) {
    return modify((millpond_tasks_modification){.changes = it, .change_count = 1}, error);
}

static millpond_status use_new_doc(void *it, millpond_error **error) {
    return millpond_tasks_put_doc(store, it, NULL, error);
}

static millpond_status use_doc_change(void *it, millpond_error **error) {
    return modify((millpond_tasks_modification){.doc_changes = it, .doc_change_count = 1}, error);
}

static millpond_status use_task_query(void *it, millpond_error **error) {
    millpond_tasks_result *result;
    millpond_status status = millpond_tasks_list(store, S("q"), it, &result, error);
    millpond_tasks_result_free(result);
    return status;
}

static millpond_status use_doc_query(void *it, millpond_error **error) {
    millpond_tasks_result *result;
    millpond_status status = millpond_tasks_list_docs(store, S("n"), it, &result, error);
    millpond_tasks_result_free(result);
    return status;
}

static millpond_status use_tasks_filter(void *it, millpond_error **error) {
    millpond_tasks_result *result;
    millpond_status status = millpond_tasks_queue_stats(store, it, &result, error);
    millpond_tasks_result_free(result);
    return status;
}

static millpond_status use_task_filter(void *it, millpond_error **error) {
    millpond_tasks_result *result;
    millpond_status status = millpond_tasks_purge(store, S("q"), it, &result, error);
    millpond_tasks_result_free(result);
    return status;
}

static millpond_status use_tasks_worker_options(void *it, millpond_error **error) {
    millpond_bytes q = B("q");
    millpond_tasks_worker *worker;
    millpond_status status = millpond_tasks_worker_new(store, &q, 1, it, &worker, error);
    millpond_tasks_worker_free(worker);
    return status;
}

static millpond_status use_field_query(void *it, millpond_error **error) {
    millpond_volatile_result *result;
    millpond_status status = millpond_volatile_fields(hash, it, &result, error);
    millpond_volatile_result_free(result);
    return status;
}

static millpond_status use_new_job(void *it, millpond_error **error) {
    millpond_new_job *job = it;
    if (job->size >= offsetof(millpond_new_job, share))
        job->per_second = 1;
    if (job->size >= offsetof(millpond_new_job, per_second))
        job->id = (millpond_bytes)B("job");
    millpond_status status = millpond_recruiter_install(recruiter, it, error);
    millpond_recruiter_uninstall(recruiter, S("job"), NULL, NULL);
    return status;
}

#define KIND(kind) {"millpond_" #kind, sizeof(millpond_##kind), init_##kind, use_##kind}
static const struct kind kinds[] = {
    KIND(options),
    KIND(ick_stats),
    KIND(shuffle_options),
    KIND(shuffle_consumer_options),
    KIND(shuffle_worker_options),
    KIND(shuffle_new_message),
    KIND(new_task),
    KIND(task_change),
    KIND(new_doc),
    KIND(doc_change),
    KIND(task_query),
    KIND(doc_query),
    KIND(tasks_filter),
    KIND(task_filter),
    KIND(tasks_worker_options),
    KIND(tasks_modification),
    KIND(field_query),
    KIND(new_job),
};

static void nothing_behind_is_touched(const struct backend *backend) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    millpond_error *error;
    char says[128];

    CHECK(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    client = connect_to(backend);
    store = store_of(client, "sizes", NULL);
    OK(millpond_shuffle_queue_new(client, S("sizes"), NULL, &queue, &error));
    OK(millpond_volatile_hash_new(client, S("sizes"), &hash, &error));
    OK(millpond_recruiter_new(client, S("sizes"), &recruiter, &error));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        for (size_t size = sizeof size; size <= kind->size; size += sizeof size) {
            void *it = memory + page - size;
            memset(memory, 0x5a, page);
            kind->init(it, size);
            CHECK(memcmp(it, &size, sizeof size) == 0 && memory[page - size - 1] == 0x5a);
            /* What lacks a name or a URL is refused for that. */
            kind->use(it, &error);
            CHECK(error == NULL || strstr(millpond_error_message(error), "size") == NULL);
            millpond_error_free(error);
        }
        /* A size that is none, with enough memory to see what is written. */
        for (size_t size = 1; size <= kind->size + sizeof size; size++) {
            unsigned char *it = memory + page / 2;
            if (size % sizeof size == 0 && size <= kind->size)
                continue;
            memset(memory, 0x5a, page);
            kind->init(it, size);
            CHECK(it[size < sizeof size ? 0 : size] == 0x5a && it[-1] == 0x5a);
            memcpy(it, &size, sizeof size);
            if (size > kind->size)
                snprintf(says, sizeof says, "size is %zu, but this version", size);
            else
                snprintf(says, sizeof says, "size is %zu; %s_init sets it", size, kind->name);
            FAILS(MILLPOND_INVALID_ARGUMENT, says, kind->use(it, &error));
        }
    }
    millpond_shuffle_queue_free(queue);
    millpond_tasks_store_free(store);
    millpond_volatile_hash_free(hash);
    millpond_recruiter_free(recruiter);
    millpond_client_free(client);
    CHECK(munmap(memory, 2 * page) == 0);
}

const struct test size_tests[] = {
    {"nothing_behind_a_structure_is_touched", nothing_behind_is_touched},
    {NULL, NULL},
};
