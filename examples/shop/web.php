<?php

/**
 * The shop in PHP: its page, and a process for each of its workers.
 *
 * REDIS_URL=redis://localhost php -d ffi.enable=1 -S localhost:8000 examples/shop/web.php
 * REDIS_URL=redis://localhost php examples/shop/web.php charges   # also: invoices, news
 *
 * shop.py opens the customers' accounts, configures the events, and runs this shop in four languages.
 */

declare(strict_types=1);

use Millpond\EventJob;
use Millpond\Exception\MillpondException;
use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\WorkerOptions;

require __DIR__ . '/../php/autoload.php';

const WEEK = 7 * 24 * 60 * 60;

if (PHP_SAPI === 'cli') {
    work($argv[1]);
} else {
    http_response_code($_SERVER['REQUEST_URI'] === '/orders' ? order() : 404);
}

function order(): int
{
    $order = json_decode(file_get_contents('php://input'));
    $value = ['customer' => $order->customer, 'amount' => $order->amount];
    try {
        // It fails fast while the server is away. The connection is there for the next page.
        $pages = Millpond::connect(getenv('REDIS_URL') . '?persist=60s', retries: 0, timeout: 2);
        // A client that got no reply repeats this: the id stays taken for a week after the charge.
        $task = new NewTask('charges', $value, id: $order->id, dedupWindow: WEEK);
        $pages->tasks('shop')->modify((new Modification())->insert($task, skipColliding: true));
        return 202;
    } catch (MillpondException $error) {
        error_log($error->getMessage());
        return 503;
    }
}

function work(string $what): void
{
    $client = Millpond::connect(getenv('REDIS_URL'));
    [$store, $news] = [$client->tasks('shop'), $client->events('shop/news')];

    $charge = function (Job $job) use ($news): Modification {
        ['customer' => $customer, 'amount' => $amount] = $job->task->value();
        $order = $job->task->id;
        // Until this job ends, no other one charges this customer.
        [$account] = $job->claimDocs('accounts', $customer, wait: 5);
        $payload = json_encode(['order' => $order, 'customer' => $customer]);
        // A repeat adds nothing, as the id is made from the order.
        $event = $news->publish(new NewEvent($payload, key: $customer, dedupId: "charged-$order", dedupWindow: WEEK));
        ['balance' => $balance, 'charges' => $number] = $account->content();
        $number += 1;
        $invoice = [...compact('order', 'customer', 'amount', 'number'), 'event' => $event->status];
        return $job->delete()
            ->changeDoc($account->change(['balance' => $balance - $amount, 'charges' => $number]))
            ->insert(new NewTask('invoices', $invoice));
    };
    $invoice = function (Job $job): Modification {
        $value = $job->task->value();
        return $job->delete()->putDoc(new NewDoc('invoices', $value['order'], $value));
    };
    $tell = function (EventJob $job) use ($store): void {
        ['order' => $order, 'customer' => $customer] = json_decode($job->event->payload, true);
        $notes = $store->getDoc('news', $customer);
        $note = "{$job->event->id} $order";
        if (!in_array($note, $notes->content())) { // an event can be delivered again
            // Refused if another worker has changed it: then the event is delivered again, too.
            $store->modify((new Modification())->changeDoc($notes->change([...$notes->content(), $note])));
        }
    };

    // The lease is how long others wait for what a killed process held. Only the tenth kill puts a task aside.
    $options = new WorkerOptions(lease: 5, backoff: 0.5, maxCrashes: 10);
    [$worker, $handler] = match ($what) {
        'charges' => [$store->worker('charges', $options), $charge],
        'invoices' => [$store->worker('invoices', $options), $invoice],
        'news' => [$news->worker(), $tell],
    };
    pcntl_signal(SIGTERM, fn () => $worker->stop(25)); // also before run() has begun
    echo "ready\n";
    $worker->run($handler);
}
