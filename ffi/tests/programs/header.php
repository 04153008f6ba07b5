<?php
// The header for FFI parses as it is, and its structures are laid out as in C.
[, $header, $library] = $argv;
$millpond = FFI::cdef(file_get_contents($header), $library);
$sizes = ['millpond_ick_pair' => 32, 'millpond_ick_stats' => 80, 'millpond_entry' => 24,
    'millpond_options' => 88, 'millpond_error_kind' => 24, 'millpond_script' => 32,
    'millpond_shuffle_options' => 32, 'millpond_shuffle_consumer_options' => 24,
    'millpond_shuffle_field' => 32, 'millpond_shuffle_new_message' => 32,
    'millpond_shuffle_receipt' => 24, 'millpond_shuffle_message' => 48,
    'millpond_shuffle_dead_letter' => 96, 'millpond_shuffle_stream_stats' => 32];
foreach ($sizes as $type => $size) {
    $found = FFI::sizeof($millpond->type($type));
    $found === $size or exit("$type has $found bytes in place of $size\n");
}
$millpond->MILLPOND_INTERNAL === 21 or exit("there is no MILLPOND_INTERNAL\n");
$millpond->millpond_abi_version() === $millpond->MILLPOND_ABI_VERSION or exit("another ABI\n");
echo "ok\n";
