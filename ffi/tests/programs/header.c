/* The header alone, in every language that it is for. */

#include <millpond.h>

int main(void) {
    millpond_options options;
    millpond_options_init(&options, sizeof options);
    return options.retries == MILLPOND_NOT_SET && millpond_abi_version() == MILLPOND_ABI_VERSION ? 0 : 1;
}
