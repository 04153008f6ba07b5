<?php

/**
 * What a task store is for: a step of work and everything that follows from it happen together, once,
 * even if several workers try it.
 *
 * php examples/php/tasks.php [URL]
 */

declare(strict_types=1);

use Millpond\Exception\DependencyException;
use Millpond\Millpond;
use Millpond\RetryJob;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;

require __DIR__ . '/autoload.php';

$client = Millpond::connect($argv[1] ?? 'memory:');
// A store of its own for each run.
$name = 'examples/tasks/' . getmypid();
[$ann, $bob] = [$client->tasks($name, 'ann'), $client->tasks($name, 'bob')];

// An order, and an account that it will be taken from.
$ann->insert(new NewTask('orders', ['account' => '7', 'price' => 30]));
$ann->putDoc(new NewDoc('accounts', '7', ['balance' => 100]));

// Ann claims the order, and is too slow: her lease is over at once. Bob claims it as well.
$anns = $ann->claim('orders', lease: 0);
$bobs = $bob->claim('orders', lease: 30);
assert([$anns->version, $bobs->version] === [1, 2]);

// Bob does all of it in one step: the order is gone, the invoice is there, the balance is less.
['account' => $key, 'price' => $price] = $bobs->value();
[$account] = $bob->claimDocs('accounts', $key);
$balance = $account->content()['balance'] - $price;
$done = $bob->modify((new Modification())
    ->delete($bobs)
    ->insert(new NewTask('invoices', $bobs->value()))
    ->changeDoc($account->change(['balance' => $balance], release: true)));
assert($done->changedDocs[0]->json === '{"balance":70}');

// Ann's version is stale, so her modification is refused: no second invoice.
try {
    $ann->modify((new Modification())->delete($anns)->insert(new NewTask('invoices', $anns->value())));
    throw new LogicException('the order was gone');
} catch (DependencyException $refused) {
    assert($refused->deletes == [$anns->handle()]);
    echo 'one order, one invoice: ', $refused->getMessage(), "\n";
}

// A worker claims, renews while the handler works, retries what failed, and moves to the error queue
// what fails too often.
$worker = $bob->worker('invoices', new WorkerOptions(backoff: 0, backoffMax: 0, maxAttempts: 2));
$worker->drain(fn (Job $job) => throw new RetryJob('the printer is off'));
[$aside] = $bob->list('invoices/err')->tasks;
assert([$aside->attempt, $aside->err] === [2, "the printer is off\nexhausted: the printer is off"]);
echo "after $aside->attempt attempts in $aside->queue: ", strtr($aside->err, ["\n" => '; ']), "\n";

// It is switched on, and the invoice moved back.
$bob->modify((new Modification())->change($aside->change(queue: 'invoices', attempt: 0, err: '')));
$drained = $worker->drain(function (Job $job): void {
    echo 'printed ', $job->task->json, "\n";
});
assert($drained->done === 1);
assert($bob->queues() === []);
$bob->modify((new Modification())->deleteDoc($bob->getDoc('accounts', '7')));
$client->close();
