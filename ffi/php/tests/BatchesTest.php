<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\DirtyListInterface;
use Millpond\Entry;

/**
 * The consumer's loop, with every kind of client.
 */
final class BatchesTest extends TestCase
{
    /**
     * @param list<Entry> $batch
     *
     * @return list<string>
     */
    private static function members(array $batch): array
    {
        return \array_column($batch, 'member');
    }

    private function ick(string $kind): DirtyListInterface
    {
        $ick = $this->connect($kind)->ick($this->name);
        $ick->add([[1, 'a'], [2, 'b'], [3, 'c']]);

        return $ick;
    }

    /** @dataProvider kinds */
    public function testATurnIsCommittedWhenTheNextIsAskedFor(string $kind): void
    {
        $ick = $this->ick($kind);
        $seen = [];
        foreach ($ick->batches(2) as $turn => $batch) {
            $seen[$turn] = self::members($batch);
            self::assertSame(\count($batch), $ick->stats()->csetSize);
        }
        self::assertSame([['a', 'b'], ['c']], $seen);
        self::assertSame(0, $ick->stats()->totalSize);
    }

    /** @dataProvider kinds */
    public function testABreakLeavesTheBatchReserved(string $kind): void
    {
        $ick = $this->ick($kind);
        foreach ($ick->batches(2) as $batch) {
            break;
        }
        self::assertSame(['a', 'b'], self::members($ick->reserve(2)));
    }

    /** @dataProvider kinds */
    public function testAnExceptionLeavesTheBatchReserved(string $kind): void
    {
        $ick = $this->ick($kind);
        self::thrown(static function () use ($ick): void {
            foreach ($ick->batches(2) as $batch) {
                throw new \DomainException();
            }
        });
        self::assertSame(['a', 'b'], self::members($ick->reserve(2)));
    }

    /** @dataProvider kinds */
    public function testALoopThatIsLeftEarlyCanCommit(string $kind): void
    {
        $ick = $this->ick($kind);
        $batches = $ick->batches(2);
        foreach ($batches as $batch) {
            break;
        }
        self::assertSame(2, $batches->commit());
        self::assertSame(0, $batches->commit());
        self::assertSame(['c'], self::members($ick->reserve(2)));
    }

    /** @dataProvider kinds */
    public function testASecondLoopGoesOn(string $kind): void
    {
        $ick = $this->ick($kind);
        $batches = $ick->batches(1);
        foreach ($batches as $batch) {
            break;
        }
        self::assertSame(['b'], self::members($batches->next() ?? []));
        self::assertSame(1, $batches->commit());
        self::assertSame([['c']], \array_map(self::members(...), \iterator_to_array($batches)));
        self::assertNull($batches->next());
        $ick->add([[1, 'd']]);
        self::assertSame(['d'], self::members($batches->next() ?? []));
    }

    /** @dataProvider kinds */
    public function testASecondLoopBeginsWithTheBatchThatFailed(string $kind): void
    {
        $ick = $this->ick($kind);
        $batches = $ick->batches(1);
        self::thrown(static function () use ($batches): void {
            foreach ($batches as $batch) {
                throw new \DomainException();
            }
        });
        self::assertSame([['a'], ['b'], ['c']], \array_map(self::members(...), \iterator_to_array($batches)));
    }

    /** @dataProvider kinds */
    public function testADocumentThatChangesMeanwhileComesAgain(string $kind): void
    {
        $ick = $this->ick($kind);
        $seen = [];
        foreach ($ick->batches(10) as $turn => $batch) {
            $seen[] = self::members($batch);
            if ($turn === 0) {
                $ick->add([[9, 'b']]);
            }
        }
        self::assertSame([['a', 'b', 'c'], ['b']], $seen);
    }

    /** @dataProvider kinds */
    public function testABatchIsNeverLargerThanACommit(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        $members = \array_map(\strval(...), \range(1, 250_001));
        $ick->add($members);
        $counts = \array_map(\count(...), \iterator_to_array($ick->batches(\PHP_INT_MAX)));
        self::assertSame([250_000, 1], $counts);
    }

    /** @dataProvider ownKinds */
    public function testALoopThatWaitsCommitsToo(string $kind): void
    {
        $ick = $this->ick($kind);
        self::assertCount(2, \iterator_to_array($ick->batches(2, wait: 0.05)));
        self::assertSame(0, $ick->stats()->totalSize);
    }
}
