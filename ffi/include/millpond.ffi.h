/* Generated from millpond-ffi by millpond-header; do not edit. */

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

typedef struct millpond_batches millpond_batches;

typedef struct millpond_client millpond_client;

typedef struct millpond_entries millpond_entries;

typedef struct millpond_error millpond_error;

typedef struct millpond_ick_channel millpond_ick_channel;

typedef struct millpond_keys millpond_keys;

typedef struct millpond_lease millpond_lease;

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
    millpond_bytes url;
    millpond_bytes username;
    millpond_bytes password;
    millpond_bytes client_name;
    int64_t timeout_ms;
    int64_t connect_timeout_ms;
    int64_t retries;
} millpond_options;

typedef struct {
    char *member;
    size_t member_length;
    double score;
} millpond_entry;

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
    const char *name;
    const char *source;
    size_t source_length;
    const char *sha1;
} millpond_script;

uint32_t millpond_abi_version(void);

const char *millpond_version(void);

millpond_status millpond_test_panic(millpond_error **error);

millpond_status millpond_error_code(const millpond_error *error);

const char *millpond_error_name(const millpond_error *error);

const char *millpond_error_message(const millpond_error *error);

const char *millpond_error_operation(const millpond_error *error);

const char *millpond_error_cause(const millpond_error *error);

millpond_retry millpond_error_retry(const millpond_error *error);

void millpond_error_free(millpond_error *error);

size_t millpond_error_kind_count(void);

millpond_status millpond_error_kind_at(size_t index,
                                       millpond_error_kind *kind,
                                       millpond_error **error);

void millpond_options_init(millpond_options *options);

millpond_status millpond_connect(const char *url,
                                 size_t url_length,
                                 millpond_client **client,
                                 millpond_error **error);

millpond_status millpond_connect_with(const millpond_options *options,
                                      millpond_client **client,
                                      millpond_error **error);

millpond_status millpond_close(millpond_client *client, millpond_error **error);

void millpond_client_free(millpond_client *client);

const millpond_entry *millpond_entries_data(const millpond_entries *entries);

size_t millpond_entries_length(const millpond_entries *entries);

char *millpond_entries_bytes(const millpond_entries *entries);

size_t millpond_entries_bytes_length(const millpond_entries *entries);

void millpond_entries_free(millpond_entries *entries);

const millpond_bytes *millpond_keys_data(const millpond_keys *keys);

size_t millpond_keys_length(const millpond_keys *keys);

void millpond_keys_free(millpond_keys *keys);

millpond_status millpond_ick_add(millpond_client *client,
                                 const char *name,
                                 size_t name_length,
                                 const millpond_ick_pair *pairs,
                                 size_t count,
                                 millpond_ick_added *added,
                                 millpond_error **error);

millpond_status millpond_ick_reserve(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     uint64_t max,
                                     bool backwash,
                                     millpond_entries **entries,
                                     millpond_error **error);

millpond_status millpond_ick_commit(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    const millpond_bytes *members,
                                    size_t count,
                                    uint64_t *committed,
                                    millpond_error **error);

millpond_status millpond_ick_exchange(millpond_client *client,
                                      const char *name,
                                      size_t name_length,
                                      uint64_t max,
                                      const millpond_bytes *members,
                                      size_t count,
                                      bool backwash,
                                      millpond_entries **entries,
                                      millpond_error **error);

millpond_status millpond_ick_stats_read(millpond_client *client,
                                        const char *name,
                                        size_t name_length,
                                        millpond_ick_stats *stats,
                                        millpond_error **error);

millpond_status millpond_ick_peek(millpond_client *client,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t set,
                                  uint64_t max,
                                  millpond_entries **entries,
                                  millpond_error **error);

millpond_status millpond_ick_delete(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    bool unlink,
                                    uint64_t *removed,
                                    millpond_error **error);

const char *millpond_ick_version(void);

millpond_status millpond_ick_keys(const char *name,
                                  size_t name_length,
                                  millpond_keys **keys,
                                  millpond_error **error);

millpond_status millpond_ick_lease_keys(const char *name,
                                        size_t name_length,
                                        millpond_keys **keys,
                                        millpond_error **error);

millpond_status millpond_ick_batches(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     uint64_t max,
                                     int64_t wait_ms,
                                     millpond_batches **batches,
                                     millpond_error **error);

millpond_status millpond_batches_next(millpond_batches *batches,
                                      millpond_entries **entries,
                                      millpond_error **error);

millpond_status millpond_batches_commit(millpond_batches *batches,
                                        uint64_t *committed,
                                        millpond_error **error);

void millpond_batches_free(millpond_batches *batches);

millpond_status millpond_ick_lease_acquire(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           uint64_t ttl_ms,
                                           millpond_lease **lease,
                                           millpond_error **error);

millpond_status millpond_lease_is_lost(const millpond_lease *lease,
                                       bool *lost,
                                       millpond_error **error);

millpond_status millpond_lease_token(const millpond_lease *lease,
                                     millpond_bytes *token,
                                     millpond_error **error);

millpond_status millpond_lease_reserve(millpond_lease *lease,
                                       uint64_t max,
                                       millpond_entries **entries,
                                       millpond_error **error);

millpond_status millpond_lease_commit(millpond_lease *lease,
                                      const millpond_bytes *members,
                                      size_t count,
                                      uint64_t *committed,
                                      millpond_error **error);

millpond_status millpond_lease_exchange(millpond_lease *lease,
                                        uint64_t max,
                                        const millpond_bytes *members,
                                        size_t count,
                                        millpond_entries **entries,
                                        millpond_error **error);

millpond_status millpond_lease_batches(millpond_lease *lease,
                                       uint64_t max,
                                       int64_t wait_ms,
                                       millpond_batches **batches,
                                       millpond_error **error);

millpond_status millpond_lease_release(millpond_lease *lease,
                                       bool *was_held,
                                       millpond_error **error);

void millpond_lease_free(millpond_lease *lease);

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

millpond_status millpond_ick_channel_ick_of(const millpond_ick_channel *channel,
                                            const char *member,
                                            size_t member_length,
                                            uint32_t *number,
                                            millpond_error **error);

millpond_status millpond_ick_channel_ick_name(const millpond_ick_channel *channel,
                                              uint32_t number,
                                              millpond_keys **name,
                                              millpond_error **error);

millpond_status millpond_ick_channel_add(millpond_ick_channel *channel,
                                         const millpond_ick_pair *pairs,
                                         size_t count,
                                         millpond_ick_added *added,
                                         millpond_error **error);

millpond_status millpond_ick_channel_batches(millpond_ick_channel *channel,
                                             const uint32_t *numbers,
                                             size_t count,
                                             uint64_t max,
                                             int64_t wait_ms,
                                             millpond_batches **batches,
                                             millpond_error **error);

void millpond_ick_channel_free(millpond_ick_channel *channel);

void millpond_on_interrupt(bool (*check)(void));

millpond_status millpond_script_find(const char *name,
                                     millpond_script *script,
                                     millpond_error **error);

size_t millpond_script_count(void);

millpond_status millpond_script_at(size_t index, millpond_script *script, millpond_error **error);

millpond_status millpond_script_error(const char *reply,
                                      size_t reply_length,
                                      millpond_error **error);
