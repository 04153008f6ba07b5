/* Errors, and the library itself. */

#include "check.h"

#include <stdio.h>
#include <string.h>

static void table(const struct backend *none) {
    (void)none;
    const millpond_error_kind *kind;
    size_t count = millpond_error_kind_count();
    CHECK(count == MILLPOND_DEAD_LETTER);
    for (size_t i = 0; i < count; i++) {
        kind = millpond_error_kind_at(i);
        CHECK((size_t)kind->code == i + 1 && strlen(kind->name) > 3);
        CHECK(strcmp(millpond_status_name(kind->code), kind->name) == 0);
        if (kind->code == MILLPOND_LEASE_LOST)
            CHECK(strcmp(kind->name, "LEASE_LOST") == 0 && kind->retry == MILLPOND_RETRY_NEVER);
        if (kind->code == MILLPOND_LOCKED)
            CHECK(strcmp(kind->name, "LOCKED") == 0 && kind->retry == MILLPOND_RETRY_LATER);
        if (kind->code == MILLPOND_TIMEOUT)
            CHECK(strcmp(kind->name, "TIMEOUT") == 0 && kind->retry == MILLPOND_RETRY_UNKNOWN);
    }
    CHECK(millpond_error_kind_at(count) == NULL);
    CHECK(strcmp(millpond_status_name(MILLPOND_OK), "OK") == 0);
    CHECK(strcmp(millpond_status_name((uint32_t)count + 1), "UNKNOWN") == 0);
}

/* In no header: only a library that is built for tests has it. */
millpond_status millpond_test_panic(millpond_error **error);

static void a_panic_is_an_error(const struct backend *none) {
    (void)none;
    millpond_error *error;
    fprintf(stderr, "The panic that is printed next is meant to be there.\n");
    CHECK(millpond_test_panic(&error) == MILLPOND_INTERNAL);
    CHECK(strcmp(millpond_status_name(millpond_error_code(error)), "INTERNAL") == 0);
    CHECK(strcmp(millpond_error_message(error), "Millpond panicked: on request") == 0);
    CHECK(millpond_error_retry(error) == MILLPOND_RETRY_UNKNOWN);
    millpond_error_free(error);
    CHECK(millpond_test_panic(NULL) == MILLPOND_INTERNAL);
}

static void parts(const struct backend *none) {
    (void)none;
    millpond_client *client;
    millpond_ick_entries *entries;
    millpond_error *error = (millpond_error *)&client;

    /* The previous value is not read. */
    OK(millpond_connect(S("redis://127.0.0.1:1?retries=0"), &client, &error));
    CHECK(millpond_ick_reserve(client, S("x"), 1, false, &entries, &error) ==
          MILLPOND_CONNECTION_FAILED);
    CHECK(millpond_error_code(error) == MILLPOND_CONNECTION_FAILED);
    CHECK(strcmp(millpond_status_name(millpond_error_code(error)), "CONNECTION_FAILED") == 0);
    CHECK(strcmp(millpond_error_operation(error), "ick.reserve") == 0);
    CHECK(strncmp(millpond_error_message(error), "ick.reserve: ", 13) == 0);
    CHECK(strstr(millpond_error_cause(error), "refused") != NULL);
    CHECK(millpond_error_retry(error) == MILLPOND_RETRY_LATER);
    millpond_error_free(error);
    millpond_error_free(error);
    CHECK(millpond_error_code(error) == MILLPOND_INVALID_ARGUMENT);
    CHECK(strcmp(millpond_status_name(millpond_error_code(error)), "INVALID_ARGUMENT") == 0);
    CHECK(strstr(millpond_error_message(error), "freed") != NULL);
    CHECK(strcmp(millpond_error_operation(error), "") == 0 && millpond_error_cause(error) == NULL);
    CHECK(millpond_error_retry(error) == MILLPOND_RETRY_NEVER);
    millpond_client_free(client);

    CHECK(millpond_error_code(NULL) == MILLPOND_OK);
    CHECK(strcmp(millpond_error_message(NULL), "") == 0);
    CHECK(strcmp(millpond_error_operation(NULL), "") == 0 && millpond_error_cause(NULL) == NULL);
    CHECK(millpond_error_retry(NULL) == MILLPOND_RETRY_NEVER);
    millpond_error_free(NULL);
}

static void urls(const struct backend *none) {
    (void)none;
    millpond_client *client;
    millpond_error *error;
    FAILS(MILLPOND_INVALID_URL, "scheme", millpond_connect(S("localhost"), &client, &error));
    FAILS(MILLPOND_INVALID_URL, "scheme", millpond_connect(NULL, 0, &client, &error));
    FAILS(MILLPOND_INVALID_URL, "the option tiemout is not known",
          millpond_connect(S("redis://h?tiemout=1s"), &client, &error));
    CHECK(millpond_connect(S("redis://:secret@h:port"), &client, &error) == MILLPOND_INVALID_URL);
    CHECK(strstr(millpond_error_message(error), "secret") == NULL);
    millpond_error_free(error);
    /* A length in the middle of a text is where it ends. */
    OK(millpond_connect("memory:and more", 7, &client, &error));
    millpond_client_free(client);
}

static void the_library(const struct backend *none) {
    (void)none;
    CHECK(millpond_abi_version() == MILLPOND_ABI_VERSION);
    CHECK(strcmp(millpond_version(), EXPECTED_VERSION) == 0);
    CHECK(strcmp(millpond_ick_version(), "ick.v1") == 0);
}

const struct test error_tests[] = {
    {"table", table},
    {"a_panic_is_an_error", a_panic_is_an_error},
    {"parts", parts},
    {"urls", urls},
    {"the_library", the_library},
    {NULL, NULL},
};
