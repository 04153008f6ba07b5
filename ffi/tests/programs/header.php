<?php
// The header for FFI parses as it is, and its structures are laid out as in C.
[, $header, $library] = $argv;
$millpond = FFI::cdef(file_get_contents($header), $library);
$sizes = ['millpond_ick_pair' => 32, 'millpond_ick_stats' => 88, 'millpond_ick_entry' => 24,
    'millpond_options' => 112, 'millpond_error_kind' => 24, 'millpond_script' => 32,
    'millpond_shuffle_options' => 48, 'millpond_shuffle_consumer_options' => 32,
    'millpond_shuffle_field' => 32, 'millpond_shuffle_new_message' => 40,
    'millpond_shuffle_receipt' => 24, 'millpond_shuffle_message' => 48,
    'millpond_shuffle_dead_letter' => 72, 'millpond_shuffle_stream_stats' => 32,
    'millpond_task' => 160, 'millpond_doc' => 128, 'millpond_task_id' => 24, 'millpond_doc_id' => 40,
    'millpond_new_task' => 144, 'millpond_task_change' => 168, 'millpond_new_doc' => 96,
    'millpond_doc_change' => 80, 'millpond_tasks_modification' => 152, 'millpond_task_position' => 24,
    'millpond_doc_position' => 48, 'millpond_tasks_data' => 152, 'millpond_task_query' => 48,
    'millpond_doc_query' => 64, 'millpond_tasks_filter' => 48, 'millpond_task_filter' => 72,
    'millpond_task_queue_stats' => 88,
    'millpond_task_namespace_stats' => 32, 'millpond_tasks_dependency' => 168,
    'millpond_tasks_worker_options' => 104, 'millpond_report_data' => 32, 'millpond_shuffle_worker_options' => 80,
    'millpond_job_counts' => 32, 'millpond_schedule' => 160, 'millpond_schedule_info' => 128,
    'millpond_schedules_synced' => 40, 'millpond_events_data' => 120,
    'millpond_task_outcome' => 56, 'millpond_hash_pair' => 32, 'millpond_hash_field' => 40,
    'millpond_field_position' => 24, 'millpond_value_or_lock' => 32, 'millpond_lock_acquired' => 16,
    'millpond_lock_holder' => 32, 'millpond_hash_stats' => 24, 'millpond_hash_reaped' => 40,
    'millpond_field_query' => 32, 'millpond_volatile_data' => 104, 'millpond_new_job' => 80,
    'millpond_duty' => 40, 'millpond_enlistment_stats' => 72, 'millpond_recruiter_job_stats' => 112,
    'millpond_recruiter_data' => 48, 'millpond_tracked' => 24, 'millpond_tracking_stats' => 40,
    'millpond_tracker_scanned' => 24, 'millpond_tracker_pruned' => 16, 'millpond_tracker_data' => 88];
foreach ($sizes as $type => $size) {
    $found = FFI::sizeof($millpond->type($type));
    $found === $size or exit("$type has $found bytes in place of $size\n");
}
$millpond->MILLPOND_DEPENDENCY === 22 or exit("there is no MILLPOND_DEPENDENCY\n");
$millpond->millpond_abi_version() === $millpond->MILLPOND_ABI_VERSION or exit("another ABI\n");
echo "ok\n";
