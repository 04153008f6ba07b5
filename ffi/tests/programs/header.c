/* The header alone, in every language that it is for. */

#include <millpond.h>

int main(void) {
    millpond_options options;
    millpond_options_init(&options);
    return options.retries == -1 && millpond_abi_version() == MILLPOND_ABI_VERSION ? 0 : 1;
}
