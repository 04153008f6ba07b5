/*
 * Millpond: the same queues in several languages, on Redis or embedded.
 *
 * Functions that can fail return a millpond_status and take, as their last argument, where to put
 * an error object: NULL if nobody wants one. They set it to NULL on success; on failure the caller
 * frees it with millpond_error_free. What was there before is not looked at. There is no
 * thread-local or global state to ask for the last error.
 *
 * Handles (millpond_client * and the other types that are not defined here) are opaque. They are
 * not addresses: a handle that was freed, one of another kind or a wild one is told apart, and the
 * call answers MILLPOND_INVALID_ARGUMENT. Freeing NULL does nothing, and freeing twice does nothing.
 * Of what a function makes for its caller it says which function frees it. Freeing a handle while
 * another thread's call uses it is fine: what it stands for lives until that call ends.
 *
 * Every other pointer has to be valid during the call, for as many elements as the length beside it
 * says, and nothing of it is kept after the call. Byte strings are a pointer and a length: any
 * bytes, and no NUL at the end is needed. NULL with the length 0 is the empty string; NULL with
 * another length is MILLPOND_INVALID_ARGUMENT. Results go through pointers that must not be NULL
 * unless the function says so; on failure they are set to 0, false or NULL, where the function does
 * not say otherwise. Should there be no room for one more handle, an error is told by the status
 * alone and its object is NULL.
 *
 * Any function may be called by any thread at any time, except that a lease and batches are for one
 * thread at a time: a second one gets MILLPOND_INVALID_ARGUMENT at once. A call that has to wait
 * for a server ends by the client's timeout; only millpond_batches_next waits longer, if it is told
 * to. Nothing may be called from a signal handler.
 *
 * A process may fork at any time. Its children use the parent's handles as their own: a Redis
 * client makes new connections, an embedded engine answers MILLPOND_FORKED.
 *
 * A panic inside is MILLPOND_INTERNAL outside; nothing unwinds into C.
 *
 * Times are in milliseconds, sizes in bytes, scores are doubles. Link with `pkg-config --libs
 * millpond`.
 */


#ifndef MILLPOND_H
#define MILLPOND_H

/* Generated from millpond-ffi by millpond-header; do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * How a call went: `MILLPOND_OK`, or what went wrong. The numbers are the same in every language
 * and are never used again for something else. `millpond_error_kind_at` has them as a table.
 */
typedef enum {
    /**
     * The call did what it says.
     */
    MILLPOND_OK = 0,
    /**
     * An argument is wrong: its type, its value or its size. Nothing was sent.
     */
    MILLPOND_INVALID_ARGUMENT = 1,
    /**
     * The URL or an option of the client is wrong. Nothing was sent.
     */
    MILLPOND_INVALID_URL = 2,
    /**
     * This name cannot be used on a cluster: its keys would lie in different slots.
     */
    MILLPOND_CROSS_SLOT = 3,
    /**
     * A key of the queue holds something that is not the queue's.
     */
    MILLPOND_WRONG_TYPE = 4,
    /**
     * The data was written by a version of the format that this version does not know.
     */
    MILLPOND_INCOMPATIBLE_VERSION = 5,
    /**
     * No connection could be made. Nothing was sent.
     */
    MILLPOND_CONNECTION_FAILED = 6,
    /**
     * The connection broke after the call was sent: it may or may not have been done.
     */
    MILLPOND_CONNECTION_LOST = 7,
    /**
     * No answer came in time: the call may or may not have been done.
     */
    MILLPOND_TIMEOUT = 8,
    /**
     * The server refused the user or the password.
     */
    MILLPOND_AUTHENTICATION_FAILED = 9,
    /**
     * The server's access rules forbid this user the call.
     */
    MILLPOND_PERMISSION_DENIED = 10,
    /**
     * The server is there but cannot do it now: loading, failing over, busy or read-only.
     */
    MILLPOND_UNAVAILABLE = 11,
    /**
     * The server has no memory left for writes.
     */
    MILLPOND_OUT_OF_MEMORY = 12,
    /**
     * The server answered an error that Millpond has no kind for.
     */
    MILLPOND_SERVER = 13,
    /**
     * The lease had run out or belongs to somebody else: nothing was done.
     */
    MILLPOND_LEASE_LOST = 14,
    /**
     * Another process holds this directory.
     */
    MILLPOND_LOCKED = 15,
    /**
     * Stored data is damaged in a place that is not the torn end of an unfinished write.
     */
    MILLPOND_CORRUPT = 16,
    /**
     * The disk refused a write; what was not acknowledged may be lost.
     */
    MILLPOND_STORAGE = 17,
    /**
     * The embedded engine was opened before a fork; a child process has to open its own.
     */
    MILLPOND_FORKED = 18,
    /**
     * The client was closed.
     */
    MILLPOND_CLOSED = 19,
    /**
     * The caller cancelled.
     */
    MILLPOND_CANCELLED = 20,
    /**
     * A bug in Millpond.
     */
    MILLPOND_INTERNAL = 21,
} millpond_status;

/**
 * Whether to do the same again.
 */
typedef enum {
    /**
     * The same call fails again; something has to change first.
     */
    MILLPOND_RETRY_NEVER = 0,
    /**
     * Nothing was done; the same call can succeed later.
     */
    MILLPOND_RETRY_LATER = 1,
    /**
     * The call may have been done: look before you repeat it.
     */
    MILLPOND_RETRY_UNKNOWN = 2,
} millpond_retry;

/**
 * The ABI that this header describes. The library's is `millpond_abi_version()`.
 */
typedef enum {
    /**
     * Changes when a program has to be compiled again; new functions do not change it.
     */
    MILLPOND_ABI_VERSION = 1,
} millpond_abi;

/**
 * One of the two sets of an Ick.
 */
typedef enum {
    /**
     * Members that are flagged and not reserved.
     */
    MILLPOND_ICK_PRODUCER = 1,
    /**
     * Members that are reserved and not committed.
     */
    MILLPOND_ICK_CONSUMER = 2,
} millpond_ick_set;

/**
 * The loop of a consumer: batches to work on, each committed when the next is asked for. Freed
 * with `millpond_batches_free`.
 *
 * One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
 * once. Threads that consume together have batches of their own, on a channel for instance.
 */
typedef struct millpond_batches millpond_batches;

/**
 * A server or an embedded engine, and the way to the queues on it. Any number of threads may use
 * one client at a time, and on Redis the children of a fork may too: each process makes its own
 * connections. Freed with `millpond_client_free`.
 */
typedef struct millpond_client millpond_client;

/**
 * A list of members with their scores, the answer of a reserve for instance. The caller frees it
 * with `millpond_entries_free`. Any thread may read it.
 */
typedef struct millpond_entries millpond_entries;

/**
 * What went wrong in one call: a status, one line for people, and whether a retry can help. A
 * function that fails makes one if its last argument says where to put it; the caller frees it
 * with `millpond_error_free`. Any thread may read it.
 */
typedef struct millpond_error millpond_error;

/**
 * Several Icks that share the members of one dirty list, so that as many consumers can work at
 * once. A member lives in the Ick numbered FNV-1a-64(member) mod the number of Icks, which is
 * named `<name>/<number>`. Any number of threads may use one channel at a time. Freed with
 * `millpond_ick_channel_free`.
 */
typedef struct millpond_ick_channel millpond_ick_channel;

/**
 * A list of byte strings, the keys of a queue for instance. The caller frees it with
 * `millpond_keys_free`. Any thread may read it.
 */
typedef struct millpond_keys millpond_keys;

/**
 * The right to consume an Ick, for as long as it is held. A native thread renews it three times a
 * term, so a busy consumer keeps it. Steps through it carry its token: once it is lost they answer
 * `MILLPOND_LEASE_LOST` and do nothing, so a consumer that was stopped for too long cannot commit
 * what another one works on. Freed with `millpond_lease_free`.
 *
 * One thread at a time: a second one that makes a step through it meanwhile gets
 * `MILLPOND_INVALID_ARGUMENT` at once. `millpond_lease_is_lost` and `millpond_lease_token` are
 * for any thread at any time.
 */
typedef struct millpond_lease millpond_lease;

/**
 * One row of the table of errors, the same in every language.
 */
typedef struct {
    /**
     * The number.
     */
    millpond_status code;
    /**
     * The name, such as `CONNECTION_LOST`; lives for ever.
     */
    const char *name;
    /**
     * Whether to do the same again.
     */
    millpond_retry retry;
} millpond_error_kind;

/**
 * A string of bytes: any bytes, NUL among them.
 */
typedef struct {
    /**
     * The bytes; may be NULL if there are none.
     */
    const char *data;
    /**
     * How many there are.
     */
    size_t length;
} millpond_bytes;

/**
 * What `millpond_connect_with` takes, so that nothing has to be printed into a URL.
 * `millpond_options_init` fills it; then set what you like. The URL may hold more options.
 */
typedef struct {
    /**
     * Where the queues are; see `millpond_connect`.
     */
    millpond_bytes url;
    /**
     * The user, as it is: nothing is unescaped. NULL: not given.
     */
    millpond_bytes username;
    /**
     * The password, as it is. NULL: not given.
     */
    millpond_bytes password;
    /**
     * The name of the connections in `CLIENT LIST`. NULL: not given.
     */
    millpond_bytes client_name;
    /**
     * The longest time for one call in milliseconds, connecting and trying again included.
     * -1: not given, which is 5,000.
     */
    int64_t timeout_ms;
    /**
     * The longest time for one attempt to connect in milliseconds. -1: not given, which is 1,000.
     */
    int64_t connect_timeout_ms;
    /**
     * Attempts after the first to connect, or to reach a server that is busy, loading or failing
     * over. -1: not given, which is 10.
     */
    int64_t retries;
} millpond_options;

/**
 * A member and its score.
 */
typedef struct {
    /**
     * The member's bytes; not NUL-terminated. Never NULL.
     */
    const char *member;
    /**
     * How many bytes it has.
     */
    size_t member_length;
    /**
     * Its score.
     */
    double score;
} millpond_entry;

/**
 * A member to flag, and its score.
 */
typedef struct {
    /**
     * The member: any bytes. May be NULL if the length is 0.
     */
    const char *member;
    /**
     * How many bytes it has.
     */
    size_t member_length;
    /**
     * The score: any number but NaN. Lower scores come first.
     */
    double score;
    /**
     * Whether the score is the server's time in seconds, in place of `score`.
     */
    bool score_is_now;
} millpond_ick_pair;

/**
 * What an add changed. A member that is given twice can count in both.
 */
typedef struct {
    /**
     * Members that were not in the producer set.
     */
    uint64_t new_members;
    /**
     * Members that were, and whose score went down.
     */
    uint64_t lowered_members;
} millpond_ick_added;

/**
 * The sizes and score ranges of an Ick. Scores are exact. The minimum and the maximum of a set
 * that is empty are 0 and mean nothing.
 */
typedef struct {
    /**
     * Whether there is such an Ick. If not, everything else is 0.
     */
    bool exists;
    /**
     * Members that are flagged and not reserved.
     */
    uint64_t pset_size;
    /**
     * Members that are reserved and not committed.
     */
    uint64_t cset_size;
    /**
     * Both together; a member that is in both counts twice.
     */
    uint64_t total_size;
    /**
     * The lowest score in the producer set.
     */
    double pset_min;
    /**
     * The highest score in the producer set.
     */
    double pset_max;
    /**
     * The lowest score in the consumer set.
     */
    double cset_min;
    /**
     * The highest score in the consumer set.
     */
    double cset_max;
    /**
     * The lowest score in both sets.
     */
    double total_min;
    /**
     * The highest score in both sets.
     */
    double total_max;
} millpond_ick_stats;

/**
 * The Lua script of a step, for a Redis connection of your own: send
 * `EVALSHA sha1 <number of keys> keys ... arguments ...`, and on a `NOSCRIPT` error `EVAL source` with
 * the same. The comment at the end of the source says what the arguments and the answer are.
 * Everything in it lives for ever.
 *
 * Such a connection must not send a call again by itself after a dropped connection, as some
 * client libraries do: an exchange that runs twice can lose a member. Switch that off.
 */
typedef struct {
    /**
     * The step, such as `ick.add`; NUL-terminated.
     */
    const char *name;
    /**
     * The source; NUL-terminated.
     */
    const char *source;
    /**
     * How many bytes the source has, without the NUL.
     */
    size_t source_length;
    /**
     * The SHA1 of the source, in 40 hexadecimal digits; NUL-terminated.
     */
    const char *sha1;
} millpond_script;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The ABI of the library, for who loads it at run time: has to be `MILLPOND_ABI_VERSION`.
 *
 * Threads: any.
 */
uint32_t millpond_abi_version(void);

/**
 * The version of Millpond, such as `0.1.0`; lives for ever.
 *
 * Threads: any.
 */
const char *millpond_version(void);

/**
 * Panics inside the library, so that a test can show what becomes of it outside. The panic prints
 * its place to standard error, as any would.
 *
 * Errors: `MILLPOND_INTERNAL`, always.
 *
 * Threads: any.
 */
millpond_status millpond_test_panic(millpond_error **error);

/**
 * The status of the error, the same that the failed function returned. `MILLPOND_OK` for NULL;
 * `MILLPOND_INVALID_ARGUMENT` for a handle that was freed or is none.
 *
 * Threads: any.
 */
millpond_status millpond_error_code(const millpond_error *error);

/**
 * The name of the error, such as `CONNECTION_LOST`: `millpond_status` without the prefix. Never
 * NULL; lives for ever. `OK` for NULL.
 *
 * Threads: any.
 */
const char *millpond_error_name(const millpond_error *error);

/**
 * One line for people, in UTF-8: what was being done, and what is wrong. Holds no password and
 * no payload. Never NULL; lives until the error is freed. Empty for NULL.
 *
 * Threads: any.
 */
const char *millpond_error_message(const millpond_error *error);

/**
 * The operation that failed, such as `ick.add`; empty where none was under way. Never NULL; lives
 * until the error is freed.
 *
 * Threads: any.
 */
const char *millpond_error_operation(const millpond_error *error);

/**
 * What another library said that caused the error, such as the operating system's "connection
 * refused"; NULL where there is none. Lives until the error is freed.
 *
 * Threads: any.
 */
const char *millpond_error_cause(const millpond_error *error);

/**
 * Whether doing the same again can help. `MILLPOND_RETRY_NEVER` for NULL.
 *
 * Threads: any.
 */
millpond_retry millpond_error_retry(const millpond_error *error);

/**
 * Frees an error. NULL and an error that was freed before are fine.
 *
 * Threads: any.
 */
void millpond_error_free(millpond_error *error);

/**
 * How many kinds of errors there are.
 *
 * Threads: any.
 */
size_t millpond_error_kind_count(void);

/**
 * One row of the table of errors, for a binding that proves that it has a class for each.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an index from `millpond_error_kind_count` on.
 *
 * Threads: any.
 */
millpond_status millpond_error_kind_at(size_t index,
                                       millpond_error_kind *kind,
                                       millpond_error **error);

/**
 * Fills options with what stands for "not given". The URL still has to be set.
 *
 *     millpond_options options;
 *     millpond_options_init(&options);
 *     options.url.data = "redis://db.example";
 *     options.url.length = strlen(options.url.data);
 *     options.timeout_ms = 500;
 *     millpond_status status = millpond_connect_with(&options, &client, &error);
 *
 * Does nothing for NULL.
 *
 * Threads: any.
 */
void millpond_options_init(millpond_options *options);

/**
 * Connects to a server or opens an embedded engine.
 *
 * | URL                                        | what                                            |
 * | ------------------------------------------ | ----------------------------------------------- |
 * | `memory:`                                  | embedded, gone with the client                  |
 * | `memory:name`                              | embedded, shared in the process                 |
 * | `file:dir`                                 | embedded and durable, in this directory         |
 * | `redis://user:password@host:6379/db`       | one server; `rediss:` for TLS                   |
 * | `redis+unix:///path/to/socket`             | one server on a Unix socket                     |
 * | `redis+sentinel://host,host2/service/db`   | follows failovers; `rediss+sentinel:` for TLS   |
 * | `redis+cluster://host,host2`               | Redis Cluster; `rediss+cluster:` for TLS        |
 *
 * Options go behind a `?`, as in `redis://host?timeout=500ms&pool=4`. A call takes at most
 * `timeout` (5s), connecting (each time at most `connect_timeout`, 1s) and trying again (at most
 * `retries`, 10) included; `pool` (16) idle connections are kept.
 *
 * A Redis client connects when it first has something to send, so a process can fork after this.
 *
 * `client` is set to the client, which the caller frees with `millpond_client_free`, or on failure
 * to NULL.
 *
 *     millpond_client *client;
 *     millpond_error *error;
 *     if (millpond_connect("memory:", 7, &client, &error) != MILLPOND_OK) {
 *         fprintf(stderr, "%s\n", millpond_error_message(error));
 *         millpond_error_free(error);
 *         return 1;
 *     }
 *
 * Errors: `MILLPOND_INVALID_URL` for a URL or an option that is not known; for `file:`,
 * `MILLPOND_LOCKED` if another process holds the directory, `MILLPOND_CORRUPT` if it is damaged.
 *
 * Threads: any.
 */
millpond_status millpond_connect(const char *url,
                                 size_t url_length,
                                 millpond_client **client,
                                 millpond_error **error);

/**
 * `millpond_connect` with options beside the URL; the caller frees `client` as there.
 *
 * Errors: as `millpond_connect`; `MILLPOND_INVALID_ARGUMENT` names the option that is wrong.
 *
 * Threads: any.
 */
millpond_status millpond_connect_with(const millpond_options *options,
                                      millpond_client **client,
                                      millpond_error **error);

/**
 * Closes the client: calls on it answer `MILLPOND_CLOSED` from now on, whoever waits for a batch
 * is woken and finds that out, and what an embedded engine still holds back is written. The handle
 * still has to be freed. Closing twice is fine.
 *
 * Errors: `MILLPOND_STORAGE` if the disk refuses the last write.
 *
 * Threads: any.
 */
millpond_status millpond_close(millpond_client *client, millpond_error **error);

/**
 * Frees a client. Leases, batches and channels that were made from it keep what they need of it;
 * with the last of them it closes. A call that is under way in another thread ends as if nothing
 * had happened. NULL and a client that was freed before are fine.
 *
 * Threads: any.
 */
void millpond_client_free(millpond_client *client);

/**
 * The entries as an array of `millpond_entries_length`, lowest score first. Lives until the
 * entries are freed. NULL for NULL and for a handle that was freed or is none.
 *
 *     const millpond_entry *entry = millpond_entries_data(entries);
 *     for (size_t i = 0; i < millpond_entries_length(entries); i++)
 *         index_document(entry[i].member, entry[i].member_length);
 *
 * Threads: any.
 */
const millpond_entry *millpond_entries_data(const millpond_entries *entries);

/**
 * How many entries there are; 0 where `millpond_entries_data` is NULL.
 *
 * Threads: any.
 */
size_t millpond_entries_length(const millpond_entries *entries);

/**
 * The bytes of all members, one after the other without gaps, in the order of the entries: for
 * interpreters, which copy them in one go. Lives until the entries are freed. NULL as in
 * `millpond_entries_data`.
 *
 * Threads: any.
 */
const char *millpond_entries_bytes(const millpond_entries *entries);

/**
 * How many bytes all members have together.
 *
 * Threads: any.
 */
size_t millpond_entries_bytes_length(const millpond_entries *entries);

/**
 * Frees entries. NULL and entries that were freed before are fine.
 *
 * Threads: any.
 */
void millpond_entries_free(millpond_entries *entries);

/**
 * The keys as an array of `millpond_keys_length`. Lives until the keys are freed. NULL for NULL
 * and for a handle that was freed or is none.
 *
 * Threads: any.
 */
const millpond_bytes *millpond_keys_data(const millpond_keys *keys);

/**
 * How many keys there are; 0 where `millpond_keys_data` is NULL.
 *
 * Threads: any.
 */
size_t millpond_keys_length(const millpond_keys *keys);

/**
 * Frees keys. NULL and keys that were freed before are fine.
 *
 * Threads: any.
 */
void millpond_keys_free(millpond_keys *keys);

/**
 * Flags members as dirty: each keeps the lower of its old and its new score. No pairs at all make
 * the Ick if it is not there.
 *
 * `added` may be NULL.
 *
 *     millpond_ick_pair pairs[] = {{"a.txt", 5, 1.0, false}, {"b.txt", 5, 0, true}};
 *     status = millpond_ick_add(client, "files", 5, pairs, 2, NULL, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a NaN, a member above 16 MiB or a name above 64 KiB,
 * before anything is sent; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys
 * hold something else; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` the members may or may not be flagged; adding them
 * again is safe. Above 250,000 members it takes several steps, each atomic.
 *
 * Threads: any.
 */
millpond_status millpond_ick_add(millpond_client *client,
                                 const char *name,
                                 size_t name_length,
                                 const millpond_ick_pair *pairs,
                                 size_t count,
                                 millpond_ick_added *added,
                                 millpond_error **error);

/**
 * Moves the lowest members to the consumer set until that holds `max`, and answers its first
 * `max`, lowest first. What was reserved before and not committed is part of the batch. With
 * `backwash` it first folds the whole consumer set back into the producer set, so that the batch
 * holds the lowest scores of both.
 *
 * `entries` is set to the batch, which may be empty and which the caller frees with
 * `millpond_entries_free`, or on failure to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `max` from 10^17 on; `MILLPOND_WRONG_TYPE` and
 * `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those of the connection.
 *
 * Delivery: at least once. A batch stays reserved until it is committed, whatever becomes of its
 * consumer.
 *
 * Threads: any.
 */
millpond_status millpond_ick_reserve(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     uint64_t max,
                                     bool backwash,
                                     millpond_entries **entries,
                                     millpond_error **error);

/**
 * Removes members that are done from the consumer set. A member that was added again meanwhile
 * stays dirty.
 *
 * `committed` is set to how many were there; it may be NULL.
 *
 * Errors: `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
 * else; those of the connection.
 *
 * Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` do not commit again, but
 * reserve: what comes is work to be done. Above 250,000 members it takes several steps, each
 * atomic.
 *
 * Threads: any.
 */
millpond_status millpond_ick_commit(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    const millpond_bytes *members,
                                    size_t count,
                                    uint64_t *committed,
                                    millpond_error **error);

/**
 * Commits one batch and reserves the next in one step: one round trip a batch. Arguments and
 * answer are those of `millpond_ick_commit` and `millpond_ick_reserve`.
 *
 * Errors: as both; also `MILLPOND_INVALID_ARGUMENT` for more than 250,000 members.
 *
 * Delivery: as both; after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` go on with an exchange
 * that commits nothing.
 *
 * Threads: any.
 */
millpond_status millpond_ick_exchange(millpond_client *client,
                                      const char *name,
                                      size_t name_length,
                                      uint64_t max,
                                      const millpond_bytes *members,
                                      size_t count,
                                      bool backwash,
                                      millpond_entries **entries,
                                      millpond_error **error);

/**
 * Reads the sizes and score ranges of both sets. An Ick that is not there is no error: see
 * `exists`.
 *
 * Errors: `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
 * else; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_ick_stats_read(millpond_client *client,
                                        const char *name,
                                        size_t name_length,
                                        millpond_ick_stats *stats,
                                        millpond_error **error);

/**
 * Reads up to `max` of the lowest members of one set and moves nothing. `set` is
 * `MILLPOND_ICK_PRODUCER` or `MILLPOND_ICK_CONSUMER`.
 *
 * `entries` is set to what was found, which the caller frees with `millpond_entries_free`, or on
 * failure to NULL.
 *
 * Errors: as `millpond_ick_reserve`; `MILLPOND_INVALID_ARGUMENT` for another `set`.
 *
 * Threads: any.
 */
millpond_status millpond_ick_peek(millpond_client *client,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t set,
                                  uint64_t max,
                                  millpond_entries **entries,
                                  millpond_error **error);

/**
 * Removes the Ick's three keys, whatever they hold: the way out of a broken Ick. With `unlink`
 * Redis frees the memory in the background.
 *
 * `removed` is set to how many keys there were; it may be NULL.
 *
 * Errors: those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_ick_delete(millpond_client *client,
                                    const char *name,
                                    size_t name_length,
                                    bool unlink,
                                    uint64_t *removed,
                                    millpond_error **error);

/**
 * The version flag of every Ick, `ick.v1`; lives for ever.
 *
 * Threads: any.
 */
const char *millpond_ick_version(void);

/**
 * The KEYS of every script of an Ick but those of the lease, in order: the flag (which is the name
 * itself), the producer set, the consumer set. For connections of your own; makes no call. A step
 * that is fenced by a lease has that of `millpond_ick_lease_keys` as its fourth.
 *
 * `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to
 * NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name above 64 KiB.
 *
 * Threads: any.
 */
millpond_status millpond_ick_keys(const char *name,
                                  size_t name_length,
                                  millpond_keys **keys,
                                  millpond_error **error);

/**
 * The KEYS of the scripts `ick.acquire`, `ick.renew` and `ick.release`, which is one: the lease.
 * The caller frees `keys` as in `millpond_ick_keys`.
 *
 * Errors: as `millpond_ick_keys`.
 *
 * Threads: any.
 */
millpond_status millpond_ick_lease_keys(const char *name,
                                        size_t name_length,
                                        millpond_keys **keys,
                                        millpond_error **error);

/**
 * The loop of a consumer of one Ick. Each batch has at most `max` members, and never more than
 * 250,000. With a `wait_ms` of -1 the loop is over when there is nothing left; else a call waits
 * up to so many milliseconds for work, anew for each batch (`INT64_MAX` is for ever). It waits
 * without polling: it is woken when somebody adds, and looks every five seconds for producers that
 * do not announce what they add. `millpond_close` on the client ends the wait.
 *
 * `batches` is set to the loop, which the caller frees with `millpond_batches_free`, or on failure
 * to NULL. Makes no call yet.
 *
 *     millpond_batches *batches;
 *     millpond_entries *entries;
 *     if (millpond_ick_batches(client, "files", 5, 100, -1, &batches, &error) != MILLPOND_OK)
 *         return failed(error);
 *     while (millpond_batches_next(batches, &entries, &error) == MILLPOND_OK && entries != NULL) {
 *         work_on(entries);
 *         millpond_entries_free(entries);
 *     }
 *     millpond_batches_free(batches);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
 *
 * Threads: any.
 */
millpond_status millpond_ick_batches(millpond_client *client,
                                     const char *name,
                                     size_t name_length,
                                     uint64_t max,
                                     int64_t wait_ms,
                                     millpond_batches **batches,
                                     millpond_error **error);

/**
 * Commits the last batch and takes the next, in one round trip.
 *
 * `entries` is set to the batch, which the caller frees with `millpond_entries_free`; to NULL on
 * failure, and also on success when the loop is over. After an error that trying again can mend
 * (see `millpond_error_retry`) the loop may go on: a batch whose commit may or may not have been
 * done comes again if it was not.
 *
 * Errors: as `millpond_ick_exchange`; `MILLPOND_LEASE_LOST` for the batches of a lease;
 * `MILLPOND_CANCELLED` if `millpond_on_interrupt` said so; `MILLPOND_CLOSED` once the client was
 * closed.
 *
 * Threads: one at a time; see `millpond_batches`.
 */
millpond_status millpond_batches_next(millpond_batches *batches,
                                      millpond_entries **entries,
                                      millpond_error **error);

/**
 * Commits the last batch, for a loop that is left before its end.
 *
 * `committed` is set to how many members were still reserved, which is 0 if the batch was
 * committed already, or if that was tried and failed: it comes again then, if need be. It may be
 * NULL.
 *
 * Errors: as `millpond_ick_commit`; `MILLPOND_LEASE_LOST` for the batches of a lease.
 *
 * Threads: one at a time; see `millpond_batches`.
 */
millpond_status millpond_batches_commit(millpond_batches *batches,
                                        uint64_t *committed,
                                        millpond_error **error);

/**
 * Frees batches. The last batch stays reserved unless it was committed: the next reserve brings it
 * again. NULL and batches that were freed before are fine.
 *
 * Threads: any.
 */
void millpond_batches_free(millpond_batches *batches);

/**
 * Takes the consumer lease of an Ick, which keeps two consumers from working on one batch by
 * mistake. `ttl_ms` is its term in milliseconds, from 1 to a day; it is renewed until it is
 * released or freed, and a consumer that crashed loses it after a term at most.
 *
 * `lease` is set to the lease, which the caller frees with `millpond_lease_free`; to NULL on
 * failure, and also on success if another consumer holds it.
 *
 *     millpond_lease *lease;
 *     status = millpond_ick_lease_acquire(client, "files", 5, 30000, &lease, &error);
 *     if (status == MILLPOND_OK && lease == NULL)
 *         puts("somebody else is at work");
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a term out of range; those of the connection.
 *
 * Threads: any.
 */
millpond_status millpond_ick_lease_acquire(millpond_client *client,
                                           const char *name,
                                           size_t name_length,
                                           uint64_t ttl_ms,
                                           millpond_lease **lease,
                                           millpond_error **error);

/**
 * Whether the lease is lost: because a renewal was refused, because none has succeeded for a
 * whole term, or because it was released. Then stop working on the batch. Sends nothing; any
 * thread may ask at any time.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is no lease.
 *
 * Threads: any.
 */
millpond_status millpond_lease_is_lost(const millpond_lease *lease,
                                       bool *lost,
                                       millpond_error **error);

/**
 * The token that the lease's steps carry, for steps that are sent by hand. Lives until the lease
 * is freed. Any thread may ask at any time.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is no lease.
 *
 * Threads: any.
 */
millpond_status millpond_lease_token(const millpond_lease *lease,
                                     millpond_bytes *token,
                                     millpond_error **error);

/**
 * `millpond_ick_reserve` for the holder alone.
 *
 * Errors: `MILLPOND_LEASE_LOST`, and those of `millpond_ick_reserve`.
 *
 * Threads: one at a time; see `millpond_lease`.
 */
millpond_status millpond_lease_reserve(millpond_lease *lease,
                                       uint64_t max,
                                       millpond_entries **entries,
                                       millpond_error **error);

/**
 * `millpond_ick_commit` for the holder alone; one step.
 *
 * Errors: `MILLPOND_LEASE_LOST`, and those of `millpond_ick_commit`; also
 * `MILLPOND_INVALID_ARGUMENT` for more than 250,000 members.
 *
 * Threads: one at a time; see `millpond_lease`.
 */
millpond_status millpond_lease_commit(millpond_lease *lease,
                                      const millpond_bytes *members,
                                      size_t count,
                                      uint64_t *committed,
                                      millpond_error **error);

/**
 * `millpond_ick_exchange` for the holder alone, without backwash.
 *
 * Errors: `MILLPOND_LEASE_LOST`, and those of `millpond_ick_exchange`.
 *
 * Threads: one at a time; see `millpond_lease`.
 */
millpond_status millpond_lease_exchange(millpond_lease *lease,
                                        uint64_t max,
                                        const millpond_bytes *members,
                                        size_t count,
                                        millpond_entries **entries,
                                        millpond_error **error);

/**
 * `millpond_ick_batches` for the holder alone: its calls answer `MILLPOND_LEASE_LOST` once the
 * lease is lost. The batches do not keep the lease: it has to outlive them.
 *
 * Errors: `MILLPOND_LEASE_LOST` if the lease was released; those of `millpond_ick_batches`.
 *
 * Threads: one at a time; see `millpond_lease`.
 */
millpond_status millpond_lease_batches(millpond_lease *lease,
                                       uint64_t max,
                                       int64_t wait_ms,
                                       millpond_batches **batches,
                                       millpond_error **error);

/**
 * Gives the lease back, so that another consumer can take it at once. The handle still has to be
 * freed.
 *
 * `was_held` is set to false if it was lost before; it may be NULL.
 *
 * Errors: `MILLPOND_LEASE_LOST` if it was released already; those of the connection, and then it
 * runs out by itself.
 *
 * Threads: one at a time; see `millpond_lease`.
 */
millpond_status millpond_lease_release(millpond_lease *lease,
                                       bool *was_held,
                                       millpond_error **error);

/**
 * Frees a lease. One that was not released is given back in the background, but not by the child
 * of a fork, whose parent may still hold it. NULL and a lease that was freed before are fine.
 *
 * Threads: any.
 */
void millpond_lease_free(millpond_lease *lease);

/**
 * The channel of `shards` Icks of this name. A consumer that also reads the Icks of an earlier,
 * larger number says so by `draining`, which is 0 otherwise. Resizing is safe at any time: a
 * member may be processed twice on the way; none is lost. Makes no call.
 *
 * `channel` is set to the channel, which the caller frees with `millpond_ick_channel_free`, or on
 * failure to NULL.
 *
 *     millpond_ick_channel *channel;
 *     status = millpond_ick_channel_new(client, "files", 5, 4, 0, &channel, &error);
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for no Ick or more than 65,536.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_new(millpond_client *client,
                                         const char *name,
                                         size_t name_length,
                                         uint32_t shards,
                                         uint32_t draining,
                                         millpond_ick_channel **channel,
                                         millpond_error **error);

/**
 * How many Icks members are spread over.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is no channel.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_shards(const millpond_ick_channel *channel,
                                            uint32_t *shards,
                                            millpond_error **error);

/**
 * How many Icks consumers have to read, which is more while an earlier size is drained.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is no channel.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_readable(const millpond_ick_channel *channel,
                                              uint32_t *readable,
                                              millpond_error **error);

/**
 * The number of the Ick in which this member lives.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is no channel.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_ick_of(const millpond_ick_channel *channel,
                                            const char *member,
                                            size_t member_length,
                                            uint32_t *number,
                                            millpond_error **error);

/**
 * The name of the Ick with this number, for the functions of an Ick.
 *
 * `name` is set to a list of one, which the caller frees with `millpond_keys_free`, or on failure
 * to NULL.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for what is no channel.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_ick_name(const millpond_ick_channel *channel,
                                              uint32_t number,
                                              millpond_keys **name,
                                              millpond_error **error);

/**
 * Flags members as dirty, each in its Ick; see `millpond_ick_add`.
 *
 * Errors: as `millpond_ick_add`. One step an Ick: after an error some Icks may have their members
 * already; adding all of them again is safe.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_add(millpond_ick_channel *channel,
                                         const millpond_ick_pair *pairs,
                                         size_t count,
                                         millpond_ick_added *added,
                                         millpond_error **error);

/**
 * The loop of a consumer of the Icks with these numbers: takes from each in turn. Everything else
 * is as in `millpond_ick_batches`.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a number that the channel does not have, or no number.
 *
 * Threads: any.
 */
millpond_status millpond_ick_channel_batches(millpond_ick_channel *channel,
                                             const uint32_t *numbers,
                                             size_t count,
                                             uint64_t max,
                                             int64_t wait_ms,
                                             millpond_batches **batches,
                                             millpond_error **error);

/**
 * Frees a channel. Batches that were made from it go on. NULL and a channel that was freed before
 * are fine.
 *
 * Threads: any.
 */
void millpond_ick_channel_free(millpond_ick_channel *channel);

/**
 * Installs the question that a call which waits asks: whether to stop. The call then answers
 * `MILLPOND_CANCELLED`. For interpreters, which have to run their signal handlers while a call
 * waits.
 *
 * It is asked on the thread that waits: by one that waits for a batch about every 50 milliseconds
 * and whenever a signal arrives, by one that waits for a server's answer whenever a signal arrives.
 * It must return (no longjmp, no exception), and must not call Millpond. A question that was
 * installed before is replaced; NULL installs none. It holds for the whole process.
 *
 * Threads: any.
 */
void millpond_on_interrupt(bool (*check)(void));

/**
 * Finds the script of a step by its name, such as `ick.add`. Makes no call.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for a name that no step has.
 *
 * Threads: any.
 */
millpond_status millpond_script_find(const char *name,
                                     millpond_script *script,
                                     millpond_error **error);

/**
 * How many scripts there are.
 *
 * Threads: any.
 */
size_t millpond_script_count(void);

/**
 * The script with this number, from 0, so that all of them can be loaded beforehand.
 *
 * Errors: `MILLPOND_INVALID_ARGUMENT` for an index from `millpond_script_count` on.
 *
 * Threads: any.
 */
millpond_status millpond_script_at(size_t index, millpond_script *script, millpond_error **error);

/**
 * Says what an error means that a server answered to a script on a connection of your own:
 * `reply` is its text, such as `WRONGTYPE the key ...`, without the `-` of the protocol.
 *
 * Errors: the one that a call of Millpond's would have answered, so this always fails.
 *
 * Threads: any.
 */
millpond_status millpond_script_error(const char *reply,
                                      size_t reply_length,
                                      millpond_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MILLPOND_H */
