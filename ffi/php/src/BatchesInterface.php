<?php

declare(strict_types=1);

namespace Millpond;

/**
 * A consumer's loop, made by `DirtyListInterface::batches()`. Asking for the next batch commits the one before, in
 * one round trip.
 *
 *     $files = Millpond::connect('memory:')->ick('files');
 *     $files->add([[1, 'a.txt'], [2, 'b.txt'], [3, 'c.txt']]);
 *     foreach ($files->batches(2) as $batch) {
 *         echo count($batch), "\n"; // 2, then 1
 *     }
 *     echo $files->stats()->totalSize, "\n"; // 0
 *
 * A loop that is left by an exception, or by `break`, leaves its batch reserved: the next reserve
 * returns it again. To leave by `break` with the last batch done, commit it:
 *
 *     $files->add([[1, 'a.txt'], [2, 'b.txt']]);
 *     $batches = $files->batches(1);
 *     foreach ($batches as $batch) {
 *         break;
 *     }
 *     $batches->commit();
 *     echo $files->reserve(10)[0]->member, "\n"; // b.txt
 *
 * A second `foreach` over the same object begins with the batch that the first one was left with,
 * unless that was committed.
 *
 * @extends \IteratorAggregate<int, list<Entry>>
 */
interface BatchesInterface extends \IteratorAggregate
{
    /**
     * Commits the last batch and takes the next; null when the loop is over. What `foreach` does.
     *
     * After an exception that says Retry::Later or Retry::Unknown the loop can be continued: a
     * batch whose commit may or may not have been done is delivered again if it was not.
     *
     * While it waits, signal handlers run (in the CLI, with the extension pcntl): one that throws
     * ends the wait, and after one that returns the wait continues. A batch that came meanwhile is
     * returned by the next call.
     *
     * @return list<Entry>|null
     *
     * @throws Exception\MillpondException what `Ick::exchange()` throws; a LeaseLostException for
     *                                     the batches of a lease
     */
    public function next(): ?array;

    /**
     * Commits the last batch, for a loop that is left before its end.
     *
     * @return int how many of its members were still reserved; 0 if it was committed already
     *
     * @throws Exception\MillpondException what `Ick::commit()` throws; a LeaseLostException for the
     *                                     batches of a lease
     */
    public function commit(): int;

    /**
     * The batches, one after the other.
     *
     * @return \Generator<int, list<Entry>, mixed, void>
     */
    public function getIterator(): \Generator;
}
