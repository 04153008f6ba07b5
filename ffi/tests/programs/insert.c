/* Inserts what the first program of the README works on. */
#include <millpond.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    millpond_client *client;
    millpond_tasks_store *store;
    return millpond_connect(getenv("URL"), strlen(getenv("URL")), &client, NULL) ||
           millpond_tasks_store_new(client, "shop", 4, NULL, 0, &store, NULL) ||
           millpond_tasks_insert(store, "mails", 5, "{\"to\": \"ann\"}", 13, NULL, NULL);
}
