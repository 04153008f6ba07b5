/* Generated from millpond-ffi by `make bindings`; do not edit. */

typedef enum {
    MILLPOND_OK = 0,
    MILLPOND_INVALID_ARGUMENT = 1,
    MILLPOND_INVALID_URL = 2,
    MILLPOND_CROSS_SLOT = 3,
    MILLPOND_WRONG_TYPE = 4,
    MILLPOND_INCOMPATIBLE_VERSION = 5,
    MILLPOND_CONNECTION_FAILED = 6,
    MILLPOND_CONNECTION_LOST = 7,
    MILLPOND_TIMEOUT = 8,
    MILLPOND_AUTHENTICATION_FAILED = 9,
    MILLPOND_PERMISSION_DENIED = 10,
    MILLPOND_UNAVAILABLE = 11,
    MILLPOND_OUT_OF_MEMORY = 12,
    MILLPOND_SERVER = 13,
    MILLPOND_LEASE_LOST = 14,
    MILLPOND_LOCKED = 15,
    MILLPOND_CORRUPT = 16,
    MILLPOND_STORAGE = 17,
    MILLPOND_FORKED = 18,
    MILLPOND_CLOSED = 19,
    MILLPOND_CANCELLED = 20,
    MILLPOND_INTERNAL = 21,
    MILLPOND_DEPENDENCY = 22,
    MILLPOND_QUEUE_FULL = 23,
    MILLPOND_ALREADY_EXISTS = 24,
    MILLPOND_DEAD_LETTER = 25,
} millpond_status;

typedef enum {
    MILLPOND_RETRY_NEVER = 0,
    MILLPOND_RETRY_LATER = 1,
    MILLPOND_RETRY_UNKNOWN = 2,
} millpond_retry;

typedef enum {
    MILLPOND_ABI_VERSION = 1,
} millpond_abi;

typedef enum {
    MILLPOND_ICK_PRODUCER = 1,
    MILLPOND_ICK_CONSUMER = 2,
} millpond_ick_set;

typedef enum {
    MILLPOND_SHUFFLE_TRACK_GLOBAL = 1,
    MILLPOND_SHUFFLE_TRACK_QUEUE = 2,
} millpond_shuffle_track_keys;

typedef enum {
    MILLPOND_TASK_DONE = 0,
    MILLPOND_TASK_FINISH = 1,
    MILLPOND_TASK_RETRY = 2,
    MILLPOND_TASK_MOVE = 3,
    MILLPOND_TASK_RELEASE = 4,
    MILLPOND_TASK_FAIL = 5,
    MILLPOND_TASK_REJECT = 6,
} millpond_task_end;

typedef enum {
    MILLPOND_REPORT_DONE = 1,
    MILLPOND_REPORT_RETRIED = 2,
    MILLPOND_REPORT_RELEASED = 3,
    MILLPOND_REPORT_MOVED = 4,
    MILLPOND_REPORT_DEAD = 5,
    MILLPOND_REPORT_CANCELLED = 6,
    MILLPOND_REPORT_REFUSED = 7,
    MILLPOND_REPORT_LOST = 8,
    MILLPOND_REPORT_AWAY = 9,
    MILLPOND_REPORT_BACK = 10,
} millpond_report_kind;

typedef enum {
    MILLPOND_EVENT_SCHEDULED = 1,
    MILLPOND_EVENT_BEHIND = 2,
    MILLPOND_EVENT_READY = 3,
    MILLPOND_EVENT_LEASED = 4,
    MILLPOND_EVENT_RETRY = 5,
    MILLPOND_EVENT_DEAD = 6,
    MILLPOND_EVENT_DONE = 7,
} millpond_events_state;

typedef enum {
    MILLPOND_EVENT_REJECTED = 1,
    MILLPOND_EVENT_EXHAUSTED = 2,
    MILLPOND_EVENT_CRASHED = 3,
} millpond_events_dead_reason;

typedef enum {
    MILLPOND_IF_EXISTS_ERROR = 1,
    MILLPOND_IF_EXISTS_IGNORE = 2,
    MILLPOND_IF_EXISTS_REPLACE = 3,
} millpond_events_if_exists;

typedef enum {
    MILLPOND_EVENT_CREATED = 1,
    MILLPOND_EVENT_DUPLICATE = 2,
    MILLPOND_EVENT_REPLACED = 3,
} millpond_events_status;

typedef enum {
    MILLPOND_EVENT_END_LOST = 1,
    MILLPOND_EVENT_END_ENDED = 2,
    MILLPOND_EVENT_END_GONE = 3,
    MILLPOND_EVENT_END_DIED = 4,
    MILLPOND_EVENT_END_CANCELLED = 5,
} millpond_events_settled;

typedef enum {
    MILLPOND_EVENT_LEASE_LOST = 1,
    MILLPOND_EVENT_LEASE_HELD = 2,
    MILLPOND_EVENT_LEASE_CANCELLED = 3,
} millpond_events_held;

typedef enum {
    MILLPOND_EVENT_CANCEL_GONE = 1,
    MILLPOND_EVENT_CANCEL_REMOVED = 2,
    MILLPOND_EVENT_CANCEL_RUNNING = 3,
} millpond_events_cancelled;

typedef enum {
    MILLPOND_EVENT_RESCHEDULE_GONE = 1,
    MILLPOND_EVENT_RESCHEDULE_RESCHEDULED = 2,
    MILLPOND_EVENT_RESCHEDULE_TOO_LATE = 3,
} millpond_events_rescheduled;

typedef enum {
    MILLPOND_EVENT_REDRIVE_GONE = 1,
    MILLPOND_EVENT_REDRIVE_REDRIVEN = 2,
    MILLPOND_EVENT_REDRIVE_NOT_DEAD = 3,
} millpond_events_redriven;

typedef enum {
    MILLPOND_MISSED_LATEST = 1,
    MILLPOND_MISSED_EXPIRE = 2,
} millpond_events_missed;

typedef enum {
    MILLPOND_OVERLAP_WAIT = 1,
    MILLPOND_OVERLAP_ALLOW = 2,
} millpond_events_overlap;

typedef enum {
    MILLPOND_SCHEDULE_CREATED = 1,
    MILLPOND_SCHEDULE_UNCHANGED = 2,
    MILLPOND_SCHEDULE_UPDATED = 3,
    MILLPOND_SCHEDULE_IGNORED = 4,
} millpond_events_put_status;

typedef enum {
    MILLPOND_WHY_WORKED = 1,
    MILLPOND_WHY_NOTHING = 2,
    MILLPOND_WHY_ABORTED = 3,
    MILLPOND_WHY_FAILED = 4,
    MILLPOND_WHY_NOT_DRAWN = 5,
    MILLPOND_WHY_NOT_DUE = 6,
    MILLPOND_WHY_DENIED = 7,
    MILLPOND_WHY_BUSY = 8,
    MILLPOND_WHY_IN_SLICE = 9,
    MILLPOND_WHY_OVER_DUTY = 10,
    MILLPOND_WHY_NO_JOBS = 11,
    MILLPOND_WHY_UNAVAILABLE = 12,
    MILLPOND_WHY_STOPPED = 13,
} millpond_recruiter_why;

typedef struct millpond_client millpond_client;

typedef struct millpond_clock millpond_clock;

typedef struct millpond_error millpond_error;

typedef struct millpond_events_deliveries millpond_events_deliveries;

typedef struct millpond_events_job millpond_events_job;

typedef struct millpond_events_queue millpond_events_queue;

typedef struct millpond_events_report millpond_events_report;

typedef struct millpond_events_result millpond_events_result;

typedef struct millpond_events_run millpond_events_run;

typedef struct millpond_events_worker millpond_events_worker;

typedef struct millpond_ick_batches millpond_ick_batches;

typedef struct millpond_ick_channel millpond_ick_channel;

typedef struct millpond_ick_entries millpond_ick_entries;

typedef struct millpond_ick_lease millpond_ick_lease;

typedef struct millpond_keys millpond_keys;

typedef struct millpond_recovery millpond_recovery;

typedef struct millpond_recruiter millpond_recruiter;

typedef struct millpond_recruiter_result millpond_recruiter_result;

typedef struct millpond_recruiter_slice millpond_recruiter_slice;

typedef struct millpond_recruiter_slices millpond_recruiter_slices;

typedef struct millpond_shuffle_batch millpond_shuffle_batch;

typedef struct millpond_shuffle_consumer millpond_shuffle_consumer;

typedef struct millpond_shuffle_dead_letters millpond_shuffle_dead_letters;

typedef struct millpond_shuffle_garbage millpond_shuffle_garbage;

typedef struct millpond_shuffle_job millpond_shuffle_job;

typedef struct millpond_shuffle_messages millpond_shuffle_messages;

typedef struct millpond_shuffle_queue millpond_shuffle_queue;

typedef struct millpond_shuffle_report millpond_shuffle_report;

typedef struct millpond_shuffle_run millpond_shuffle_run;

typedef struct millpond_shuffle_stats millpond_shuffle_stats;

typedef struct millpond_shuffle_worker millpond_shuffle_worker;

typedef struct millpond_tasks_claims millpond_tasks_claims;

typedef struct millpond_tasks_job millpond_tasks_job;

typedef struct millpond_tasks_jobs millpond_tasks_jobs;

typedef struct millpond_tasks_report millpond_tasks_report;

typedef struct millpond_tasks_result millpond_tasks_result;

typedef struct millpond_tasks_run millpond_tasks_run;

typedef struct millpond_tasks_store millpond_tasks_store;

typedef struct millpond_tasks_worker millpond_tasks_worker;

typedef struct millpond_tracker millpond_tracker;

typedef struct millpond_tracker_result millpond_tracker_result;

typedef struct millpond_volatile_hash millpond_volatile_hash;

typedef struct millpond_volatile_hashes millpond_volatile_hashes;

typedef struct millpond_volatile_lock millpond_volatile_lock;

typedef struct millpond_volatile_result millpond_volatile_result;

typedef struct {
    size_t items;
    size_t bytes;
    size_t step_members;
    size_t icks;
    size_t fields;
    size_t queues;
    size_t ids;
    size_t names;
    size_t entries;
    size_t schedules;
} millpond_limits;

typedef struct {
    millpond_status code;
    const char *name;
    millpond_retry retry;
} millpond_error_kind;

typedef struct {
    char *data;
    size_t length;
} millpond_bytes;

typedef struct {
    size_t size;
    millpond_bytes url;
    millpond_bytes username;
    millpond_bytes password;
    millpond_bytes client_name;
    int64_t timeout_ms;
    int64_t connect_timeout_ms;
    int64_t retries;
    bool quiet;
    const millpond_clock *clock;
} millpond_options;

typedef struct {
    size_t size;
    bool exists;
    uint64_t pset_size;
    uint64_t cset_size;
    uint64_t total_size;
    double pset_min;
    double pset_max;
    double cset_min;
    double cset_max;
    double total_min;
    double total_max;
} millpond_ick_stats;

typedef struct {
    char *member;
    size_t member_length;
    double score;
    bool score_is_now;
} millpond_ick_pair;

typedef struct {
    uint64_t new_members;
    uint64_t lowered_members;
} millpond_ick_added;

typedef struct {
    size_t size;
    int64_t streams;
    int64_t streams_per_shard;
    int64_t ttl_ms;
    int64_t dead_ttl_ms;
    int64_t track_keys;
} millpond_shuffle_options;

typedef struct {
    size_t size;
    int64_t prefer_stream;
    bool default_stream;
    uint64_t max_deliveries;
} millpond_shuffle_consumer_options;

typedef struct {
    int64_t stream;
    uint64_t id_time_ms;
    uint64_t id_sequence;
} millpond_shuffle_receipt;

typedef struct {
    char *field;
    size_t field_length;
    char *value;
    size_t value_length;
} millpond_shuffle_field;

typedef struct {
    size_t size;
    char *shard_key;
    size_t shard_key_length;
    const millpond_shuffle_field *fields;
    size_t field_count;
} millpond_shuffle_new_message;

typedef struct {
    uint64_t time_ms;
    uint64_t sequence;
} millpond_shuffle_id;

typedef struct {
    millpond_shuffle_receipt receipt;
    uint64_t deliveries;
    const millpond_shuffle_field *fields;
    size_t field_count;
} millpond_shuffle_message;

typedef struct {
    size_t size;
    int64_t lease_ms;
    int64_t backoff_ms;
    int64_t backoff_max_ms;
    int64_t keep_consumers_ms;
    int64_t timeout_ms;
    uint32_t concurrency;
    uint32_t prefetch;
    bool delete_done;
    int64_t budget_ms;
} millpond_shuffle_worker_options;

typedef struct {
    size_t size;
    millpond_bytes queue;
    millpond_bytes id;
    millpond_bytes value;
    int64_t at_ms;
    int64_t delay_ms;
    uint64_t attempt;
    millpond_bytes err;
    uint64_t priority;
    int64_t ttl_ms;
    int64_t dedup_window_ms;
    bool skip_colliding;
    millpond_bytes headers;
} millpond_new_task;

typedef struct {
    size_t size;
    millpond_bytes id;
    millpond_bytes queue;
    millpond_bytes value;
    millpond_bytes err;
    uint64_t version;
    uint64_t attempt;
    int64_t at_ms;
    int64_t delay_ms;
    bool retry;
    millpond_bytes retry_err;
    millpond_bytes quarantine_queue;
    uint64_t quarantine_attempts;
    millpond_bytes headers;
} millpond_task_change;

typedef struct {
    millpond_bytes id;
    uint64_t version;
} millpond_task_id;

typedef struct {
    size_t size;
    millpond_bytes namespace_name;
    millpond_bytes key;
    millpond_bytes id;
    millpond_bytes secondary_key;
    millpond_bytes content;
    bool skip_colliding;
} millpond_new_doc;

typedef struct {
    millpond_bytes namespace_name;
    millpond_bytes id;
    uint64_t version;
} millpond_doc_id;

typedef struct {
    size_t size;
    millpond_doc_id doc;
    millpond_bytes content;
    int64_t at_ms;
    int64_t delay_ms;
} millpond_doc_change;

typedef struct {
    size_t size;
    const millpond_new_task *inserts;
    size_t insert_count;
    const millpond_task_change *changes;
    size_t change_count;
    const millpond_task_id *deletes;
    size_t delete_count;
    const millpond_task_id *depends;
    size_t depend_count;
    const millpond_new_doc *doc_inserts;
    size_t doc_insert_count;
    const millpond_new_doc *doc_puts;
    size_t doc_put_count;
    const millpond_doc_change *doc_changes;
    size_t doc_change_count;
    const millpond_doc_id *doc_deletes;
    size_t doc_delete_count;
    const millpond_doc_id *doc_depends;
    size_t doc_depend_count;
} millpond_tasks_modification;

typedef struct {
    uint32_t end;
    const millpond_tasks_modification *modification;
    millpond_bytes err;
    millpond_bytes queue;
    int64_t delay_ms;
} millpond_task_outcome;

typedef struct {
    uint64_t done;
    uint64_t retried;
    uint64_t dead;
    uint64_t others;
} millpond_job_counts;

typedef struct {
    millpond_bytes id;
    uint64_t version;
    millpond_bytes queue;
    uint64_t at_ms;
    uint64_t created_ms;
    uint64_t modified_ms;
    millpond_bytes claimant;
    uint64_t claims;
    uint64_t attempt;
    millpond_bytes err;
    millpond_bytes value;
    uint64_t priority;
    int64_t expires_ms;
    millpond_bytes headers;
} millpond_task;

typedef struct {
    millpond_bytes namespace_name;
    millpond_bytes id;
    uint64_t version;
    millpond_bytes key;
    millpond_bytes secondary_key;
    millpond_bytes content;
    uint64_t at_ms;
    millpond_bytes claimant;
    uint64_t created_ms;
    uint64_t modified_ms;
} millpond_doc;

typedef struct {
    uint64_t at_ms;
    millpond_bytes id;
} millpond_task_position;

typedef struct {
    millpond_bytes key;
    millpond_bytes secondary_key;
    millpond_bytes id;
} millpond_doc_position;

typedef struct {
    millpond_bytes queue;
    uint64_t size;
    uint64_t available;
    uint64_t claimed;
    uint64_t future;
    uint64_t max_claims;
    uint64_t paused;
    int64_t oldest_available_ms;
    int64_t first_lease_end_ms;
    uint64_t retrying;
} millpond_task_queue_stats;

typedef struct {
    millpond_bytes namespace_name;
    uint64_t size;
    uint64_t claimed;
} millpond_task_namespace_stats;

typedef struct {
    const millpond_task *tasks;
    size_t task_count;
    size_t task_size;
    size_t inserted_count;
    const millpond_doc *docs;
    size_t doc_count;
    size_t doc_size;
    size_t inserted_doc_count;
    const millpond_task_position *next;
    const millpond_doc_position *next_doc;
    const millpond_task_queue_stats *queues;
    size_t queue_count;
    size_t queue_size;
    const millpond_task_namespace_stats *namespaces;
    size_t namespace_count;
    size_t namespace_size;
    char *text;
    size_t text_length;
    uint64_t swept_count;
} millpond_tasks_data;

typedef struct {
    millpond_bytes id;
    millpond_bytes key;
    millpond_bytes payload;
    millpond_bytes headers;
    uint64_t fire_at_us;
    uint64_t published_at_us;
    int64_t expires_at_us;
    millpond_bytes dedup_id;
    uint64_t attempts;
    uint64_t crashes;
    uint64_t redriven;
    millpond_bytes err;
    uint64_t reason;
    uint64_t state;
    uint64_t state_at_us;
    millpond_bytes token;
} millpond_event;

typedef struct {
    millpond_bytes id;
    uint64_t status;
    uint64_t fire_at_us;
} millpond_published_event;

typedef struct {
    uint64_t state_at_us;
    millpond_bytes id;
} millpond_event_position;

typedef struct {
    uint64_t events;
    uint64_t scheduled;
    uint64_t ready;
    uint64_t leased;
    uint64_t retry;
    uint64_t dead;
    uint64_t behind;
    uint64_t dedup_ids;
    int64_t ready_since_us;
    uint64_t now_us;
    uint64_t concurrency;
    uint64_t rate;
    uint64_t rate_left;
    uint64_t done;
    uint64_t schedules;
    uint64_t largest_partition;
} millpond_event_stats;

typedef struct {
    uint64_t partitions;
    uint64_t lease_ms;
    uint64_t max_attempts;
    uint64_t max_crashes;
    uint64_t backoff_min_ms;
    uint64_t backoff_max_ms;
    uint64_t events_max;
    uint64_t dedup_ids_max;
    uint64_t paused;
    uint64_t concurrency;
    uint64_t rate;
    uint64_t burst;
    uint64_t retention_ms;
} millpond_event_config;

typedef struct {
    millpond_bytes id;
    millpond_bytes cron;
    millpond_bytes zone;
    int64_t every_ms;
    millpond_bytes payload;
    uint64_t paused;
    int64_t next_us;
    int64_t passed_us;
    uint64_t missed;
    uint64_t revision;
    millpond_bytes owner;
} millpond_schedule_info;

typedef struct {
    uint64_t ignored;
    uint64_t created;
    uint64_t updated;
    uint64_t unchanged;
    uint64_t removed;
} millpond_schedules_synced;

typedef struct {
    const millpond_event *events;
    size_t event_count;
    size_t event_size;
    const millpond_published_event *published;
    size_t published_count;
    size_t published_size;
    const millpond_event_position *next;
    const millpond_event_stats *stats;
    const millpond_event_config *config;
    const millpond_schedule_info *schedules;
    size_t schedule_count;
    size_t schedule_size;
    const millpond_schedules_synced *synced;
    char *text;
    size_t text_length;
} millpond_events_data;

typedef struct {
    uint32_t kind;
    bool is_trouble;
    millpond_bytes message;
    const millpond_error *error;
    const millpond_tasks_data *task;
    const millpond_shuffle_message *shuffle_message;
    const millpond_events_data *event;
} millpond_report_data;

typedef void (*millpond_shuffle_handler)(millpond_shuffle_job *job,
                                         millpond_task_outcome *outcome,
                                         void *context);

typedef void (*millpond_shuffle_report_handler)(const millpond_shuffle_report *report, void *context);

typedef struct {
    size_t size;
    const millpond_task_position *after;
    int64_t limit;
    millpond_bytes claimant;
    bool omit_values;
} millpond_task_query;

typedef struct {
    size_t size;
    millpond_bytes start;
    millpond_bytes end;
    const millpond_doc_position *after;
    int64_t limit;
    bool omit_contents;
} millpond_doc_query;

typedef struct {
    size_t size;
    const millpond_bytes *exact;
    size_t exact_count;
    const millpond_bytes *prefixes;
    size_t prefix_count;
    int64_t limit;
} millpond_tasks_filter;

typedef struct {
    size_t size;
    const millpond_task_position *after;
    int64_t limit;
    bool available;
    bool claimed;
    bool future;
    millpond_bytes claimant;
    millpond_bytes err;
    bool include_held;
} millpond_task_filter;

typedef struct {
    const millpond_task_id *inserts;
    size_t insert_count;
    const millpond_task_id *changes;
    size_t change_count;
    const millpond_task_id *deletes;
    size_t delete_count;
    const millpond_task_id *depends;
    size_t depend_count;
    const millpond_task_id *claims;
    size_t claim_count;
    const millpond_doc_id *doc_inserts;
    size_t doc_insert_count;
    const millpond_doc_id *doc_changes;
    size_t doc_change_count;
    const millpond_doc_id *doc_deletes;
    size_t doc_delete_count;
    const millpond_doc_id *doc_depends;
    size_t doc_depend_count;
    const millpond_doc_id *doc_claims;
    size_t doc_claim_count;
    bool has_missing;
    bool has_missing_docs;
    bool has_claims;
    bool has_claimed_docs;
    bool has_collisions;
    bool only_claims;
} millpond_tasks_dependency;

typedef struct {
    size_t size;
    int64_t lease_ms;
    int64_t wait_ms;
    int64_t backoff_ms;
    int64_t backoff_max_ms;
    uint32_t max_attempts;
    uint32_t max_crashes;
    millpond_bytes error_queue;
    uint32_t concurrency;
    uint32_t prefetch;
    int64_t timeout_ms;
    int64_t budget_ms;
} millpond_tasks_worker_options;

typedef void (*millpond_task_handler)(millpond_tasks_job *job,
                                      millpond_task_outcome *outcome,
                                      void *context);

typedef void (*millpond_task_report_handler)(const millpond_tasks_report *report, void *context);

typedef struct {
    size_t size;
    millpond_bytes payload;
    millpond_bytes key;
    int64_t at_ms;
    int64_t delay_ms;
    int64_t ttl_ms;
    millpond_bytes dedup_id;
    int64_t dedup_window_ms;
    int64_t if_exists;
    millpond_bytes headers;
} millpond_new_event;

typedef struct {
    size_t size;
    int64_t partitions;
    int64_t lease_ms;
    int64_t max_attempts;
    int64_t max_crashes;
    int64_t backoff_min_ms;
    int64_t backoff_max_ms;
    int64_t events_max;
    int64_t dedup_ids_max;
    int64_t paused;
    int64_t concurrency;
    int64_t rate;
    int64_t burst;
    int64_t retention_ms;
} millpond_event_config_change;

typedef struct {
    size_t size;
    millpond_bytes id;
    millpond_bytes cron;
    millpond_bytes zone;
    int64_t every_ms;
    int64_t anchor_ms;
    millpond_bytes payload;
    millpond_bytes headers;
    int64_t ttl_ms;
    int64_t missed;
    int64_t grace_ms;
    int64_t overlap;
    uint64_t from_ms;
    int64_t until_ms;
    uint64_t revision;
} millpond_schedule;

typedef struct {
    size_t size;
    millpond_bytes key;
    int64_t since_us;
    int64_t before_us;
    const millpond_event_position *after;
    int64_t limit;
} millpond_event_query;

typedef struct {
    size_t size;
    int64_t reason;
    int64_t since_us;
    int64_t before_us;
    int64_t max;
    int64_t per_second;
} millpond_event_redrive_filter;

typedef struct {
    size_t size;
    millpond_bytes key;
    int64_t before_us;
} millpond_event_purge_filter;

typedef struct {
    millpond_bytes id;
    millpond_bytes token;
} millpond_event_receipt;

typedef struct {
    size_t size;
    uint32_t concurrency;
    uint32_t prefetch;
    int64_t lease_ms;
    millpond_bytes key_range;
    int64_t timeout_ms;
    int64_t budget_ms;
} millpond_events_worker_options;

typedef void (*millpond_event_handler)(millpond_events_job *job,
                                       millpond_task_outcome *outcome,
                                       void *context);

typedef void (*millpond_event_report_handler)(const millpond_events_report *report, void *context);

typedef struct {
    uint64_t expires_us;
    millpond_bytes field;
} millpond_field_position;

typedef struct {
    size_t size;
    const millpond_field_position *after;
    int64_t limit;
    bool omit_values;
} millpond_field_query;

typedef struct {
    millpond_bytes field;
    millpond_bytes value;
} millpond_hash_pair;

typedef struct {
    size_t size;
    millpond_bytes id;
    double per_second;
    double share;
    int64_t burst;
    int64_t budget_ms;
    uint64_t max_running;
    int64_t lease_ms;
    int64_t idle_max_ms;
} millpond_new_job;

typedef struct {
    uint64_t recruited;
    millpond_bytes job;
    uint64_t took_us;
    uint64_t why;
} millpond_duty;

typedef struct {
    char *member;
    size_t member_length;
    double score;
} millpond_ick_entry;

typedef struct {
    uint64_t id_time_ms;
    uint64_t id_sequence;
    char *group;
    size_t group_length;
    char *consumer;
    size_t consumer_length;
    const millpond_shuffle_message *message;
    const char *reason;
    size_t reason_length;
} millpond_shuffle_dead_letter;

typedef struct {
    uint64_t len;
    uint64_t pending;
    uint64_t lag;
    int64_t oldest_idle_ms;
} millpond_shuffle_stream_stats;

typedef struct {
    uint64_t records;
    uint64_t torn_bytes;
    uint64_t snapshot_bytes;
    uint64_t log_bytes;
    bool closed;
    const char *suspicion;
    const char *warnings;
} millpond_recovered;

typedef struct {
    millpond_bytes field;
    millpond_bytes value;
    uint64_t expires_us;
} millpond_hash_field;

typedef struct {
    millpond_bytes value;
    int64_t fence;
    int64_t remaining_ms;
} millpond_value_or_lock;

typedef struct {
    int64_t fence;
    int64_t remaining_ms;
} millpond_lock_acquired;

typedef struct {
    millpond_bytes token;
    uint64_t fence;
    uint64_t remaining_ms;
} millpond_lock_holder;

typedef struct {
    uint64_t fields;
    uint64_t expired;
    uint64_t locks;
} millpond_hash_stats;

typedef struct {
    uint64_t fields;
    uint64_t locks;
    uint64_t orphans;
    uint64_t more;
    int64_t next_in_ms;
} millpond_hash_reaped;

typedef struct {
    const millpond_hash_field *fields;
    size_t field_count;
    size_t field_size;
    const millpond_field_position *next;
    const millpond_bytes *values;
    size_t value_count;
    const millpond_value_or_lock *value_or_lock;
    const millpond_lock_acquired *acquired;
    const millpond_lock_holder *holder;
    const millpond_hash_stats *stats;
    const millpond_hash_reaped *reaped;
    char *text;
    size_t text_length;
} millpond_volatile_data;

typedef struct {
    uint64_t enlisted;
    uint64_t not_drawn;
    uint64_t not_due;
    uint64_t denied;
    uint64_t busy;
    uint64_t in_slice;
    uint64_t over_duty;
    uint64_t no_jobs;
    uint64_t unavailable;
} millpond_enlistment_stats;

typedef struct {
    millpond_bytes job;
    uint64_t backoff;
    uint64_t last_granted_us;
    uint64_t granted;
    uint64_t worked;
    uint64_t nothing;
    uint64_t aborted;
    uint64_t failed;
    uint64_t overran;
    uint64_t items;
    uint64_t busy_us;
    uint64_t lost;
    uint64_t late;
} millpond_recruiter_job_stats;

typedef struct {
    const millpond_enlistment_stats *stats;
    const millpond_recruiter_job_stats *jobs;
    size_t job_count;
    size_t job_size;
    char *text;
    size_t text_length;
} millpond_recruiter_data;

typedef struct {
    millpond_bytes id;
    uint64_t stamp;
} millpond_tracked;

typedef struct {
    uint64_t ids;
    uint64_t rounds;
    int64_t oldest;
    millpond_bytes row;
} millpond_tracking_stats;

typedef struct {
    uint64_t rows;
    uint64_t added;
    uint64_t more;
} millpond_tracker_scanned;

typedef struct {
    uint64_t checked;
    uint64_t removed;
} millpond_tracker_pruned;

typedef struct {
    const millpond_tracked *entries;
    size_t entry_count;
    size_t entry_size;
    const millpond_bytes *ids;
    size_t id_count;
    uint64_t stamp;
    const millpond_tracking_stats *stats;
    const millpond_tracker_scanned *scanned;
    const millpond_tracker_pruned *pruned;
    char *text;
    size_t text_length;
} millpond_tracker_data;

typedef struct {
    const char *name;
    const char *source;
    size_t source_length;
    const char *sha1;
} millpond_script;

uint32_t millpond_abi_version(void);

const char *millpond_version(void);

const millpond_limits *millpond_limits_data(void);

millpond_status millpond_error_code(const millpond_error *error);

const char *millpond_error_message(const millpond_error *error);

const char *millpond_error_operation(const millpond_error *error);

const char *millpond_error_cause(const millpond_error *error);

millpond_retry millpond_error_retry(const millpond_error *error);

void millpond_error_free(millpond_error *error);

size_t millpond_error_kind_count(void);

const millpond_error_kind *millpond_error_kind_at(size_t index);

const char *millpond_status_name(uint32_t status);

void millpond_options_init(millpond_options *options, size_t size);

millpond_status millpond_connect(const char *url,
                                 size_t url_length,
                                 millpond_client **client,
                                 millpond_error **error);

millpond_status millpond_connect_with(const millpond_options *options,
                                      millpond_client **client,
                                      millpond_error **error);

millpond_status millpond_close(millpond_client *client, millpond_error **error);

void millpond_client_free(millpond_client *client);

millpond_status millpond_clock_new(int64_t now_ms, millpond_clock **clock, millpond_error **error);

millpond_status millpond_clock_advance(millpond_clock *clock,
                                       uint64_t time_ms,
                                       millpond_error **error);

millpond_status millpond_clock_now(const millpond_clock *clock,
                                   uint64_t *now_ms,
                                   millpond_error **error);

void millpond_clock_free(millpond_clock *clock);

millpond_status millpond_recovery_read(millpond_client *client,
                                       millpond_recovery **recovery,
                                       millpond_error **error);

const char *millpond_report_kind_name(uint32_t kind);

void millpond_ick_stats_init(millpond_ick_stats *stats, size_t size);

millpond_status millpond_ick_stats_read(millpond_client *client,
                                        const char *name,
                                        size_t name_length,
                                        millpond_ick_stats *stats,
                                        millpond_error **error);

const char *millpond_ick_version(void);

millpond_status millpond_ick_add(millpond_client *client,
                                 const char *name,
                                 size_t name_length,
                                 const millpond_ick_pair *pairs,
                                 size_t pair_count,
                                 millpond_ick_added *added,
                                 millpond_error **error);

millpond_status millpond_ick_reserve(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     uint64_t max,
                                     bool backwash,
                                     millpond_ick_entries **entries,
                                     millpond_error **error);

millpond_status millpond_ick_commit(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    const millpond_bytes *members,
                                    size_t member_count,
                                    uint64_t *number,
                                    millpond_error **error);

millpond_status millpond_ick_exchange(millpond_client *client,
                                      const char *name,
                                      size_t name_length,
                                      uint64_t max,
                                      const millpond_bytes *members,
                                      size_t member_count,
                                      bool backwash,
                                      millpond_ick_entries **entries,
                                      millpond_error **error);

millpond_status millpond_ick_peek(millpond_client *client,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t set,
                                  uint64_t max,
                                  millpond_ick_entries **entries,
                                  millpond_error **error);

millpond_status millpond_ick_delete(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    bool unlink,
                                    uint64_t *number,
                                    millpond_error **error);

millpond_status millpond_ick_lease_acquire(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           uint64_t ttl_ms,
                                           millpond_ick_lease **lease,
                                           millpond_error **error);

millpond_status millpond_ick_lease_batches_new(millpond_ick_lease *lease,
                                               uint64_t max,
                                               int64_t wait_ms,
                                               millpond_ick_batches **batches,
                                               millpond_error **error);

millpond_status millpond_ick_batches_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         uint64_t max,
                                         int64_t wait_ms,
                                         millpond_ick_batches **batches,
                                         millpond_error **error);

millpond_status millpond_ick_channel_batches_new(millpond_ick_channel *channel,
                                                 const uint32_t *numbers,
                                                 size_t number_count,
                                                 uint64_t max,
                                                 int64_t wait_ms,
                                                 millpond_ick_batches **batches,
                                                 millpond_error **error);

millpond_status millpond_ick_batches_commit(millpond_ick_batches *batches,
                                            uint64_t *number,
                                            millpond_error **error);

millpond_status millpond_ick_batches_next(millpond_ick_batches *batches,
                                          millpond_ick_entries **entries,
                                          millpond_error **error);

void millpond_ick_batches_free(millpond_ick_batches *batches);

millpond_status millpond_ick_lease_is_lost(const millpond_ick_lease *lease,
                                           bool *lost,
                                           millpond_error **error);

millpond_status millpond_ick_lease_reserve(millpond_ick_lease *lease,
                                           uint64_t max,
                                           millpond_ick_entries **entries,
                                           millpond_error **error);

millpond_status millpond_ick_lease_commit(millpond_ick_lease *lease,
                                          const millpond_bytes *members,
                                          size_t member_count,
                                          uint64_t *number,
                                          millpond_error **error);

millpond_status millpond_ick_lease_exchange(millpond_ick_lease *lease,
                                            uint64_t max,
                                            const millpond_bytes *members,
                                            size_t member_count,
                                            millpond_ick_entries **entries,
                                            millpond_error **error);

millpond_status millpond_ick_lease_release(millpond_ick_lease *lease,
                                           bool *found,
                                           millpond_error **error);

void millpond_ick_lease_free(millpond_ick_lease *lease);

millpond_status millpond_ick_channel_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         uint32_t shards,
                                         uint32_t draining,
                                         millpond_ick_channel **channel,
                                         millpond_error **error);

millpond_status millpond_ick_channel_shards(const millpond_ick_channel *channel,
                                            uint32_t *shards,
                                            millpond_error **error);

millpond_status millpond_ick_channel_readable(const millpond_ick_channel *channel,
                                              uint32_t *readable,
                                              millpond_error **error);

millpond_status millpond_ick_channel_ick_name(const millpond_ick_channel *channel,
                                              uint32_t number,
                                              millpond_keys **keys,
                                              millpond_error **error);

millpond_status millpond_ick_channel_ick_of(const millpond_ick_channel *channel,
                                            const char *member,
                                            size_t member_length,
                                            uint32_t *ick,
                                            millpond_error **error);

millpond_status millpond_ick_channel_add(millpond_ick_channel *channel,
                                         const millpond_ick_pair *pairs,
                                         size_t pair_count,
                                         millpond_ick_added *added,
                                         millpond_error **error);

void millpond_ick_channel_free(millpond_ick_channel *channel);

millpond_status millpond_ick_lease_token(const millpond_ick_lease *lease,
                                         millpond_bytes *token,
                                         millpond_error **error);

void millpond_shuffle_options_init(millpond_shuffle_options *options, size_t size);

void millpond_shuffle_consumer_options_init(millpond_shuffle_consumer_options *options,
                                            size_t size);

millpond_status millpond_shuffle_consumer_new(millpond_shuffle_queue *queue,
                                              const char *group,
                                              size_t group_length,
                                              const char *consumer,
                                              size_t consumer_length,
                                              const millpond_shuffle_consumer_options *options,
                                              millpond_shuffle_consumer **made,
                                              millpond_error **error);

millpond_status millpond_shuffle_ack(millpond_shuffle_consumer *consumer,
                                     const millpond_shuffle_receipt *messages,
                                     size_t message_count,
                                     uint64_t *number,
                                     millpond_error **error);

millpond_status millpond_shuffle_ack_and_delete(millpond_shuffle_consumer *consumer,
                                                const millpond_shuffle_receipt *messages,
                                                size_t message_count,
                                                uint64_t *number,
                                                millpond_error **error);

millpond_status millpond_shuffle_ack_each(millpond_shuffle_consumer *consumer,
                                          const millpond_shuffle_receipt *messages,
                                          size_t message_count,
                                          bool *flags,
                                          millpond_error **error);

millpond_status millpond_shuffle_ack_and_delete_each(millpond_shuffle_consumer *consumer,
                                                     const millpond_shuffle_receipt *messages,
                                                     size_t message_count,
                                                     bool *flags,
                                                     millpond_error **error);

millpond_status millpond_shuffle_extend(millpond_shuffle_consumer *consumer,
                                        const millpond_shuffle_receipt *messages,
                                        size_t message_count,
                                        uint64_t *number,
                                        millpond_error **error);

millpond_status millpond_shuffle_release(millpond_shuffle_consumer *consumer,
                                         const millpond_shuffle_receipt *messages,
                                         size_t message_count,
                                         uint64_t min_idle_ms,
                                         uint64_t delay_ms,
                                         uint64_t *number,
                                         millpond_error **error);

millpond_status millpond_shuffle_reject(millpond_shuffle_consumer *consumer,
                                        const millpond_shuffle_receipt *messages,
                                        size_t message_count,
                                        const char *reason,
                                        size_t reason_length,
                                        uint64_t *number,
                                        millpond_error **error);

void millpond_shuffle_consumer_free(millpond_shuffle_consumer *consumer);

millpond_status millpond_shuffle_queue_new(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           const millpond_shuffle_options *options,
                                           millpond_shuffle_queue **queue,
                                           millpond_error **error);

millpond_status millpond_shuffle_write(millpond_shuffle_queue *queue,
                                       const char *shard_key,
                                       size_t shard_key_length,
                                       const millpond_shuffle_field *fields,
                                       size_t field_count,
                                       millpond_shuffle_receipt *receipt,
                                       millpond_error **error);

millpond_status millpond_shuffle_write_many(millpond_shuffle_queue *queue,
                                            const millpond_shuffle_new_message *messages,
                                            size_t message_count,
                                            millpond_shuffle_receipt *receipts,
                                            millpond_error **error);

millpond_status millpond_shuffle_write_tracked(millpond_shuffle_queue *queue,
                                               const char *shard_key,
                                               size_t shard_key_length,
                                               const millpond_shuffle_field *fields,
                                               size_t field_count,
                                               const char *track_field,
                                               size_t track_field_length,
                                               int64_t deadline_s,
                                               millpond_shuffle_receipt *receipt,
                                               millpond_error **error);

millpond_status millpond_shuffle_write_tracked_many(millpond_shuffle_queue *queue,
                                                    const millpond_shuffle_new_message *messages,
                                                    size_t message_count,
                                                    const char *track_field,
                                                    size_t track_field_length,
                                                    int64_t deadline_s,
                                                    millpond_shuffle_receipt *receipts,
                                                    millpond_error **error);

millpond_status millpond_shuffle_resize(millpond_shuffle_queue *queue,
                                        uint32_t streams,
                                        uint32_t *number,
                                        millpond_error **error);

millpond_status millpond_shuffle_delete_tracked(millpond_shuffle_queue *queue,
                                                const char *value,
                                                size_t value_length,
                                                bool *found,
                                                millpond_shuffle_receipt *receipt,
                                                millpond_error **error);

millpond_status millpond_shuffle_cordon_deadline_exceeded(millpond_shuffle_queue *queue,
                                                          uint64_t within_ms,
                                                          millpond_keys **keys,
                                                          millpond_error **error);

millpond_status millpond_shuffle_len(millpond_shuffle_queue *queue,
                                     uint64_t *len,
                                     millpond_error **error);

millpond_status millpond_shuffle_backlog(millpond_shuffle_queue *queue,
                                         uint64_t *backlog,
                                         millpond_error **error);

millpond_status millpond_shuffle_pending_count(millpond_shuffle_queue *queue,
                                               const char *group,
                                               size_t group_length,
                                               uint64_t *pending,
                                               millpond_error **error);

millpond_status millpond_shuffle_dead_letters_read(millpond_shuffle_queue *queue,
                                                   size_t max,
                                                   millpond_shuffle_dead_letters **dead_letters,
                                                   millpond_error **error);

millpond_status millpond_shuffle_dead_letters_after(millpond_shuffle_queue *queue,
                                                    size_t max,
                                                    const millpond_shuffle_id *after,
                                                    millpond_shuffle_dead_letters **dead_letters,
                                                    millpond_error **error);

millpond_status millpond_shuffle_delete_dead_letters(millpond_shuffle_queue *queue,
                                                     const millpond_shuffle_id *letters,
                                                     size_t letter_count,
                                                     uint64_t *number,
                                                     millpond_error **error);

millpond_status millpond_shuffle_requeue_dead_letters(millpond_shuffle_queue *queue,
                                                      const millpond_shuffle_id *letters,
                                                      size_t letter_count,
                                                      millpond_shuffle_receipt *receipts,
                                                      millpond_error **error);

millpond_status millpond_shuffle_remove_idle_consumers(millpond_shuffle_queue *queue,
                                                       uint64_t min_idle_ms,
                                                       uint64_t *number,
                                                       millpond_error **error);

millpond_status millpond_shuffle_stats_read(millpond_shuffle_queue *queue,
                                            const char *group,
                                            size_t group_length,
                                            millpond_shuffle_stats **stats,
                                            millpond_error **error);

void millpond_shuffle_queue_free(millpond_shuffle_queue *queue);

millpond_status millpond_shuffle_garbage_new(millpond_shuffle_queue *queue,
                                             int64_t time_digits,
                                             millpond_shuffle_garbage **garbage,
                                             millpond_error **error);

millpond_status millpond_shuffle_garbage_next(millpond_shuffle_garbage *garbage,
                                              millpond_keys **keys,
                                              millpond_error **error);

void millpond_shuffle_garbage_free(millpond_shuffle_garbage *garbage);

millpond_status millpond_shuffle_job_is_lost(const millpond_shuffle_job *job,
                                             bool *lost,
                                             millpond_error **error);

millpond_status millpond_shuffle_job_is_last_attempt(const millpond_shuffle_job *job,
                                                     bool *last_attempt,
                                                     millpond_error **error);

millpond_status millpond_shuffle_job_time_left_ms(const millpond_shuffle_job *job,
                                                  int64_t *time_left_ms,
                                                  millpond_error **error);

void millpond_shuffle_job_free(millpond_shuffle_job *job);

millpond_status millpond_shuffle_messages_new(millpond_shuffle_consumer *consumer,
                                              size_t max,
                                              int64_t wait_ms,
                                              millpond_shuffle_messages **messages,
                                              millpond_error **error);

millpond_status millpond_shuffle_messages_next(millpond_shuffle_messages *messages,
                                               millpond_shuffle_batch **batch,
                                               millpond_error **error);

void millpond_shuffle_messages_free(millpond_shuffle_messages *messages);

void millpond_shuffle_new_message_init(millpond_shuffle_new_message *message, size_t size);

millpond_status millpond_shuffle_shard(uint32_t streams,
                                       uint32_t streams_per_shard,
                                       const char *shard_key,
                                       size_t shard_key_length,
                                       uint32_t *numbers,
                                       millpond_error **error);

const millpond_shuffle_field *millpond_shuffle_message_field(const millpond_shuffle_message *message,
                                                             const char *name,
                                                             size_t name_length);

millpond_status millpond_shuffle_read(millpond_shuffle_consumer *consumer,
                                      size_t max,
                                      int64_t wait_ms,
                                      millpond_shuffle_batch **batch,
                                      millpond_error **error);

millpond_status millpond_shuffle_reclaim(millpond_shuffle_consumer *consumer,
                                         uint64_t min_idle_ms,
                                         size_t max,
                                         millpond_shuffle_batch **batch,
                                         uint64_t *dead,
                                         millpond_error **error);

millpond_status millpond_shuffle_garbage_counts(const millpond_shuffle_garbage *garbage,
                                                uint64_t *scanned,
                                                uint64_t *deleted,
                                                millpond_error **error);

const millpond_shuffle_message *millpond_shuffle_job_data(const millpond_shuffle_job *job);

void millpond_shuffle_worker_options_init(millpond_shuffle_worker_options *options, size_t size);

millpond_status millpond_shuffle_worker_new(millpond_shuffle_consumer *consumer,
                                            const millpond_shuffle_worker_options *options,
                                            millpond_shuffle_worker **worker,
                                            millpond_error **error);

void millpond_shuffle_worker_free(millpond_shuffle_worker *worker);

millpond_status millpond_shuffle_worker_start(millpond_shuffle_worker *worker,
                                              bool drains,
                                              bool tells_all,
                                              millpond_shuffle_run **run,
                                              millpond_error **error);

millpond_status millpond_shuffle_worker_stop(millpond_shuffle_worker *worker,
                                             int64_t within_ms,
                                             millpond_error **error);

millpond_status millpond_shuffle_worker_stop_on_signals(millpond_shuffle_worker *worker,
                                                        int64_t within_ms,
                                                        millpond_error **error);

millpond_status millpond_shuffle_run_next(millpond_shuffle_run *run,
                                          millpond_shuffle_job **job,
                                          millpond_shuffle_report **report,
                                          millpond_error **error);

millpond_status millpond_shuffle_run_end(millpond_shuffle_run *run,
                                         millpond_shuffle_job *job,
                                         const millpond_task_outcome *outcome,
                                         millpond_error **error);

millpond_status millpond_shuffle_run_counts(millpond_shuffle_run *run,
                                            millpond_job_counts *counts,
                                            millpond_error **error);

void millpond_shuffle_run_free(millpond_shuffle_run *run);

const millpond_report_data *millpond_shuffle_report_data(const millpond_shuffle_report *report);

void millpond_shuffle_report_free(millpond_shuffle_report *report);

millpond_status millpond_shuffle_worker_run(millpond_shuffle_worker *worker,
                                            millpond_shuffle_handler handler,
                                            millpond_shuffle_report_handler on_report,
                                            void *context,
                                            millpond_job_counts *counts,
                                            millpond_error **error);

millpond_status millpond_shuffle_worker_drain(millpond_shuffle_worker *worker,
                                              millpond_shuffle_handler handler,
                                              millpond_shuffle_report_handler on_report,
                                              void *context,
                                              millpond_job_counts *counts,
                                              millpond_error **error);

void millpond_new_task_init(millpond_new_task *options, size_t size);

void millpond_new_doc_init(millpond_new_doc *options, size_t size);

void millpond_tasks_modification_init(millpond_tasks_modification *options, size_t size);

void millpond_task_query_init(millpond_task_query *options, size_t size);

void millpond_doc_query_init(millpond_doc_query *options, size_t size);

void millpond_tasks_filter_init(millpond_tasks_filter *options, size_t size);

void millpond_task_filter_init(millpond_task_filter *options, size_t size);

void millpond_doc_change_init(millpond_doc_change *change, size_t size, const millpond_doc *doc);

bool millpond_headers_next(millpond_bytes *headers, millpond_bytes *name, millpond_bytes *value);

size_t millpond_headers_add(char *headers,
                            size_t length,
                            size_t size,
                            const char *name,
                            size_t name_length,
                            const char *value,
                            size_t value_length);

void millpond_task_change_init(millpond_task_change *change,
                               size_t size,
                               const millpond_task *task);

millpond_status millpond_tasks_claimant(const millpond_tasks_store *store,
                                        millpond_bytes *claimant,
                                        millpond_error **error);

millpond_status millpond_tasks_store_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         const char *claimant,
                                         size_t claimant_length,
                                         millpond_tasks_store **store,
                                         millpond_error **error);

millpond_status millpond_tasks_modify(millpond_tasks_store *store,
                                      const millpond_tasks_modification *modification,
                                      millpond_tasks_result **result,
                                      millpond_error **error);

millpond_status millpond_tasks_cancel(millpond_tasks_store *store,
                                      const millpond_bytes *ids,
                                      size_t id_count,
                                      bool force,
                                      bool *flags,
                                      millpond_error **error);

millpond_status millpond_tasks_fetch(millpond_tasks_store *store,
                                     const millpond_bytes *ids,
                                     size_t id_count,
                                     millpond_tasks_result **result,
                                     millpond_error **error);

millpond_status millpond_tasks_list(millpond_tasks_store *store,
                                    const char *queue,
                                    size_t queue_length,
                                    const millpond_task_query *query,
                                    millpond_tasks_result **result,
                                    millpond_error **error);

millpond_status millpond_tasks_are_empty(millpond_tasks_store *store,
                                         const millpond_tasks_filter *filter,
                                         bool *empty,
                                         millpond_error **error);

millpond_status millpond_tasks_queue_stats(millpond_tasks_store *store,
                                           const millpond_tasks_filter *filter,
                                           millpond_tasks_result **result,
                                           millpond_error **error);

millpond_status millpond_tasks_pause(millpond_tasks_store *store,
                                     const char *queue,
                                     size_t queue_length,
                                     millpond_error **error);

millpond_status millpond_tasks_resume(millpond_tasks_store *store,
                                      const char *queue,
                                      size_t queue_length,
                                      millpond_error **error);

millpond_status millpond_tasks_purge(millpond_tasks_store *store,
                                     const char *queue,
                                     size_t queue_length,
                                     const millpond_task_filter *filter,
                                     millpond_tasks_result **result,
                                     millpond_error **error);

millpond_status millpond_tasks_move_tasks(millpond_tasks_store *store,
                                          const char *queue,
                                          size_t queue_length,
                                          const char *to,
                                          size_t to_length,
                                          const millpond_task_filter *filter,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

millpond_status millpond_tasks_redrive(millpond_tasks_store *store,
                                       const char *queue,
                                       size_t queue_length,
                                       const char *to,
                                       size_t to_length,
                                       const millpond_task_filter *filter,
                                       millpond_tasks_result **result,
                                       millpond_error **error);

millpond_status millpond_tasks_claim_docs(millpond_tasks_store *store,
                                          const char *namespace_name,
                                          size_t namespace_name_length,
                                          const millpond_bytes *keys,
                                          size_t key_count,
                                          int64_t lease_ms,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

millpond_status millpond_tasks_put_doc(millpond_tasks_store *store,
                                       const millpond_new_doc *doc,
                                       millpond_tasks_result **result,
                                       millpond_error **error);

millpond_status millpond_tasks_fetch_docs(millpond_tasks_store *store,
                                          const char *namespace_name,
                                          size_t namespace_name_length,
                                          const millpond_bytes *ids,
                                          size_t id_count,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

millpond_status millpond_tasks_list_docs(millpond_tasks_store *store,
                                         const char *namespace_name,
                                         size_t namespace_name_length,
                                         const millpond_doc_query *query,
                                         millpond_tasks_result **result,
                                         millpond_error **error);

millpond_status millpond_tasks_namespace_stats(millpond_tasks_store *store,
                                               const millpond_tasks_filter *filter,
                                               millpond_tasks_result **result,
                                               millpond_error **error);

millpond_status millpond_tasks_time(millpond_tasks_store *store,
                                    uint64_t *time,
                                    millpond_error **error);

void millpond_tasks_store_free(millpond_tasks_store *store);

millpond_status millpond_tasks_claims_new(millpond_tasks_store *store,
                                          const millpond_bytes *queues,
                                          size_t queue_count,
                                          int64_t lease_ms,
                                          size_t max,
                                          int64_t wait_ms,
                                          millpond_tasks_claims **claims,
                                          millpond_error **error);

millpond_status millpond_tasks_claims_next(millpond_tasks_claims *claims,
                                           millpond_tasks_result **result,
                                           millpond_error **error);

void millpond_tasks_claims_free(millpond_tasks_claims *claims);

millpond_status millpond_tasks_job_is_lost(const millpond_tasks_job *job,
                                           bool *lost,
                                           millpond_error **error);

millpond_status millpond_tasks_job_is_last_attempt(const millpond_tasks_job *job,
                                                   bool *last_attempt,
                                                   millpond_error **error);

millpond_status millpond_tasks_job_time_left_ms(const millpond_tasks_job *job,
                                                int64_t *time_left_ms,
                                                millpond_error **error);

millpond_status millpond_tasks_job_is_cancelled(const millpond_tasks_job *job,
                                                bool *cancelled,
                                                millpond_error **error);

millpond_status millpond_tasks_job_is_ended(const millpond_tasks_job *job,
                                            bool *ended,
                                            millpond_error **error);

millpond_status millpond_tasks_job_claim_docs(millpond_tasks_job *job,
                                              const char *namespace_name,
                                              size_t namespace_name_length,
                                              const millpond_bytes *keys,
                                              size_t key_count,
                                              int64_t wait_ms,
                                              millpond_tasks_result **result,
                                              millpond_error **error);

millpond_status millpond_tasks_job_finish(millpond_tasks_job *job,
                                          const millpond_tasks_modification *modification,
                                          millpond_tasks_result **result,
                                          millpond_error **error);

millpond_status millpond_tasks_job_done(millpond_tasks_job *job, millpond_error **error);

millpond_status millpond_tasks_job_fail(millpond_tasks_job *job,
                                        const char *err,
                                        size_t err_length,
                                        millpond_error **error);

millpond_status millpond_tasks_job_retry(millpond_tasks_job *job,
                                         const char *err,
                                         size_t err_length,
                                         int64_t delay_ms,
                                         millpond_error **error);

millpond_status millpond_tasks_job_move(millpond_tasks_job *job,
                                        const char *queue,
                                        size_t queue_length,
                                        const char *err,
                                        size_t err_length,
                                        millpond_error **error);

millpond_status millpond_tasks_job_release(millpond_tasks_job *job,
                                           int64_t delay_ms,
                                           millpond_error **error);

void millpond_tasks_job_free(millpond_tasks_job *job);

millpond_status millpond_tasks_jobs_next(millpond_tasks_jobs *jobs,
                                         millpond_tasks_job **job,
                                         millpond_error **error);

void millpond_tasks_jobs_free(millpond_tasks_jobs *jobs);

millpond_status millpond_tasks_insert(millpond_tasks_store *store,
                                      const char *queue,
                                      size_t queue_length,
                                      const char *value,
                                      size_t value_length,
                                      millpond_tasks_result **result,
                                      millpond_error **error);

millpond_status millpond_tasks_claim(millpond_tasks_store *store,
                                     const millpond_bytes *queues,
                                     size_t queue_count,
                                     int64_t lease_ms,
                                     size_t max,
                                     int64_t wait_ms,
                                     millpond_tasks_result **result,
                                     millpond_error **error);

millpond_status millpond_tasks_renew(millpond_tasks_store *store,
                                     const millpond_task_id *tasks,
                                     size_t task_count,
                                     const millpond_doc_id *docs,
                                     size_t doc_count,
                                     int64_t lease_ms,
                                     uint64_t *task_versions,
                                     uint64_t *doc_versions,
                                     bool *cancelled,
                                     uint64_t *at_ms,
                                     millpond_error **error);

millpond_status millpond_tasks_get_doc(millpond_tasks_store *store,
                                       const char *namespace_name,
                                       size_t namespace_name_length,
                                       const char *key,
                                       size_t key_length,
                                       const char *secondary_key,
                                       size_t secondary_key_length,
                                       millpond_tasks_result **result,
                                       millpond_error **error);

millpond_status millpond_client_task_stores(millpond_client *client,
                                            millpond_keys **names,
                                            millpond_error **error);

const millpond_tasks_dependency *millpond_error_dependency(const millpond_error *error);

const millpond_tasks_data *millpond_tasks_job_data(const millpond_tasks_job *job);

millpond_status millpond_tasks_job_version(const millpond_tasks_job *job,
                                           uint64_t *version,
                                           millpond_error **error);

void millpond_tasks_worker_options_init(millpond_tasks_worker_options *options, size_t size);

millpond_status millpond_tasks_worker_new(millpond_tasks_store *store,
                                          const millpond_bytes *queues,
                                          size_t queue_count,
                                          const millpond_tasks_worker_options *options,
                                          millpond_tasks_worker **worker,
                                          millpond_error **error);

millpond_status millpond_tasks_worker_jobs(millpond_tasks_worker *worker,
                                           millpond_tasks_jobs **jobs,
                                           millpond_error **error);

void millpond_tasks_worker_free(millpond_tasks_worker *worker);

millpond_status millpond_tasks_worker_start(millpond_tasks_worker *worker,
                                            bool drains,
                                            bool tells_all,
                                            millpond_tasks_run **run,
                                            millpond_error **error);

millpond_status millpond_tasks_worker_stop(millpond_tasks_worker *worker,
                                           int64_t within_ms,
                                           millpond_error **error);

millpond_status millpond_tasks_worker_stop_on_signals(millpond_tasks_worker *worker,
                                                      int64_t within_ms,
                                                      millpond_error **error);

millpond_status millpond_tasks_run_next(millpond_tasks_run *run,
                                        millpond_tasks_job **job,
                                        millpond_tasks_report **report,
                                        millpond_error **error);

millpond_status millpond_tasks_run_end(millpond_tasks_run *run,
                                       millpond_tasks_job *job,
                                       const millpond_task_outcome *outcome,
                                       millpond_error **error);

millpond_status millpond_tasks_run_counts(millpond_tasks_run *run,
                                          millpond_job_counts *counts,
                                          millpond_error **error);

void millpond_tasks_run_free(millpond_tasks_run *run);

const millpond_report_data *millpond_tasks_report_data(const millpond_tasks_report *report);

void millpond_tasks_report_free(millpond_tasks_report *report);

millpond_status millpond_tasks_worker_run(millpond_tasks_worker *worker,
                                          millpond_task_handler handler,
                                          millpond_task_report_handler on_report,
                                          void *context,
                                          millpond_job_counts *counts,
                                          millpond_error **error);

millpond_status millpond_tasks_worker_drain(millpond_tasks_worker *worker,
                                            millpond_task_handler handler,
                                            millpond_task_report_handler on_report,
                                            void *context,
                                            millpond_job_counts *counts,
                                            millpond_error **error);

void millpond_new_event_init(millpond_new_event *options, size_t size);

void millpond_event_config_change_init(millpond_event_config_change *options, size_t size);

void millpond_schedule_init(millpond_schedule *options, size_t size);

void millpond_event_query_init(millpond_event_query *options, size_t size);

void millpond_event_redrive_filter_init(millpond_event_redrive_filter *options, size_t size);

void millpond_event_purge_filter_init(millpond_event_purge_filter *options, size_t size);

millpond_status millpond_events_queue_new(millpond_client *client,
                                          const char *name,
                                          size_t name_length,
                                          millpond_events_queue **queue,
                                          millpond_error **error);

millpond_status millpond_events_fetch(millpond_events_queue *queue,
                                      const millpond_bytes *ids,
                                      size_t id_count,
                                      millpond_events_result **result,
                                      millpond_error **error);

millpond_status millpond_events_list(millpond_events_queue *queue,
                                     uint32_t state,
                                     const millpond_event_query *query,
                                     millpond_events_result **result,
                                     millpond_error **error);

millpond_status millpond_events_redrive(millpond_events_queue *queue,
                                        const millpond_bytes *ids,
                                        size_t id_count,
                                        uint32_t *outcomes,
                                        millpond_error **error);

millpond_status millpond_events_redrive_all(millpond_events_queue *queue,
                                            const millpond_event_redrive_filter *filter,
                                            uint64_t *number,
                                            millpond_error **error);

millpond_status millpond_events_purge(millpond_events_queue *queue,
                                      uint32_t state,
                                      const millpond_event_purge_filter *filter,
                                      uint64_t *number,
                                      millpond_error **error);

millpond_status millpond_events_delete(millpond_events_queue *queue, millpond_error **error);

millpond_status millpond_events_publish_call(millpond_events_queue *queue,
                                             const millpond_new_event *event,
                                             millpond_keys **call,
                                             millpond_error **error);

millpond_status millpond_events_publish(millpond_events_queue *queue,
                                        const millpond_new_event *event,
                                        millpond_events_result **result,
                                        millpond_error **error);

millpond_status millpond_events_publish_many(millpond_events_queue *queue,
                                             const millpond_new_event *events,
                                             size_t event_count,
                                             millpond_events_result **result,
                                             millpond_error **error);

millpond_status millpond_events_receive(millpond_events_queue *queue,
                                        size_t max,
                                        millpond_events_result **result,
                                        millpond_error **error);

millpond_status millpond_events_ack(millpond_events_queue *queue,
                                    const millpond_event_receipt *delivery,
                                    millpond_error **error);

millpond_status millpond_events_nack(millpond_events_queue *queue,
                                     const millpond_event_receipt *delivery,
                                     const char *err,
                                     size_t err_length,
                                     int64_t delay_ms,
                                     millpond_error **error);

millpond_status millpond_events_release(millpond_events_queue *queue,
                                        const millpond_event_receipt *delivery,
                                        int64_t delay_ms,
                                        millpond_error **error);

millpond_status millpond_events_dead_letter(millpond_events_queue *queue,
                                            const millpond_event_receipt *delivery,
                                            const char *reason,
                                            size_t reason_length,
                                            millpond_error **error);

millpond_status millpond_events_ack_many(millpond_events_queue *queue,
                                         const millpond_event_receipt *deliveries,
                                         size_t delivery_count,
                                         uint32_t *outcomes,
                                         millpond_error **error);

millpond_status millpond_events_ack_with(millpond_events_queue *queue,
                                         const millpond_event_receipt *delivery,
                                         const millpond_new_event *events,
                                         size_t event_count,
                                         millpond_events_result **result,
                                         millpond_error **error);

millpond_status millpond_events_extend(millpond_events_queue *queue,
                                       const millpond_event_receipt *deliveries,
                                       size_t delivery_count,
                                       int64_t lease_ms,
                                       uint32_t *outcomes,
                                       millpond_error **error);

millpond_status millpond_events_cancel(millpond_events_queue *queue,
                                       const millpond_bytes *ids,
                                       size_t id_count,
                                       bool also_running,
                                       bool force,
                                       uint32_t *outcomes,
                                       millpond_error **error);

millpond_status millpond_events_reschedule(millpond_events_queue *queue,
                                           const millpond_bytes *ids,
                                           size_t id_count,
                                           uint64_t delay_ms,
                                           uint32_t *outcomes,
                                           millpond_error **error);

millpond_status millpond_events_reschedule_at_ms(millpond_events_queue *queue,
                                                 const millpond_bytes *ids,
                                                 size_t id_count,
                                                 uint64_t at_ms,
                                                 uint32_t *outcomes,
                                                 millpond_error **error);

millpond_status millpond_events_stats(millpond_events_queue *queue,
                                      millpond_events_result **result,
                                      millpond_error **error);

millpond_status millpond_events_configure(millpond_events_queue *queue,
                                          const millpond_event_config_change *change,
                                          millpond_error **error);

millpond_status millpond_events_config(millpond_events_queue *queue,
                                       millpond_events_result **result,
                                       millpond_error **error);

millpond_status millpond_events_pause(millpond_events_queue *queue, millpond_error **error);

millpond_status millpond_events_resume(millpond_events_queue *queue, millpond_error **error);

millpond_status millpond_events_reshard(millpond_events_queue *queue,
                                        size_t partitions,
                                        millpond_error **error);

millpond_status millpond_events_reshard_step(millpond_events_queue *queue,
                                             size_t partitions,
                                             uint64_t *number,
                                             millpond_error **error);

millpond_status millpond_events_put_schedule(millpond_events_queue *queue,
                                             const millpond_schedule *schedule,
                                             uint32_t *outcome,
                                             millpond_error **error);

millpond_status millpond_events_remove_schedule(millpond_events_queue *queue,
                                                const char *id,
                                                size_t id_length,
                                                bool *found,
                                                millpond_error **error);

millpond_status millpond_events_get_schedule(millpond_events_queue *queue,
                                             const char *id,
                                             size_t id_length,
                                             millpond_events_result **result,
                                             millpond_error **error);

millpond_status millpond_events_list_schedules(millpond_events_queue *queue,
                                               millpond_events_result **result,
                                               millpond_error **error);

millpond_status millpond_events_pause_schedule(millpond_events_queue *queue,
                                               const char *id,
                                               size_t id_length,
                                               bool *found,
                                               millpond_error **error);

millpond_status millpond_events_resume_schedule(millpond_events_queue *queue,
                                                const char *id,
                                                size_t id_length,
                                                bool *found,
                                                millpond_error **error);

millpond_status millpond_events_trigger_schedule(millpond_events_queue *queue,
                                                 const char *id,
                                                 size_t id_length,
                                                 millpond_events_result **result,
                                                 millpond_error **error);

millpond_status millpond_events_sync_schedules(millpond_events_queue *queue,
                                               const char *owner,
                                               size_t owner_length,
                                               uint64_t revision,
                                               const millpond_schedule *schedules,
                                               size_t schedule_count,
                                               millpond_events_result **result,
                                               millpond_error **error);

void millpond_events_queue_free(millpond_events_queue *queue);

millpond_status millpond_events_deliveries_new(millpond_events_queue *queue,
                                               int64_t lease_ms,
                                               size_t max,
                                               int64_t wait_ms,
                                               const char *key_range,
                                               size_t key_range_length,
                                               millpond_events_deliveries **deliveries,
                                               millpond_error **error);

millpond_status millpond_events_deliveries_next(millpond_events_deliveries *deliveries,
                                                millpond_events_result **result,
                                                millpond_error **error);

void millpond_events_deliveries_free(millpond_events_deliveries *deliveries);

millpond_status millpond_events_job_is_lost(const millpond_events_job *job,
                                            bool *lost,
                                            millpond_error **error);

millpond_status millpond_events_job_is_last_attempt(const millpond_events_job *job,
                                                    bool *last_attempt,
                                                    millpond_error **error);

millpond_status millpond_events_job_time_left_ms(const millpond_events_job *job,
                                                 int64_t *time_left_ms,
                                                 millpond_error **error);

millpond_status millpond_events_job_is_cancelled(const millpond_events_job *job,
                                                 bool *cancelled,
                                                 millpond_error **error);

void millpond_events_job_free(millpond_events_job *job);

const millpond_events_data *millpond_events_job_data(const millpond_events_job *job);

void millpond_events_worker_options_init(millpond_events_worker_options *options, size_t size);

millpond_status millpond_events_worker_new(millpond_events_queue *queue,
                                           const millpond_events_worker_options *options,
                                           millpond_events_worker **worker,
                                           millpond_error **error);

void millpond_events_worker_free(millpond_events_worker *worker);

millpond_status millpond_events_worker_start(millpond_events_worker *worker,
                                             bool drains,
                                             bool tells_all,
                                             millpond_events_run **run,
                                             millpond_error **error);

millpond_status millpond_events_worker_stop(millpond_events_worker *worker,
                                            int64_t within_ms,
                                            millpond_error **error);

millpond_status millpond_events_worker_stop_on_signals(millpond_events_worker *worker,
                                                       int64_t within_ms,
                                                       millpond_error **error);

millpond_status millpond_events_run_next(millpond_events_run *run,
                                         millpond_events_job **job,
                                         millpond_events_report **report,
                                         millpond_error **error);

millpond_status millpond_events_run_end(millpond_events_run *run,
                                        millpond_events_job *job,
                                        const millpond_task_outcome *outcome,
                                        millpond_error **error);

millpond_status millpond_events_run_counts(millpond_events_run *run,
                                           millpond_job_counts *counts,
                                           millpond_error **error);

void millpond_events_run_free(millpond_events_run *run);

const millpond_report_data *millpond_events_report_data(const millpond_events_report *report);

void millpond_events_report_free(millpond_events_report *report);

millpond_status millpond_events_worker_run(millpond_events_worker *worker,
                                           millpond_event_handler handler,
                                           millpond_event_report_handler on_report,
                                           void *context,
                                           millpond_job_counts *counts,
                                           millpond_error **error);

millpond_status millpond_events_worker_drain(millpond_events_worker *worker,
                                             millpond_event_handler handler,
                                             millpond_event_report_handler on_report,
                                             void *context,
                                             millpond_job_counts *counts,
                                             millpond_error **error);

void millpond_field_query_init(millpond_field_query *options, size_t size);

millpond_status millpond_volatile_hash_new(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           millpond_volatile_hash **hash,
                                           millpond_error **error);

millpond_status millpond_volatile_hashes_hash_new(millpond_volatile_hashes *hashes,
                                                  const char *base,
                                                  size_t base_length,
                                                  millpond_volatile_hash **hash,
                                                  millpond_error **error);

millpond_status millpond_volatile_set(millpond_volatile_hash *hash,
                                      const char *field,
                                      size_t field_length,
                                      const char *value,
                                      size_t value_length,
                                      uint64_t ttl_ms,
                                      millpond_error **error);

millpond_status millpond_volatile_set_many(millpond_volatile_hash *hash,
                                           const millpond_hash_pair *fields,
                                           size_t field_count,
                                           uint64_t ttl_ms,
                                           millpond_error **error);

millpond_status millpond_volatile_set_if_absent(millpond_volatile_hash *hash,
                                                const char *field,
                                                size_t field_length,
                                                const char *value,
                                                size_t value_length,
                                                uint64_t ttl_ms,
                                                bool *done,
                                                millpond_error **error);

millpond_status millpond_volatile_set_if_present(millpond_volatile_hash *hash,
                                                 const char *field,
                                                 size_t field_length,
                                                 const char *value,
                                                 size_t value_length,
                                                 uint64_t ttl_ms,
                                                 bool *done,
                                                 millpond_error **error);

millpond_status millpond_volatile_set_locked(millpond_volatile_hash *hash,
                                             const char *field,
                                             size_t field_length,
                                             const char *token,
                                             size_t token_length,
                                             const char *value,
                                             size_t value_length,
                                             uint64_t ttl_ms,
                                             millpond_error **error);

millpond_status millpond_volatile_set_and_release(millpond_volatile_hash *hash,
                                                  const char *field,
                                                  size_t field_length,
                                                  const char *token,
                                                  size_t token_length,
                                                  const char *value,
                                                  size_t value_length,
                                                  uint64_t ttl_ms,
                                                  millpond_error **error);

millpond_status millpond_volatile_get(millpond_volatile_hash *hash,
                                      const char *field,
                                      size_t field_length,
                                      millpond_volatile_result **result,
                                      millpond_error **error);

millpond_status millpond_volatile_get_many(millpond_volatile_hash *hash,
                                           const millpond_bytes *fields,
                                           size_t field_count,
                                           millpond_volatile_result **result,
                                           millpond_error **error);

millpond_status millpond_volatile_fields(millpond_volatile_hash *hash,
                                         const millpond_field_query *query,
                                         millpond_volatile_result **result,
                                         millpond_error **error);

millpond_status millpond_volatile_ttl(millpond_volatile_hash *hash,
                                      const char *field,
                                      size_t field_length,
                                      int64_t *ttl_ms,
                                      millpond_error **error);

millpond_status millpond_volatile_len(millpond_volatile_hash *hash,
                                      uint64_t *len,
                                      millpond_error **error);

millpond_status millpond_volatile_stats(millpond_volatile_hash *hash,
                                        millpond_volatile_result **result,
                                        millpond_error **error);

millpond_status millpond_volatile_touch(millpond_volatile_hash *hash,
                                        const char *field,
                                        size_t field_length,
                                        uint64_t ttl_ms,
                                        bool *done,
                                        millpond_error **error);

millpond_status millpond_volatile_delete(millpond_volatile_hash *hash,
                                         const millpond_bytes *fields,
                                         size_t field_count,
                                         uint64_t *number,
                                         millpond_error **error);

millpond_status millpond_volatile_clear(millpond_volatile_hash *hash,
                                        uint64_t *number,
                                        millpond_error **error);

millpond_status millpond_volatile_reap(millpond_volatile_hash *hash,
                                       size_t limit,
                                       millpond_volatile_result **result,
                                       millpond_error **error);

millpond_status millpond_volatile_acquire(millpond_volatile_hash *hash,
                                          const char *field,
                                          size_t field_length,
                                          const char *token,
                                          size_t token_length,
                                          uint64_t ttl_ms,
                                          millpond_volatile_result **result,
                                          millpond_error **error);

millpond_status millpond_volatile_get_or_acquire(millpond_volatile_hash *hash,
                                                 const char *field,
                                                 size_t field_length,
                                                 const char *token,
                                                 size_t token_length,
                                                 uint64_t ttl_ms,
                                                 millpond_volatile_result **result,
                                                 millpond_error **error);

millpond_status millpond_volatile_lock_acquire(millpond_volatile_hash *hash,
                                               const char *field,
                                               size_t field_length,
                                               uint64_t ttl_ms,
                                               millpond_volatile_lock **lock,
                                               millpond_error **error);

millpond_status millpond_volatile_renew(millpond_volatile_hash *hash,
                                        const char *field,
                                        size_t field_length,
                                        const char *token,
                                        size_t token_length,
                                        uint64_t ttl_ms,
                                        bool *done,
                                        millpond_error **error);

millpond_status millpond_volatile_release(millpond_volatile_hash *hash,
                                          const char *field,
                                          size_t field_length,
                                          const char *token,
                                          size_t token_length,
                                          bool *done,
                                          millpond_error **error);

millpond_status millpond_volatile_holder(millpond_volatile_hash *hash,
                                         const char *field,
                                         size_t field_length,
                                         millpond_volatile_result **result,
                                         millpond_error **error);

void millpond_volatile_hash_free(millpond_volatile_hash *hash);

millpond_status millpond_volatile_lock_fence(const millpond_volatile_lock *lock,
                                             uint64_t *fence,
                                             millpond_error **error);

millpond_status millpond_volatile_lock_is_lost(const millpond_volatile_lock *lock,
                                               bool *lost,
                                               millpond_error **error);

millpond_status millpond_volatile_lock_set(millpond_volatile_lock *lock,
                                           const char *value,
                                           size_t value_length,
                                           uint64_t ttl_ms,
                                           millpond_error **error);

millpond_status millpond_volatile_lock_release(millpond_volatile_lock *lock,
                                               bool *done,
                                               millpond_error **error);

void millpond_volatile_lock_free(millpond_volatile_lock *lock);

millpond_status millpond_volatile_hashes_new(millpond_client *client,
                                             const char *name,
                                             size_t name_length,
                                             uint32_t shards,
                                             millpond_volatile_hashes **hashes,
                                             millpond_error **error);

millpond_status millpond_volatile_hashes_reap(millpond_volatile_hashes *hashes,
                                              size_t limit,
                                              millpond_volatile_result **result,
                                              millpond_error **error);

void millpond_volatile_hashes_free(millpond_volatile_hashes *hashes);

void millpond_new_job_init(millpond_new_job *options, size_t size);

millpond_status millpond_recruiter_new(millpond_client *client,
                                       const char *name,
                                       size_t name_length,
                                       millpond_recruiter **recruiter,
                                       millpond_error **error);

millpond_status millpond_recruiter_set_duty_max(const millpond_recruiter *recruiter,
                                                double part,
                                                millpond_error **error);

millpond_status millpond_recruiter_set_decision_timeout(const millpond_recruiter *recruiter,
                                                        uint64_t timeout_ms,
                                                        millpond_error **error);

millpond_status millpond_recruiter_uninstall(const millpond_recruiter *recruiter,
                                             const char *job,
                                             size_t job_length,
                                             bool *found,
                                             millpond_error **error);

millpond_status millpond_recruiter_is_due(const millpond_recruiter *recruiter,
                                          bool *due,
                                          millpond_error **error);

millpond_status millpond_recruiter_wake(millpond_recruiter *recruiter,
                                        const char *job,
                                        size_t job_length,
                                        millpond_error **error);

millpond_status millpond_recruiter_stop(const millpond_recruiter *recruiter,
                                        millpond_error **error);

millpond_status millpond_recruiter_stats(millpond_recruiter *recruiter,
                                         millpond_recruiter_result **result,
                                         millpond_error **error);

void millpond_recruiter_free(millpond_recruiter *recruiter);

millpond_status millpond_recruiter_slice_job(const millpond_recruiter_slice *slice,
                                             millpond_bytes *job,
                                             millpond_error **error);

millpond_status millpond_recruiter_slice_budget(const millpond_recruiter_slice *slice,
                                                uint64_t *budget_ms,
                                                millpond_error **error);

millpond_status millpond_recruiter_slice_remaining(const millpond_recruiter_slice *slice,
                                                   uint64_t *remaining_ms,
                                                   millpond_error **error);

millpond_status millpond_recruiter_slice_is_over(const millpond_recruiter_slice *slice,
                                                 bool *over,
                                                 millpond_error **error);

millpond_status millpond_recruiter_slice_fence(const millpond_recruiter_slice *slice,
                                               uint64_t *fence,
                                               millpond_error **error);

millpond_status millpond_recruiter_slice_is_lost(const millpond_recruiter_slice *slice,
                                                 bool *lost,
                                                 millpond_error **error);

millpond_status millpond_recruiter_slice_more(const millpond_recruiter_slice *slice,
                                              millpond_error **error);

millpond_status millpond_recruiter_slice_abort(const millpond_recruiter_slice *slice,
                                               millpond_error **error);

void millpond_recruiter_slice_free(millpond_recruiter_slice *slice);

millpond_status millpond_recruiter_slices_new(millpond_recruiter *recruiter,
                                              int64_t wait_ms,
                                              millpond_recruiter_slices **slices,
                                              millpond_error **error);

millpond_status millpond_recruiter_slices_next(millpond_recruiter_slices *slices,
                                               millpond_recruiter_slice **slice,
                                               millpond_error **error);

void millpond_recruiter_slices_free(millpond_recruiter_slices *slices);

millpond_status millpond_recruiter_install(millpond_recruiter *recruiter,
                                           const millpond_new_job *job,
                                           millpond_error **error);

millpond_status millpond_recruiter_enlist(millpond_recruiter *recruiter,
                                          int64_t budget_ms,
                                          millpond_duty *duty,
                                          millpond_recruiter_slice **slice,
                                          millpond_error **unavailable,
                                          millpond_error **error);

millpond_status millpond_recruiter_decide(millpond_recruiter *recruiter,
                                          int64_t budget_ms,
                                          millpond_duty *duty,
                                          millpond_recruiter_slice **slice,
                                          bool *asks,
                                          millpond_error **error);

millpond_status millpond_recruiter_ask(millpond_recruiter *recruiter,
                                       int64_t budget_ms,
                                       millpond_duty *duty,
                                       millpond_recruiter_slice **slice,
                                       millpond_error **unavailable,
                                       millpond_error **error);

millpond_status millpond_recruiter_stop_on_signals(millpond_recruiter *recruiter,
                                                   millpond_error **error);

millpond_status millpond_recruiter_slice_end(millpond_recruiter_slice *slice,
                                             uint64_t items,
                                             millpond_duty *duty,
                                             millpond_error **error);

millpond_status millpond_recruiter_slice_fail(millpond_recruiter_slice *slice,
                                              millpond_duty *duty,
                                              millpond_error **error);

millpond_status millpond_tracker_new(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     millpond_tracker **tracker,
                                     millpond_error **error);

millpond_status millpond_tracker_add(millpond_tracker *tracker,
                                     const millpond_bytes *ids,
                                     size_t id_count,
                                     millpond_error **error);

millpond_status millpond_tracker_is_queued(millpond_tracker *tracker,
                                           const char *id,
                                           size_t id_length,
                                           bool *queued,
                                           millpond_error **error);

millpond_status millpond_tracker_are_queued(millpond_tracker *tracker,
                                            const millpond_bytes *ids,
                                            size_t id_count,
                                            bool *flags,
                                            millpond_error **error);

millpond_status millpond_tracker_len(millpond_tracker *tracker,
                                     uint64_t *len,
                                     millpond_error **error);

millpond_status millpond_tracker_stats(millpond_tracker *tracker,
                                       millpond_tracker_result **result,
                                       millpond_error **error);

millpond_status millpond_tracker_ids(millpond_tracker *tracker,
                                     uint64_t after,
                                     size_t limit,
                                     millpond_tracker_result **result,
                                     millpond_error **error);

millpond_status millpond_tracker_clear(millpond_tracker *tracker,
                                       uint64_t *number,
                                       millpond_error **error);

millpond_status millpond_tracker_begin_scan(millpond_tracker *tracker,
                                            size_t limit,
                                            uint64_t round_min_ms,
                                            millpond_tracker_result **result,
                                            millpond_error **error);

millpond_status millpond_tracker_advance(millpond_tracker *tracker,
                                         const char *after,
                                         size_t after_length,
                                         const millpond_bytes *rows,
                                         size_t row_count,
                                         const millpond_bytes *ids,
                                         size_t id_count,
                                         size_t limit,
                                         uint64_t round_min_ms,
                                         millpond_tracker_result **result,
                                         millpond_error **error);

millpond_status millpond_tracker_sample(millpond_tracker *tracker,
                                        size_t limit,
                                        millpond_tracker_result **result,
                                        millpond_error **error);

millpond_status millpond_tracker_remove(millpond_tracker *tracker,
                                        const millpond_bytes *ids,
                                        size_t id_count,
                                        const millpond_bytes *sampled,
                                        size_t sampled_count,
                                        uint64_t stamp,
                                        millpond_tracker_result **result,
                                        millpond_error **error);

void millpond_tracker_free(millpond_tracker *tracker);

const millpond_bytes *millpond_keys_data(const millpond_keys *keys);

size_t millpond_keys_length(const millpond_keys *keys);

void millpond_keys_free(millpond_keys *keys);

const millpond_ick_entry *millpond_ick_entries_at(const millpond_ick_entries *entries,
                                                  size_t index);

const millpond_ick_entry *millpond_ick_entries_data(const millpond_ick_entries *entries);

size_t millpond_ick_entries_length(const millpond_ick_entries *entries);

size_t millpond_ick_entries_stride(void);

char *millpond_ick_entries_bytes(const millpond_ick_entries *entries);

size_t millpond_ick_entries_bytes_length(const millpond_ick_entries *entries);

void millpond_ick_entries_free(millpond_ick_entries *entries);

const millpond_shuffle_message *millpond_shuffle_batch_at(const millpond_shuffle_batch *batch,
                                                          size_t index);

const millpond_shuffle_message *millpond_shuffle_batch_messages(const millpond_shuffle_batch *batch);

size_t millpond_shuffle_batch_length(const millpond_shuffle_batch *batch);

size_t millpond_shuffle_batch_stride(void);

const millpond_shuffle_field *millpond_shuffle_batch_fields(const millpond_shuffle_batch *batch);

size_t millpond_shuffle_batch_fields_length(const millpond_shuffle_batch *batch);

char *millpond_shuffle_batch_bytes(const millpond_shuffle_batch *batch);

size_t millpond_shuffle_batch_bytes_length(const millpond_shuffle_batch *batch);

void millpond_shuffle_batch_free(millpond_shuffle_batch *batch);

const millpond_shuffle_dead_letter *millpond_shuffle_dead_letters_at(const millpond_shuffle_dead_letters *letters,
                                                                     size_t index);

const millpond_shuffle_dead_letter *millpond_shuffle_dead_letters_data(const millpond_shuffle_dead_letters *letters);

size_t millpond_shuffle_dead_letters_length(const millpond_shuffle_dead_letters *letters);

size_t millpond_shuffle_dead_letters_stride(void);

void millpond_shuffle_dead_letters_free(millpond_shuffle_dead_letters *letters);

const millpond_shuffle_stream_stats *millpond_shuffle_stats_at(const millpond_shuffle_stats *stats,
                                                               size_t index);

const millpond_shuffle_stream_stats *millpond_shuffle_stats_streams(const millpond_shuffle_stats *stats);

size_t millpond_shuffle_stats_length(const millpond_shuffle_stats *stats);

size_t millpond_shuffle_stats_stride(void);

const millpond_shuffle_stream_stats *millpond_shuffle_stats_total(const millpond_shuffle_stats *stats);

void millpond_shuffle_stats_free(millpond_shuffle_stats *stats);

const millpond_recovered *millpond_recovery_data(const millpond_recovery *recovery);

void millpond_recovery_free(millpond_recovery *recovery);

const millpond_tasks_data *millpond_tasks_result_data(const millpond_tasks_result *result);

const millpond_task *millpond_tasks_result_task(const millpond_tasks_result *result, size_t index);

const millpond_doc *millpond_tasks_result_doc(const millpond_tasks_result *result, size_t index);

const millpond_task_queue_stats *millpond_tasks_result_queue(const millpond_tasks_result *result,
                                                             size_t index);

const millpond_task_namespace_stats *millpond_tasks_result_namespace(const millpond_tasks_result *result,
                                                                     size_t index);

void millpond_tasks_result_free(millpond_tasks_result *result);

const millpond_events_data *millpond_events_result_data(const millpond_events_result *result);

const millpond_event *millpond_events_result_event(const millpond_events_result *result,
                                                   size_t index);

const millpond_published_event *millpond_events_result_published(const millpond_events_result *result,
                                                                 size_t index);

const millpond_schedule_info *millpond_events_result_schedule(const millpond_events_result *result,
                                                              size_t index);

void millpond_events_result_free(millpond_events_result *result);

const millpond_volatile_data *millpond_volatile_result_data(const millpond_volatile_result *result);

const millpond_hash_field *millpond_volatile_result_field(const millpond_volatile_result *result,
                                                          size_t index);

const millpond_bytes *millpond_volatile_result_value(const millpond_volatile_result *result,
                                                     size_t index);

void millpond_volatile_result_free(millpond_volatile_result *result);

const millpond_recruiter_data *millpond_recruiter_result_data(const millpond_recruiter_result *result);

const millpond_recruiter_job_stats *millpond_recruiter_result_job(const millpond_recruiter_result *result,
                                                                  size_t index);

void millpond_recruiter_result_free(millpond_recruiter_result *result);

const millpond_tracker_data *millpond_tracker_result_data(const millpond_tracker_result *result);

const millpond_tracked *millpond_tracker_result_entry(const millpond_tracker_result *result,
                                                      size_t index);

const millpond_bytes *millpond_tracker_result_id(const millpond_tracker_result *result,
                                                 size_t index);

void millpond_tracker_result_free(millpond_tracker_result *result);

void millpond_on_interrupt(bool (*check)(void));

millpond_status millpond_script_find(const char *name,
                                     const millpond_script **script,
                                     millpond_error **error);

size_t millpond_script_count(void);

millpond_status millpond_script_at(size_t index,
                                   const millpond_script **script,
                                   millpond_error **error);

millpond_status millpond_script_error(const char *reply,
                                      size_t reply_length,
                                      millpond_error **error);

millpond_status millpond_ick_keys(const char *name,
                                  size_t name_length,
                                  millpond_keys **keys,
                                  millpond_error **error);

millpond_status millpond_ick_lease_keys(const char *name,
                                        size_t name_length,
                                        millpond_keys **keys,
                                        millpond_error **error);

millpond_status millpond_shuffle_keys(const char *name,
                                      size_t name_length,
                                      millpond_keys **keys,
                                      millpond_error **error);

millpond_status millpond_shuffle_tracking_keys(const char *name,
                                               size_t name_length,
                                               uint32_t track_keys,
                                               millpond_keys **keys,
                                               millpond_error **error);

millpond_status millpond_tasks_keys(const char *name,
                                    size_t name_length,
                                    millpond_keys **keys,
                                    millpond_error **error);

millpond_status millpond_volatile_keys(const char *name,
                                       size_t name_length,
                                       millpond_keys **keys,
                                       millpond_error **error);

millpond_status millpond_recruiter_keys(const char *name,
                                        size_t name_length,
                                        millpond_keys **keys,
                                        millpond_error **error);

millpond_status millpond_tracker_keys(const char *name,
                                      size_t name_length,
                                      millpond_keys **keys,
                                      millpond_error **error);
