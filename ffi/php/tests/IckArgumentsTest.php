<?php

declare(strict_types=1);

namespace Millpond\Tests;

use Millpond\DirtyListInterface;

final class IckArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'ick';

    protected function argumentKinds(): array
    {
        return $this->kinds();
    }

    protected function calls(): array
    {
        return [
            'pairs[1][1] must be string, not int' => static fn (DirtyListInterface $ick) => $ick->add([[1, 'a'], [2, 3]]),
            'pairs[1] must be [score, member] or a member, not int' => static fn (DirtyListInterface $ick) => $ick->add(['a', 5]),
            'pairs[0] must be [score, member], not array' => static fn (DirtyListInterface $ick) => $ick->add([[1, 'a', 2]]),
            'pairs[1] must be [score, member], not array' => static fn (DirtyListInterface $ick) => $ick->add(['a', ['x' => 1, 'y' => 'a']]),
            'pairs[0][0] must be float, int or null, not bool' => static fn (DirtyListInterface $ick) => $ick->add([[true, 'a']]),
            'pairs[0][0] must be float, int or null, not string' => static fn (DirtyListInterface $ick) => $ick->add([['1', 'a']]),
            'pairs[0] must be [score, member] or a member, not float' => static fn (DirtyListInterface $ick) => $ick->add(['a' => 1.0]),
            'ick.add: score 1 is NaN' => static fn (DirtyListInterface $ick) => $ick->add([[1, 'a'], [\NAN, 'b']]),
            'members[1] must be string, not null' => static fn (DirtyListInterface $ick) => $ick->commit(['a', null]),
            'members[0] must be string, not int' => static fn (DirtyListInterface $ick) => $ick->exchange(1, [1]),
            'max is -1; it has to be 0 or more' => static fn (DirtyListInterface $ick) => $ick->reserve(-1),
            'ick.reserve: ' => static fn (DirtyListInterface $ick) => $ick->reserve(10 ** 17),
            'ick.exchange: ' => static fn (DirtyListInterface $ick) => $ick->exchange(10 ** 17, ['a']),
            'ick.peek: ' => static fn (DirtyListInterface $ick) => $ick->peek(10 ** 17),
            'max is -2' => static fn (DirtyListInterface $ick) => $ick->peek(-2),
            'max is -3' => static fn (DirtyListInterface $ick) => $ick->batches(-3),
        ];
    }

    /** @dataProvider kinds */
    public function testAPairWithKeys(string $kind): void
    {
        $ick = $this->connect($kind)->ick($this->name);
        foreach ([['score' => 5, 1 => 'm'], [1 => 'm', 0 => 5]] as $pair) {
            self::assertRefused('pairs[0] must be [score, member]', static fn () => $ick->add([$pair]));
        }
    }
}
