<?php

// php orders.php URL produce|work|count [NUMBER]: orders that become invoices, as in the other languages' programs.

declare(strict_types=1);

use Millpond\Millpond;
use Millpond\Tasks\{Job, Modification, NewTask, WorkerOptions};

require 'vendor/autoload.php';

function bill(Job $job): Modification
{
    usleep(20_000);
    echo $job->task->value()['number'], "\n";

    return $job->delete()->insert(new NewTask('invoices', $job->task->value()));
}

[, $url, $role, $number] = [...$argv, '0'];
$store = Millpond::connect($url)->tasks('shop');
$insert = function (int $count) use ($store): void {
    for ($order = 0; $order < $count; ++$order) {
        $store->insert(new NewTask('orders', ['number' => $order]));
    }
};
if ($role === 'produce') {
    $insert((int) $number);
} elseif ($role === 'work') {
    $store->worker('orders', new WorkerOptions(lease: 1))->run(bill(...));
    echo "stopped\n";
} else {
    if ($url === 'memory:') {
        $insert(3);
        $store->worker('orders')->drain(bill(...));
    }
    $queues = $store->queues();
    echo $queues['orders'] ?? 0, ' orders, ', $queues['invoices'] ?? 0, " invoices\n";
}
