<?php

declare(strict_types=1);

namespace Millpond\Tests;

/**
 * Wrong arguments of a recruiter are refused before anything is installed.
 */
final class RecruiterArgumentsTest extends ArgumentsTestCase
{
    protected const ROW = 'recruiter';

    protected function calls(): array
    {
        $install = static fn (string $id, mixed ...$options): \Closure
            => static fn ($recruiter) => $recruiter->install($id, static fn () => null, ...$options);

        return [
            'name' => static fn ($recruiter, $client) => $client->recruiter('')->install('a', static fn () => null, share: 1.0),
            '1 to 64 bytes' => $install(\str_repeat('x', 65), share: 1.0),
            'no control characters' => $install("a\n", share: 1.0),
            'UTF-8' => $install("\xff", share: 1.0),
            'either a share or a rate per second' => $install('a'),
            'a has either a share' => $install('a', share: 0.5, perSecond: 2),
            'share is NAN' => $install('a', share: \NAN, perSecond: 2),
            'perSecond is NAN' => $install('a', perSecond: \NAN),
            'share of a is 1.5' => $install('a', share: 1.5),
            'rate of a is 1001' => $install('a', perSecond: 1_001),
            'rate of a is inf' => $install('a', perSecond: \INF),
            'no burst and no max_running' => $install('a', share: 1.0, maxRunning: 2),
            'burst of a is 0' => $install('a', perSecond: 1, burst: 0),
            'burst is -1' => $install('a', perSecond: 1, burst: -1),
            'budget is -0.1' => $install('a', share: 1.0, budget: -0.1),
            'budget is NAN' => $install('a', share: 1.0, budget: \NAN),
            'budget of a is 0ns' => $install('a', share: 1.0, budget: 0.0),
            'maxRunning is -1' => $install('a', perSecond: 1, maxRunning: -1),
            '1001 slices at a time' => $install('a', perSecond: 1, maxRunning: 1_001),
            'lease is -1' => $install('a', perSecond: 1, lease: -1),
            'lease of a is 1ms' => $install('a', perSecond: 1, lease: 0.001),
            'idle_max of a is 3601s' => $install('a', perSecond: 1, idleMax: 3_601),
            'budget is -1' => static fn ($recruiter) => $recruiter->enlist(-1),
            'a time has to be 0 or more' => static fn ($recruiter) => $recruiter->afterResponse(\NAN),
            'duty_max is 0' => static fn ($recruiter) => $recruiter->setDutyMax(0),
            'decision_timeout is 2s' => static fn ($recruiter) => $recruiter->setDecisionTimeout(2),
            'timeout is -1' => static fn ($recruiter) => $recruiter->setDecisionTimeout(-1),
            'needs a job per second' => static fn ($recruiter) => $recruiter->run(),
        ];
    }

    public function testWrongTypes(): void
    {
        $recruiter = $this->connect('memory')->recruiter('r');
        $calls = [
            'must be of type callable, string given' => static fn () => $recruiter->install('a', 'no_function', share: 1.0),
            '($share) must be of type ?float, string given' => static fn () => $recruiter->install('a', static fn () => null, share: '1'),
            'must be of type callable, null given' => static fn () => $recruiter->onError(null),
        ];
        foreach ($calls as $message => $call) {
            $thrown = self::thrown($call);
            self::assertInstanceOf(\TypeError::class, $thrown);
            self::assertStringContainsString($message, $thrown->getMessage());
        }
        self::assertSame('no_jobs', $recruiter->enlist()->why->value);
    }

    public function testNothingIsInstalledTwice(): void
    {
        $recruiter = $this->connect('memory')->recruiter('r');
        $recruiter->install('7', static fn () => 1, share: 0.75);
        self::assertRefused('7', static fn () => $recruiter->install('7', static fn () => 2, share: 0.1));
        self::assertRefused('110.0000 %', static fn () => $recruiter->install('b', static fn () => 2, share: 0.35));
        self::assertSame([false, true, false], [$recruiter->uninstall('b'), $recruiter->uninstall('7'), $recruiter->uninstall('7')]);
        $recruiter->install('7', static fn () => 3, share: 1.0);
        self::assertSame('7', $recruiter->enlist()->job);
        for ($id = 0; $id < 63; ++$id) {
            $recruiter->install("job $id", static fn () => null, share: 0.0);
        }
        self::assertRefused('64', static fn () => $recruiter->install('one more', static fn () => null, share: 0.0));
    }
}
