/* Workers: their runs, what they report, and how they stop. */

#include "fork.h"
#include "tasks.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker whose runs work on this many jobs at a time, and hold as many more. */
static millpond_tasks_worker *worker_for(millpond_tasks_store *store, uint32_t concurrency,
                                         uint32_t prefetch) {
    millpond_tasks_worker_options options;
    millpond_tasks_worker_options_init(&options, sizeof options);
    CHECK(options.concurrency == 1 && options.prefetch == 0);
    options.concurrency = concurrency;
    options.prefetch = prefetch;
    return worker_of(store, &options);
}

/* What the handler is called with: what to say of the next tasks, by their values. */
struct handling {
    int called, reports[10];
    millpond_tasks_store *store;
    millpond_tasks_modification modification;
    millpond_task_id task;
    millpond_new_task next;
};

static void handle(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    struct handling *handling = context;
    const millpond_task *task = millpond_tasks_job_data(job)->tasks;
    CHECK(outcome->end == MILLPOND_TASK_DONE && outcome->delay_ms == MILLPOND_NOT_SET);
    handling->called++;
    handling->task = (millpond_task_id){task->id, task->version};
    handling->modification = (millpond_tasks_modification){.size = sizeof handling->modification};
    /* Each priority has one task, so their order is known. */
    switch (task->priority) {
    case 9: /* Done. */
        break;
    case 8:
        millpond_new_task_init(&handling->next, sizeof handling->next);
        handling->next.queue = (millpond_bytes)B("out");
        handling->modification.deletes = &handling->task;
        handling->modification.delete_count = 1;
        handling->modification.inserts = &handling->next;
        handling->modification.insert_count = 1;
        outcome->end = MILLPOND_TASK_FINISH;
        outcome->modification = &handling->modification;
        break;
    case 7:
        outcome->end = MILLPOND_TASK_RETRY;
        outcome->err = (millpond_bytes)B("no");
        outcome->delay_ms = 60000;
        break;
    case 6:
        outcome->end = MILLPOND_TASK_MOVE;
        outcome->queue = (millpond_bytes)B("other");
        outcome->err = (millpond_bytes)B("not mine");
        break;
    case 5: /* Done by itself; to say so once more does no harm. */
        CHECK(millpond_tasks_job_done(job, NULL) == MILLPOND_OK);
        break;
    case 4: /* Freed by itself, which does no harm either. */
        millpond_tasks_job_free(job);
        CHECK(millpond_tasks_job_data(job) == NULL);
        break;
    case 3: /* Given back, once. */
        outcome->end = task->claims == 1 ? MILLPOND_TASK_RELEASE : MILLPOND_TASK_DONE;
        outcome->delay_ms = task->claims == 1 ? 0 : MILLPOND_NOT_SET;
        break;
    case 2:
        outcome->end = MILLPOND_TASK_REJECT;
        outcome->err = (millpond_bytes)B("never");
        break;
    case 1: /* A modification that is refused. */
        handling->task = (millpond_task_id){B("none"), 7};
        handling->modification.depends = &handling->task;
        handling->modification.depend_count = 1;
        outcome->end = MILLPOND_TASK_FINISH;
        outcome->modification = &handling->modification;
        break;
    default: /* No end at all. */
        outcome->end = 77;
    }
}

static void count_report(const millpond_tasks_report *report, void *context) {
    struct handling *handling = context;
    const millpond_report_data *data = millpond_tasks_report_data(report);
    bool is_dead = data->kind == MILLPOND_REPORT_DEAD;
    bool has_error = data->kind == MILLPOND_REPORT_REFUSED || is_dead;
    const millpond_tasks_data *tasks = millpond_tasks_report_job_data(report);
    CHECK(tasks->task_count == 1 && data->message.length > tasks->tasks->id.length);
    CHECK((data->error != NULL) == has_error);
    CHECK(data->is_trouble == has_error);
    if (has_error)
        CHECK(millpond_error_code(data->error) == (is_dead ? MILLPOND_DEAD_LETTER : MILLPOND_DEPENDENCY));
    handling->reports[data->kind]++;
}

static void a_handler_decides_how_jobs_end(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    struct handling handling = {.store = store_of(client, "handled", NULL)};
    millpond_tasks_worker *worker = worker_of(handling.store, NULL);
    millpond_new_task tasks[10];
    millpond_tasks_modification inserts = {.size = sizeof inserts, .inserts = tasks,
                                           .insert_count = 10};
    millpond_job_counts drained;
    millpond_tasks_result *result;
    millpond_error *error;

    OK(millpond_tasks_worker_drain(worker, handle, count_report, &handling, &drained, &error));
    CHECK(handling.called == 0 && drained.done == 0);
    for (uint64_t i = 0; i < 10; i++) {
        millpond_new_task_init(&tasks[i], sizeof tasks[i]);
        tasks[i].queue = (millpond_bytes)B("q");
        tasks[i].priority = i;
    }
    OK(millpond_tasks_modify(handling.store, &inserts, NULL, &error));
    OK(millpond_tasks_worker_drain(worker, handle, count_report, &handling, &drained, &error));
    /* What was given back came again. */
    CHECK(handling.called == 11);
    CHECK(drained.done == 4 && drained.retried == 3 && drained.dead == 1 && drained.others == 2);
    CHECK(handling.reports[MILLPOND_REPORT_DONE] == 4 && handling.reports[MILLPOND_REPORT_MOVED] == 1);
    CHECK(handling.reports[MILLPOND_REPORT_RELEASED] == 1);
    CHECK(handling.reports[MILLPOND_REPORT_RETRIED] == 2);
    CHECK(handling.reports[MILLPOND_REPORT_REFUSED] == 1);
    CHECK(handling.reports[MILLPOND_REPORT_DEAD] == 1);
    CHECK(size_of(handling.store, "q") == 3 && size_of(handling.store, "out") == 1);
    OK(millpond_tasks_list(handling.store, S("other"), NULL, &result, &error));
    CHECK(task_of(result)->attempt == 1 && is(task_of(result)->err, "not mine"));
    millpond_tasks_result_free(result);
    OK(millpond_tasks_list(handling.store, S("q/err"), NULL, &result, &error));
    CHECK(is(task_of(result)->err, "rejected: never"));
    millpond_tasks_result_free(result);
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(handling.store);
    millpond_client_free(client);
}

static void fail(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    (void)job, (void)context;
    outcome->end = MILLPOND_TASK_FAIL;
    outcome->err = (millpond_bytes)B("no such image");
}

/* What nobody asks for goes to standard error. */
static void failures_are_logged(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "logged", NULL);
    millpond_tasks_worker *worker = worker_of(store, NULL);
    millpond_error *error;
    char line[256];
    FILE *log = tmpfile();
    int own = dup(STDERR_FILENO);

    insert(store, "q", "1");
    CHECK(log != NULL && own >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
    millpond_status status = millpond_tasks_worker_drain(worker, fail, NULL, NULL, NULL, &error);
    CHECK(dup2(own, STDERR_FILENO) >= 0 && status == MILLPOND_OK);
    rewind(log);
    CHECK(fgets(line, sizeof line, log) != NULL && strncmp(line, "millpond: task ", 15) == 0);
    CHECK(strstr(line, "of queue q failed, and is tried again: no such image\n") != NULL);
    CHECK(fgets(line, sizeof line, log) == NULL);
    fclose(log);
    close(own);
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* Threads that work for one worker. */
struct team {
    millpond_tasks_worker *worker;
    millpond_task_handler handler;
    millpond_tasks_store *store;
    pthread_barrier_t meeting;
    atomic_int running, most, done, lost;
};

static void *work(void *argument) {
    struct team *team = argument;
    millpond_error *error;
    OK(millpond_tasks_worker_run(team->worker, team->handler, NULL, team, NULL, &error));
    return NULL;
}

static void meet_two_others(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    struct team *team = context;
    int running = ++team->running;
    millpond_error *error;
    (void)job, (void)outcome;
    if (running > team->most)
        team->most = running;
    pthread_barrier_wait(&team->meeting);
    team->running--;
    if (++team->done == 9)
        OK(millpond_tasks_worker_stop(team->worker, -1, &error));
}

static void threads_share_a_run(const struct backend *backend) {
    enum { THREADS = 5 };
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "team", NULL);
    struct team team = {.worker = worker_for(store, 3, 0), .handler = meet_two_others};
    pthread_t threads[THREADS];

    CHECK(pthread_barrier_init(&team.meeting, NULL, 3) == 0);
    for (int i = 0; i < 9; i++)
        insert(store, "q", "1");
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, &team) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(team.done == 9 && team.most == 3 && size_of(store, "q") == 0);
    /* A worker that was stopped stays so. */
    insert(store, "q", "1");
    work(&team);
    CHECK(size_of(store, "q") == 1);
    millpond_tasks_worker_free(team.worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* Meets the test when it begins, and before it ends. */
static void meet_twice(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    struct team *team = context;
    (void)job, (void)outcome;
    pthread_barrier_wait(&team->meeting);
    pthread_barrier_wait(&team->meeting);
}

static void a_stop_waits_for_what_runs(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "stopped", NULL);
    struct team team = {.worker = worker_for(store, 1, 4), .handler = meet_twice};
    millpond_tasks_result *result;
    millpond_error *error;
    pthread_t thread;

    CHECK(pthread_barrier_init(&team.meeting, NULL, 2) == 0);
    for (int i = 0; i < 5; i++)
        insert(store, "q", "1");
    CHECK(pthread_create(&thread, NULL, work, &team) == 0);
    pthread_barrier_wait(&team.meeting);
    OK(millpond_tasks_worker_stop(team.worker, -1, &error));
    /* What nobody has begun is for others. */
    for (int i = 0; i < 4; i++) {
        millpond_bytes queue = B("q");
        OK(millpond_tasks_claim(store, &queue, 1, 0, 1, 10000, &result, &error));
        CHECK(task_of(result)->attempt == 0);
        millpond_tasks_result_free(result);
        if (i == 0)
            CHECK(size_of(store, "q") == 5);
    }
    CHECK(pthread_tryjoin_np(thread, NULL) != 0);
    pthread_barrier_wait(&team.meeting);
    pthread_join(thread, NULL);
    CHECK(size_of(store, "q") == 4);
    millpond_tasks_worker_free(team.worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* Works until its job is lost, and then says that it is done. */
static void work_until_lost(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    struct team *team = context;
    millpond_error *error;
    bool lost;
    (void)outcome;
    pthread_barrier_wait(&team->meeting);
    while (OK(millpond_tasks_job_is_lost(job, &lost, &error)), !lost)
        sleep_ms(2);
    team->lost++;
    /* Somebody else has it by now. */
    millpond_tasks_result *result = NULL;
    while (result == NULL)
        result = claim(team->store, "q");
    millpond_tasks_result_free(result);
}

static void a_deadline_gives_back_what_runs(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "deadline", NULL);
    struct team team = {
        .worker = worker_for(store, 1, 0), .handler = work_until_lost, .store = store};
    millpond_error *error;
    pthread_t thread;

    CHECK(pthread_barrier_init(&team.meeting, NULL, 2) == 0);
    insert(store, "q", "1");
    CHECK(pthread_create(&thread, NULL, work, &team) == 0);
    pthread_barrier_wait(&team.meeting);
    OK(millpond_tasks_worker_stop(team.worker, 20, &error));
    pthread_join(thread, NULL);
    CHECK(team.lost == 1 && size_of(store, "q") == 1);
    millpond_tasks_worker_free(team.worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

/* What comes next, which is a job. */
static millpond_tasks_job *next_job(millpond_tasks_run *run) {
    millpond_tasks_job *job;
    millpond_tasks_report *report;
    millpond_error *error;
    OK(millpond_tasks_run_next(run, &job, &report, &error));
    CHECK(job != NULL && report == NULL);
    return job;
}

/* What comes next is a report of this kind; frees it. */
static void check_report(millpond_tasks_run *run, uint32_t kind, millpond_status why) {
    millpond_tasks_job *job;
    millpond_tasks_report *report;
    millpond_error *error;
    OK(millpond_tasks_run_next(run, &job, &report, &error));
    CHECK(job == NULL && report != NULL);
    const millpond_report_data *data = millpond_tasks_report_data(report);
    CHECK(data->kind == kind && millpond_error_code(data->error) == why);
    millpond_tasks_report_free(report);
    CHECK(millpond_tasks_report_data(report) == NULL);
    CHECK(millpond_tasks_report_job_data(report) == NULL);
}

static void a_loop_of_ones_own(const struct backend *backend) {
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "by hand", NULL);
    millpond_tasks_worker_options options;
    millpond_tasks_run *run, *other;
    millpond_tasks_job *job;
    millpond_tasks_report *report;
    millpond_error *error;
    int64_t left_ms;

    millpond_tasks_worker_options_init(&options, sizeof options);
    options.timeout_ms = 3600000;
    millpond_tasks_worker *worker = worker_of(store, &options);
    OK(millpond_tasks_worker_start(worker, false, true, &run, &error));
    OK(millpond_tasks_worker_start(worker, false, true, &other, &error));
    insert(store, "q", "1");
    job = next_job(run);
    OK(millpond_tasks_job_time_left_ms(job, &left_ms, &error));
    CHECK(left_ms > 3000000 && left_ms <= 3600000);
    /* A mistake ends nothing. */
    millpond_task_outcome outcome = {.end = 77, .delay_ms = MILLPOND_NOT_SET};
    FAILS(MILLPOND_INVALID_ARGUMENT, "end is 77", millpond_tasks_run_end(run, job, &outcome, &error));
    FAILS(MILLPOND_INVALID_ARGUMENT, "not from this run",
          millpond_tasks_run_end(other, job, NULL, &error));
    outcome.end = MILLPOND_TASK_RELEASE;
    outcome.delay_ms = 0;
    OK(millpond_tasks_run_end(run, job, &outcome, &error));
    millpond_tasks_job_free(job);
    check_report(run, MILLPOND_REPORT_RELEASED, MILLPOND_OK);
    job = next_job(run);
    OK(millpond_tasks_run_end(run, job, NULL, &error));
    OK(millpond_tasks_run_end(run, job, NULL, &error));
    millpond_tasks_job_free(job);
    check_report(run, MILLPOND_REPORT_DONE, MILLPOND_OK);

    /* One that another program deleted is lost. */
    insert(store, "q", "2");
    job = next_job(run);
    const millpond_task *task = millpond_tasks_job_data(job)->tasks;
    char claimant[65];
    snprintf(claimant, sizeof claimant, "%.*s", (int)task->claimant.length, task->claimant.data);
    millpond_tasks_store *same = store_of(client, "by hand", claimant);
    millpond_task_id gone = {task->id, task->version};
    millpond_tasks_modification delete = {.size = sizeof delete, .deletes = &gone,
                                          .delete_count = 1};
    OK(millpond_tasks_modify(same, &delete, NULL, &error));
    millpond_tasks_store_free(same);
    OK(millpond_tasks_run_end(run, job, NULL, &error));
    millpond_tasks_job_free(job);
    check_report(run, MILLPOND_REPORT_LOST, MILLPOND_LEASE_LOST);

    /* An interrupt ends a call, and no run. */
    interrupt_at_the_third_check();
    FAILS(MILLPOND_CANCELLED, "interrupted",
          millpond_tasks_worker_run(worker, fail, NULL, NULL, NULL, &error));
    was_interrupted();
    insert(store, "q", "3");
    job = next_job(run);
    OK(millpond_tasks_worker_stop(worker, 0, &error));
    millpond_tasks_job_free(job);
    check_report(run, MILLPOND_REPORT_RELEASED, MILLPOND_OK);
    OK(millpond_tasks_run_next(run, &job, &report, &error));
    CHECK(job == NULL && report == NULL && size_of(store, "q") == 1);
    millpond_tasks_run_free(run);
    millpond_tasks_run_free(other);
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void kinds_have_names(const struct backend *backend) {
    (void)backend;
    CHECK(strcmp(millpond_report_kind_name(MILLPOND_REPORT_DONE), "done") == 0);
    CHECK(strcmp(millpond_report_kind_name(MILLPOND_REPORT_BACK), "back") == 0);
    CHECK(strcmp(millpond_report_kind_name(0), "unknown") == 0);
    CHECK(strcmp(millpond_report_kind_name(99), "unknown") == 0);
}

/* A program may wait for signals by itself. */
static void *stop_on_signal(void *worker) {
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    CHECK(sigwait(&signals, &signal) == 0);
    CHECK(millpond_tasks_worker_stop(worker, 25000, NULL) == MILLPOND_OK);
    return NULL;
}

/* What has to be there until the handler is called again: each thread has its own. */
struct passing {
    millpond_task_id done;
    millpond_new_task next;
    millpond_tasks_modification modification;
};

/* Takes a moment, and puts the number of the task into another queue. */
static void pass_on(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
    const millpond_task *task = millpond_tasks_job_data(job)->tasks;
    struct passing *passing = context;
    sleep_ms(5);
    passing->done = (millpond_task_id){task->id, task->version};
    millpond_new_task_init(&passing->next, sizeof passing->next);
    passing->next.queue = (millpond_bytes)B("out");
    passing->next.value = task->value;
    passing->modification = (millpond_tasks_modification){.size = sizeof passing->modification,
                                                          .deletes = &passing->done,
                                                          .delete_count = 1,
                                                          .inserts = &passing->next,
                                                          .insert_count = 1};
    outcome->end = MILLPOND_TASK_FINISH;
    outcome->modification = &passing->modification;
}

static void *pass_all_on(void *worker) {
    struct passing passing;
    millpond_error *error;
    OK(millpond_tasks_worker_run(worker, pass_on, NULL, &passing, NULL, &error));
    return NULL;
}

/* A worker process that four threads work in, until a signal comes. */
static void work_until_a_signal(const struct backend *backend) {
    sigset_t signals;
    pthread_t waits, threads[4];
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "signals", NULL);
    millpond_tasks_worker *worker = worker_for(store, 4, 8);
    CHECK(pthread_create(&waits, NULL, stop_on_signal, worker) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, pass_all_on, worker) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pthread_join(waits, NULL);
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

static void a_signal_loses_nothing(const struct backend *backend) {
    enum { TASKS = 300 };
    millpond_client *client = connect_to(backend);
    millpond_tasks_store *store = store_of(client, "signals", NULL);
    millpond_tasks_result *result;
    millpond_error *error;
    bool seen[TASKS] = {false};
    char value[16];
    int status;

    for (int i = 0; i < TASKS; i++) {
        snprintf(value, sizeof value, "%d", i);
        insert(store, "q", value);
    }
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work_until_a_signal(backend);
        child_is_done();
    }
    while (size_of(store, "out") < 30)
        sleep_ms(2);
    CHECK(kill(child, SIGTERM) == 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    uint64_t passed_on = size_of(store, "out");
    CHECK(passed_on < TASKS && passed_on + size_of(store, "q") == TASKS);
    /* What it did not do is for others at once, and was not tried. */
    millpond_tasks_worker *worker = worker_of(store, NULL);
    millpond_job_counts drained;
    struct passing passing;
    OK(millpond_tasks_worker_drain(worker, pass_on, NULL, &passing, &drained, &error));
    CHECK(drained.done == TASKS - passed_on && drained.retried + drained.dead + drained.others == 0);
    OK(millpond_tasks_list(store, S("out"), NULL, &result, &error));
    CHECK(millpond_tasks_result_data(result)->task_count == TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        millpond_bytes text = millpond_tasks_result_task(result, i)->value;
        snprintf(value, sizeof value, "%.*s", (int)text.length, text.data);
        int number = atoi(value);
        CHECK(!seen[number]);
        seen[number] = true;
    }
    millpond_tasks_result_free(result);
    millpond_tasks_worker_free(worker);
    millpond_tasks_store_free(store);
    millpond_client_free(client);
}

const struct test worker_tests[] = {
    {"a_handler_says_what_becomes_of_jobs", a_handler_decides_how_jobs_end},
    {"failures_are_logged", failures_are_logged},
    {"threads_share_a_run", threads_share_a_run},
    {"a_stop_waits_for_what_runs", a_stop_waits_for_what_runs},
    {"a_deadline_gives_back_what_runs", a_deadline_gives_back_what_runs},
    {"a_loop_of_ones_own", a_loop_of_ones_own},
    {"kinds_of_reports_have_names", kinds_have_names},
    {NULL, NULL},
};

const struct test redis_worker_tests[] = {
    {"a_signal_loses_nothing", a_signal_loses_nothing},
    {NULL, NULL},
};
