<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\BorrowedClient;
use Millpond\Client;
use Millpond\DirtyListInterface;
use Millpond\Entry;
use Millpond\Event;
use Millpond\EventConfigChange;
use Millpond\EventJob;
use Millpond\EventQueue;
use Millpond\EventState;
use Millpond\EventWorkerOptions;
use Millpond\ConsumerOptions;
use Millpond\Ick;
use Millpond\IckChannel;
use Millpond\IfExists;
use Millpond\Message;
use Millpond\Millpond;
use Millpond\NewEvent;
use Millpond\QueueTracker;
use Millpond\Recruiter;
use Millpond\Schedule;
use Millpond\ShuffleConsumer;
use Millpond\ShuffleJob;
use Millpond\ShuffleOptions;
use Millpond\ShuffleQueue;
use Millpond\ShuffleWorkerOptions;
use Millpond\Slice;
use Millpond\Tasks\Job;
use Millpond\Tasks\Modification;
use Millpond\Tasks\NewDoc;
use Millpond\Tasks\NewTask;
use Millpond\Tasks\Task;
use Millpond\Tasks\TaskId;
use Millpond\Tasks\TaskStore;
use Millpond\Tasks\WorkerOptions;
use Millpond\TrackKeys;
use Millpond\VolatileHash;
use Millpond\Why;

/**
 * The table of queues: what tests of that which holds for every queue, call and loop need to know of each. A new
 * kind of queue is a row of it.
 */
final class Queue
{
    /**
     * @param \Closure(Client|BorrowedClient, string): object $open    the queue of this name
     * @param \Closure(object, list<string>): mixed     $put     puts these texts there, ready to be taken
     * @param \Closure(mixed): string                   $text    what was put, of what a loop yields or a job
     * @param array<string, \Closure(object, int, ?float): object> $loops of a queue: loops over batches of up to this
     *                                                            many, that wait this long
     * @param \Closure(object): bool                    $isEmpty whether nothing was ever put there
     * @param \Closure(object): list<callable>          $calls   each refuses to work without its client
     * @param \Closure(Client, string): mixed           $use     makes every kind of call and leaves nothing
     * @param \Closure(object): list<object>            $holders what owns something of the library's, and is not copied
     * @param array<string, \Closure(object, int, ?float): object> $takes calls that wait, in the form of loops
     * @param (\Closure(object, mixed...): object)|null $worker  with options by their names
     * @param bool                                      $waits   whether its loops can wait
     * @param bool                                      $shares  whether several consumers may have the same item
     */
    private function __construct(
        public readonly \Closure $open,
        public readonly \Closure $put,
        public readonly \Closure $text,
        public readonly array $loops,
        public readonly \Closure $isEmpty,
        public readonly \Closure $calls,
        public readonly \Closure $use,
        public readonly \Closure $holders,
        public readonly array $takes = [],
        public readonly ?\Closure $worker = null,
        public readonly bool $waits = true,
        public readonly bool $shares = false,
    ) {
    }

    /**
     * @return array<string, self>
     */
    public static function all(): array
    {
        return ['ick' => self::ick(), 'channel' => self::channel(), 'shuffle' => self::shuffle(),
            'garbage' => self::garbage(), 'tasks' => self::tasks(), 'events' => self::events(),
            'volatile' => self::volatile(), 'recruiter' => self::recruiter(), 'tracker' => self::tracker()];
    }

    /**
     * Each loop, by its name: what opens it.
     *
     * @return array<string, \Closure(Client|BorrowedClient, string, int=, ?float=): Loop>
     */
    public static function loops(): array
    {
        return self::opened(static fn (self $row): array => $row->loops);
    }

    /**
     * Each loop and each call that can wait.
     *
     * @return array<string, \Closure(Client|BorrowedClient, string, int=, ?float=): Loop>
     */
    public static function waits(): array
    {
        return self::opened(static fn (self $row): array => $row->waits ? $row->loops + $row->takes : []);
    }

    /**
     * @param \Closure(self): array<string, \Closure> $of
     */
    private static function opened(\Closure $of): array
    {
        $all = [];
        foreach (self::all() as $row) {
            foreach ($of($row) as $name => $make) {
                $all[$name] = static function (Client|BorrowedClient $client, string $name, int $max = 1, ?float $wait = null) use ($row, $make): Loop {
                    $queue = ($row->open)($client, $name);

                    return new Loop($row, $queue, $make($queue, $max, $wait));
                };
            }
        }

        return $all;
    }

    /**
     * The arguments of tests: each of these rows, with each of those kinds of client or whatever else.
     *
     * @param array<string, mixed>       $rows
     * @param array<string, list<mixed>> $with
     *
     * @return iterable<string, list<mixed>>
     */
    public static function each(array $rows, array $with = ['' => []]): iterable
    {
        foreach ($rows as $name => $row) {
            foreach ($with as $other => $values) {
                yield \rtrim("$name, $other", ', ') => [$row, ...$values];
            }
        }
    }

    /**
     * The texts of what a loop returned: of a batch, of one item, or of nothing.
     *
     * @return list<string>
     */
    public function texts(mixed $taken): array
    {
        return \array_map($this->text, \is_array($taken) ? $taken : \array_filter([$taken]));
    }

    private static function ick(): self
    {
        return new self(
            open: static fn (Client|BorrowedClient $client, string $name): DirtyListInterface => $client->ick($name),
            put: self::add(...),
            text: static fn (Entry $entry): string => $entry->member,
            loops: ['batches' => static fn (DirtyListInterface $ick, int $max, ?float $wait) => $ick->batches($max, $wait)],
            isEmpty: static fn (DirtyListInterface $ick): bool => $ick->stats() === null,
            calls: static fn (DirtyListInterface $ick): array => [
                $ick->stats(...),
                static fn () => $ick->add(['b']),
                static fn () => $ick->reserve(1),
                static fn () => $ick->exchange(1, ['a']),
                $ick->batches(1)->next(...),
            ],
            use: static function (Client $client, string $name): void {
                self::useIck($client->ick($name));
                $lease = $client->ick($name)->lease(30);
                $lease->reserve(1);
                $lease->release();
                Millpond::connect('memory:')->ick('x')->add(['a']);
            },
            holders: static fn (Ick $ick): array => [$ick->batches(1), $ick->lease(9)],
            shares: true,
        );
    }

    private static function channel(): self
    {
        $batches = static fn (IckChannel $channel, int $max, ?float $wait) => $channel->batches([0, 1], $max, $wait);

        return new self(
            open: static fn (Client $client, string $name): IckChannel => $client->ickChannel($name, 2),
            put: self::add(...),
            text: static fn (Entry $entry): string => $entry->member,
            loops: ['batches of a channel' => $batches],
            isEmpty: static fn (IckChannel $channel): bool => $channel->ick(0)->stats() === null && $channel->ick(1)->stats() === null,
            calls: static fn (IckChannel $channel): array => [
                static fn () => $channel->add(['a']),
                $channel->ick(0)->stats(...),
            ],
            use: static function (Client $client, string $name): void {
                $channel = $client->ickChannel($name, 4)->draining(5);
                $channel->add(['a', 'b']);
                foreach ($channel->batches([0, 1, 2, 3], 10, wait: 0) as $batch) {
                    $channel->ickOf($batch[0]->member);
                }
            },
            holders: static fn (IckChannel $channel): array => [$channel, $channel->batches([0], 1)],
            shares: true,
        );
    }

    private static function add(DirtyListInterface|IckChannel $ick, array $texts): void
    {
        $ick->add(\array_map(static fn (int $score, string $text): array => [$score, $text], \array_keys($texts), $texts));
    }

    /** Every kind of call that an Ick over any connection has. */
    public static function useIck(DirtyListInterface $ick): void
    {
        $ick->add([[1, 'a'], [2, 'b'], 'c']);
        $ick->reserve(2);
        $ick->peek(10);
        $ick->stats();
        foreach ($ick->batches(2) as $batch) {
            $ick->add(['d']);
            break;
        }
        $ick->commit(['a']);
        $ick->exchange(2, ['b']);
        TestCase::thrown(static fn () => $ick->add([[\NAN, 'x']]));
        TestCase::thrown(static fn () => $ick->reserve(10 ** 17));
        $ick->delete();
    }

    private static function shuffle(): self
    {
        return new self(
            open: static fn (Client $client, string $name): ShuffleQueue => $client->shuffleQueue($name, new ShuffleOptions(1)),
            put: static fn (ShuffleQueue $queue, array $texts) => $queue->writeMany(self::messages($texts)),
            text: static fn (Message|ShuffleJob $item): string => ($item->message ?? $item)->field('n'),
            loops: ['messages' => static fn (ShuffleQueue $queue, int $max, ?float $wait) => $queue->consumer('g', 'c')->messages($max, $wait)],
            isEmpty: static fn (ShuffleQueue $queue): bool => $queue->len() === 0,
            calls: static fn (ShuffleQueue $queue): array => [
                $queue->len(...),
                static fn () => $queue->write('t', ['n' => '1']),
                $queue->consumer('g', 'c')->read(...),
                $queue->gc()->next(...),
            ],
            use: self::useShuffleQueue(...),
            holders: static fn (ShuffleQueue $queue): array => [$queue, $queue->consumer('g', 'c'), $queue->consumer('g', 'c')->messages()],
            takes: [
                'read' => static fn (ShuffleQueue $queue, int $max, ?float $wait): object
                    => self::repeated($queue->consumer('g', 'c'), static fn (ShuffleConsumer $consumer) => $consumer->read($wait)),
                'readMany' => static fn (ShuffleQueue $queue, int $max, ?float $wait): object
                    => self::repeated($queue->consumer('g', 'c'), static fn (ShuffleConsumer $consumer) => $consumer->readMany($max, $wait) ?: null),
            ],
            worker: static fn (ShuffleQueue $queue, mixed ...$options) => $queue->consumer('g', 'c')->worker(new ShuffleWorkerOptions(...$options)),
        );
    }

    /** Collections of tracked messages. */
    private static function garbage(): self
    {
        $options = new ShuffleOptions(1, trackKeys: TrackKeys::Queue);

        return new self(
            open: static fn (Client $client, string $name): ShuffleQueue => $client->shuffleQueue($name, $options),
            put: static fn (ShuffleQueue $queue, array $texts) => $queue->writeTrackedMany(self::messages($texts), 'n', 1_000_000_000),
            text: static fn (string $value): string => $value,
            loops: ['garbage' => static fn (ShuffleQueue $queue, int $max, ?float $wait) => $queue->gc()],
            isEmpty: static fn (ShuffleQueue $queue): bool => $queue->len() === 0,
            calls: static fn (ShuffleQueue $queue): array => [
                static fn () => $queue->writeTracked('t', ['n' => '1'], 'n'),
                static fn () => $queue->deleteTracked('1'),
                static fn () => $queue->cordonDeadlineExceeded(1),
            ],
            use: static function (Client $client, string $name) use ($options): void {
                $queue = $client->shuffleQueue($name, $options);
                $queue->writeTracked('c', ['n' => '3'], 'n', 1_000_000_000);
                $queue->deleteTracked($queue->cordonDeadlineExceeded(10.0 ** 12)[0]);
                $queue->writeTrackedMany([['c', ['n' => '4']]], 'n', 1_000_000_000);
                foreach ($queue->gc() as $values) {
                    continue;
                }
                $queue->consumer('g', 'c')->ackAndDelete($queue->consumer('g', 'c')->readMany(10));
            },
            holders: static fn (ShuffleQueue $queue): array => [$queue->gc()],
            waits: false,
            shares: true,
        );
    }

    /**
     * @param list<string> $texts
     *
     * @return list<array{string, array<string, string>}>
     */
    private static function messages(array $texts): array
    {
        return \array_map(static fn (string $text): array => ['t', ['n' => $text]], $texts);
    }

    private static function useShuffleQueue(Client $client, string $name): void
    {
        $queue = $client->shuffleQueue($name, new ShuffleOptions(4));
        $queue->writeMany([['a', ['n' => '1', 'm' => \str_repeat('x', 1_000)]], ['b', [['n', '2']]]]);
        $queue->write('c', ['n' => '3']);
        $queue->consumer('g', 'dies')->readMany(3, 1);
        $consumer = $queue->consumer('g', 'c');
        $consumer->renew($consumer->reclaim(0, 10)->messages);
        $queue->stats('g');
        TestCase::thrown(static fn () => $consumer->readMany(0));
        TestCase::thrown(static fn () => $queue->write('', ['n' => '1']));
        $queue->consumer('g', 'd', new ConsumerOptions(maxDeliveries: 2))->reclaim(0, 1);
        $queue->deleteDeadLetters($queue->deadLetters(3));
        $consumer->ackAndDelete($consumer->reclaim(0, 10)->messages);
        $queue->write('c', ['n' => '4']);
        foreach ($consumer->messages(10, 0) as $batch) {
            $consumer->ackAndDelete($batch);
        }
        $consumer->read(0);
        Millpond::shard(16, 4, 'a');
    }

    private static function tasks(): self
    {
        return new self(
            open: static fn (Client $client, string $name): TaskStore => $client->tasks($name),
            put: static function (TaskStore $store, array $texts): void {
                $all = new Modification();
                \array_map(static fn (string $text): Modification => $all->insert(new NewTask('q', $text)), $texts);
                $store->modify($all);
            },
            text: static fn (Task|Job $item): string => ($item->task ?? $item)->value(),
            loops: [
                'claims' => static fn (TaskStore $store, int $max, ?float $wait) => $store->claims('q', $max, $wait),
                'jobs' => static fn (TaskStore $store, int $max, ?float $wait) => $store->worker('q', new WorkerOptions(wait: $wait))->jobs(),
            ],
            isEmpty: static fn (TaskStore $store): bool => [$store->queues(), $store->namespaceStats()] === [[], []],
            calls: static function (TaskStore $store): array {
                $store->insert(new NewTask('held'));
                $job = $store->worker('held')->jobs()->next();

                return [
                    static fn () => $store->insert(new NewTask('q')),
                    static fn () => $store->modify((new Modification())->delete(new TaskId('x', 0))),
                    static fn () => $store->claim('q'),
                    static fn () => $store->fetch('x'),
                    static fn () => $store->list('q'),
                    static fn () => $store->claimDocs('n', 'k'),
                    static fn () => $store->areEmpty('q'),
                    $store->queues(...),
                    $store->time(...),
                    $job->done(...),
                ];
            },
            use: self::useTaskStore(...),
            holders: static fn (TaskStore $store): array => [$store, $store->claims('q'), $store->worker('q')->jobs()],
            worker: static fn (TaskStore $store, mixed ...$options) => $store->worker('q', new WorkerOptions(...$options)),
        );
    }

    private static function useTaskStore(Client $client, string $name): void
    {
        $store = $client->tasks($name);
        $done = $store->modify((new Modification())->insert(new NewTask('q', \str_repeat('x', 1_000)))->insert(new NewTask('q', [1], id: 'x', ttl: 600))
            ->insertDoc(new NewDoc('n', 'k', ['a' => 1]))->insertDoc(new NewDoc('n', 'k', id: 'other')));
        TestCase::thrown(static fn () => $store->insert(new NewTask('q', id: 'x')));
        TestCase::thrown(static fn () => $store->insert(new NewTask('q', json: '{')));
        foreach ($store->claims('q', max: 2, wait: 0) as $tasks) {
            $renewed = $store->renew($tasks, $store->claimDocs('n', 'k'), 60);
            [$first, $second] = $store->fetch([$renewed->tasks[0]->id, $renewed->tasks[1]->id]);
            $changes = (new Modification())->change($first->change(queue: 'p')->retry('why'))->change($second->change(queue: 'p'));
            foreach ($store->fetchDocs('n', \array_column($done->insertedDocs, 'id')) as $doc) {
                $changes->deleteDoc($doc);
            }
            $store->modify($changes);
        }
        $store->list('p', limit: 1);
        $store->listDocs('n', limit: 1);
        $store->queues(['p'], 'x');
        $store->areEmpty('p');
        $store->namespaceStats('n');
        $store->time();
        $jobs = $store->worker('p', new WorkerOptions(wait: 0, errorQueue: 'e'))->jobs();
        $job = $jobs->next();
        $job->claimDocs('n', 'k');
        $job->isLost();
        $job->finish($job->delete()->insert(new NewTask('r', id: 'y'), skipColliding: true));
        TestCase::thrown($job->done(...));
        $jobs->next()->moveTo('r', 'why');
        $store->worker('r')->drain(static fn () => null);
    }

    private static function events(): self
    {
        return new self(
            open: static fn (Client $client, string $name): EventQueue => $client->events($name),
            put: static fn (EventQueue $queue, array $texts) => $queue->publishMany($texts),
            text: static fn (Event|EventJob $item): string => ($item->event ?? $item)->payload,
            loops: ['deliveries' => static fn (EventQueue $queue, int $max, ?float $wait) => $queue->deliveries($max, $wait)],
            isEmpty: static fn (EventQueue $queue): bool => $queue->stats()->events === 0 && $queue->listSchedules() === [],
            calls: static fn (EventQueue $queue): array => [
                static fn () => $queue->publish('x'),
                static fn () => $queue->receive(),
                static fn () => $queue->fetch('00000000000000000000'),
                static fn () => $queue->list(EventState::Ready),
                $queue->stats(...),
                $queue->config(...),
                $queue->listSchedules(...),
            ],
            use: self::useEvents(...),
            holders: static fn (EventQueue $queue): array => [$queue, $queue->deliveries()],
            worker: static fn (EventQueue $queue, mixed ...$options) => $queue->worker(new EventWorkerOptions(...$options)),
        );
    }

    private static function useEvents(Client $client, string $name): void
    {
        $queue = $client->events($name);
        $queue->configure(new EventConfigChange(backoffMin: 0, backoffMax: 0, dedupIdsMax: 10));
        $queue->publishMany([\str_repeat('x', 1_000), new NewEvent('k', key: 'k', headers: ['a' => 'b'])]);
        $later = $queue->publish(new NewEvent('later', delay: 60, dedupId: 'x', ifExists: IfExists::Replace));
        $queue->reschedule($later, 90);
        TestCase::thrown(static fn () => $queue->publish(new NewEvent('y', dedupId: 'x', ifExists: IfExists::Error)));
        TestCase::thrown(static fn () => $queue->receive(0));
        foreach ($queue->deliveries(max: 2, wait: 0) as $events) {
            $queue->renew($events, 60);
            $queue->ackWith($events[0], ['follows']);
            $queue->deadLetter($events[1], 'why');
            break;
        }
        $queue->redriveAll();
        $queue->fetch([$later, $events[0]]);
        $queue->list(EventState::Ready, after: $queue->list(EventState::Ready, limit: 1)->next);
        $queue->stats();
        $queue->config();
        $queue->cancel($later);
        $queue->putSchedule(new Schedule('a', cron: '@daily', payload: \str_repeat('x', 1_000)));
        TestCase::thrown(static fn () => $queue->putSchedule(new Schedule('a')));
        $queue->syncSchedules('app', 1, [new Schedule('b', every: 60, headers: ['a' => 'b'])]);
        $queue->getSchedule('a');
        $queue->listSchedules();
        $queue->triggerSchedule('b');
        $queue->removeSchedule('a');
        $queue->worker()->drain(static fn ($job) => $job->isLost());
    }

    private static function volatile(): self
    {
        return new self(
            open: static fn (Client $client, string $name): VolatileHash => $client->volatileHash($name),
            put: static fn (VolatileHash $hash, array $texts) => $hash->setMany(\array_map(static fn (string $text): array => [$text, ''], $texts), 60),
            text: static fn (string $text): string => $text,
            loops: [],
            isEmpty: static fn (VolatileHash $hash): bool => \array_filter((array) $hash->stats()) === [],
            calls: static fn (VolatileHash $hash): array => [
                static fn () => $hash->set('a', '1', 60),
                static fn () => $hash->setMany(['a' => '1'], 60),
                static fn () => $hash->setIfAbsent('a', '1', 60),
                static fn () => $hash->setIfPresent('a', '1', 60),
                static fn () => $hash->setLocked('a', 't', '1', 60),
                static fn () => $hash->setAndRelease('a', 't', '1', 60),
                static fn () => $hash->get('a'),
                static fn () => $hash->getMany(['a']),
                static fn () => $hash->fields(),
                static fn () => $hash->ttl('a'),
                static fn () => $hash->touch('a', 60),
                static fn () => $hash->delete('a'),
                static fn () => $hash->acquire('a', 't', 60),
                static fn () => $hash->getOrAcquire('a', 't', 60),
                static fn () => $hash->renew('a', 't', 60),
                static fn () => $hash->release('a', 't'),
                static fn () => $hash->holder('a'),
                static fn () => $hash->lock('a', 60),
                $hash->len(...),
                $hash->stats(...),
                $hash->clear(...),
                $hash->reap(...),
            ],
            use: self::useVolatileHash(...),
            holders: static fn (VolatileHash $hash): array => [$hash, $hash->lock('a', 60)],
        );
    }

    private static function useVolatileHash(Client $client, string $name): void
    {
        $hash = $client->volatileHash($name);
        $hash->setMany(['a' => \str_repeat('x', 1_000), '7' => ''], 60);
        $hash->set('b', '1', 60);
        $hash->setIfAbsent('b', '2', 60);
        $hash->setIfPresent('b', '3', 60);
        $hash->get('a');
        $hash->get('none');
        $hash->getMany(['a', 7, 'none']);
        $hash->fields(after: $hash->fields(limit: 1)->next, omitValues: true);
        $hash->ttl('a');
        $hash->touch('a', 90);
        $hash->acquire('a', 't', 60);
        $hash->acquire('a', 'other', 60);
        $hash->getOrAcquire('a', 't', 60);
        $hash->getOrAcquire('c', 't', 60);
        $hash->holder('c');
        $hash->renew('c', 't', 90);
        $hash->setLocked('c', 't', '1', 60);
        $hash->setAndRelease('c', 't', '2', 60);
        TestCase::thrown(static fn () => $hash->setLocked('c', 't', '1', 60));
        TestCase::thrown(static fn () => $hash->set('c', '1', 0));
        $hash->stats();
        $hash->len();
        $hash->release('a', 't');
        $hash->holder('a');
        $lock = $hash->lock('c', 60);
        $lock->set('3', 60);
        $lock->fence();
        $lock->isLost();
        $lock->release();
        TestCase::thrown(static fn () => $lock->set('4', 60));
        $family = $client->volatileHashes($name);
        $family->hash('a')->set('a', '1', 60);
        $family->hash('a')->clear();
        $family->reap();
        $hash->delete(['a', '7']);
        $hash->reap();
        $hash->clear();
    }

    /** What is put there are enlistments: they are reported when it is stopped. */
    private static function recruiter(): self
    {
        return new self(
            open: static fn (Client $client, string $name): Recruiter => $client->recruiter($name),
            put: static function (Recruiter $recruiter, array $texts): void {
                $before = $recruiter->stats()->enlisted;
                foreach ($texts as $text) {
                    $recruiter->install($text, static fn () => null, share: 1.0);
                    $why = $recruiter->enlist()->why;
                    $recruiter->uninstall($text);
                }
                // Once it is stopped, nothing is offered any more.
                for ($recruiter->stop(); $why !== Why::Stopped && $recruiter->stats()->enlisted === $before;) {
                    \usleep(1_000);
                }
            },
            text: static fn (string $text): string => $text,
            loops: [],
            isEmpty: static fn (Recruiter $recruiter): bool => $recruiter->stats()->enlisted === 0,
            calls: static fn (Recruiter $recruiter): array => [$recruiter->stats(...), static fn () => $recruiter->wake('a')],
            use: self::useRecruiter(...),
            holders: static function (Recruiter $recruiter): array {
                $recruiter->install('a', static function (Slice $slice) use (&$held): void {
                    $held = $slice;
                }, share: 1.0);
                $recruiter->enlist();

                return [$recruiter, $held];
            },
        );
    }

    private static function useRecruiter(Client $client, string $name): void
    {
        $recruiter = $client->recruiter($name);
        $recruiter->setDutyMax(1.0);
        $recruiter->setDecisionTimeout(0.5);
        $recruiter->onError(static fn () => null);
        $recruiter->enlist();
        $recruiter->install('a', static function (Slice $slice) use ($recruiter): int {
            $slice->budget() + $slice->remaining() + $slice->fence();
            $slice->isOver() || $slice->isLost();
            $slice->more();
            $recruiter->enlist(0.1);

            return 1;
        }, share: 1.0, budget: 0.02);
        $recruiter->install('b', static fn () => null, perSecond: 0.5, burst: 2, maxRunning: 3, lease: 30, idleMax: 60);
        $recruiter->enlist(0.001);
        $recruiter->uninstall('a');
        $recruiter->install('c', static fn (Slice $slice) => throw new \DomainException($slice->abort()), share: 1.0);
        $recruiter->enlist();
        TestCase::thrown(static fn () => $recruiter->install('c', static fn () => null, share: 0.5));
        TestCase::thrown(static fn () => $recruiter->enlist(-1));
        $recruiter->isDue();
        $recruiter->wake('a');
        $recruiter->stats();
    }

    private static function tracker(): self
    {
        return new self(
            open: static fn (Client $client, string $name): QueueTracker => $client->queueTracker($name),
            put: static fn (QueueTracker $tracker, array $texts) => $tracker->add($texts),
            text: static fn (string $text): string => $text,
            loops: [],
            isEmpty: static fn (QueueTracker $tracker): bool => \array_filter((array) $tracker->stats()) === [],
            calls: static fn (QueueTracker $tracker): array => [
                static fn () => $tracker->add('a'),
                static fn () => $tracker->isQueued('a'),
                static fn () => $tracker->areQueued(['a']),
                static fn () => $tracker->scan(static fn () => []),
                static fn () => $tracker->prune(static fn () => []),
                static fn () => $tracker->advance('', ['1'], ['a']),
                static fn () => $tracker->remove('a', ['a', 'b'], 1),
                $tracker->len(...),
                $tracker->stats(...),
                $tracker->ids(...),
                $tracker->clear(...),
                $tracker->beginScan(...),
                $tracker->sample(...),
            ],
            use: self::useTracker(...),
            holders: static fn (QueueTracker $tracker): array => [$tracker],
        );
    }

    private static function useTracker(Client $client, string $name): void
    {
        $tracker = $client->queueTracker($name);
        $tracker->add([\str_repeat('x', 500), 7]);
        $tracker->isQueued('7');
        $tracker->areQueued(['7', 'none']);
        $tracker->scan(static fn (?string $after, int $limit): \Generator => yield from [[1, 'a'], ['2', null]], 2);
        $tracker->scan(static fn (?string $after): array => [[$after + 1, 'b']], limit: 2, roundMin: 0);
        TestCase::thrown(static fn () => $tracker->scan(static fn () => throw new \DomainException()));
        TestCase::thrown(static fn () => $tracker->scan(static fn () => [[1, 'a'], [1]]));
        $tracker->prune(static fn (array $ids): array => \array_slice($ids, 1), 2);
        TestCase::thrown(static fn () => $tracker->prune(static fn () => throw new \DomainException()));
        TestCase::thrown(static fn () => $tracker->prune(static fn () => ['none']));
        $tracker->beginScan();
        $tracker->advance('', ['1', '2'], ['a', ''], 2);
        $sample = $tracker->sample();
        $tracker->remove($sample->ids, $sample->ids, $sample->stamp);
        $tracker->ids(1, 2);
        $tracker->len();
        $tracker->stats();
        $tracker->clear();
        $tracker->prune(static fn (): array => []);
    }

    /**
     * A call in the form of a loop.
     */
    private static function repeated(object $on, \Closure $call): object
    {
        return new class ($on, $call) implements \IteratorAggregate {
            public function __construct(private readonly object $on, private readonly \Closure $call)
            {
            }

            public function next(): mixed
            {
                return ($this->call)($this->on);
            }

            public function getIterator(): \Generator
            {
                while (($taken = $this->next()) !== null) {
                    yield $taken;
                }
            }
        };
    }
}
