<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What every Ick can do, whatever its connection: a dirty list with write-folding and two-phase commit.
 *
 * Producers flag documents as dirty; one consumer takes batches, works, and commits. A document
 * that is flagged again while it is worked on is processed again, and one that is flagged often
 * does not move back in the order, since a member keeps the lowest of its scores.
 *
 *     $files = Millpond::connect('memory:')->ick('files');
 *     $files->add([[2.0, 'b.txt'], [1.0, 'a.txt']]);
 *     echo $files->reserve(10)[0]->member, "\n"; // a.txt
 *     $files->add([[3.0, 'a.txt']]);             // dirty again while it is being worked on
 *     $files->commit(['a.txt', 'b.txt']);
 *     echo $files->reserve(10)[0]->member, "\n"; // a.txt: not forgotten
 *
 * Every call may throw what the connection throws (ConnectionFailedException,
 * ConnectionLostException, TimeoutException, AuthenticationFailedException and so on), and all but
 * delete() and unlink() a WrongTypeException or an IncompatibleVersionException if the keys hold
 * something else.
 */
interface DirtyListInterface
{
    /**
     * Flags members as dirty: each keeps the lower of its old and its new score.
     *
     * After a ConnectionLostException the members may or may not be flagged; adding them again is
     * safe. Above 250,000 members it takes several steps, each atomic.
     * A call takes up to 1,000,000 members.
     *
     * @param iterable<array{float|int|null, string}|string> $pairs `[score, member]`, or just a
     *        member. A score is any number but NaN, and lower ones come first; null, or no score,
     *        is the server's time in seconds. A member is at most 16 MiB
     *
     * @throws Exception\InvalidArgumentException for anything else, before anything is sent
     */
    public function add(iterable $pairs): Added;

    /**
     * Moves the lowest members to the consumer set until that holds `$max`, and returns its first
     * `$max`, lowest first.
     *
     * What was reserved before and not committed is part of the batch: a consumer that crashed gets
     * it again.
     *
     * @param int  $max      how many, from 0 to below 10^17
     * @param bool $backwash first fold everything that is reserved back, so that the batch holds
     *                       the lowest scores of both sets
     *
     * @return list<Entry>
     *
     * @throws Exception\InvalidArgumentException for a wrong `$max`, before anything is sent
     */
    public function reserve(int $max, bool $backwash = false): array;

    /**
     * Removes members that are done from the consumer set. A member that was added again meanwhile
     * stays dirty.
     *
     * After a ConnectionLostException or a TimeoutException do not commit again, but reserve: it
     * returns what is left to do.
     *
     * @param iterable<string> $members
     *
     * @return int how many of them were there
     *
     * @throws Exception\InvalidArgumentException for anything but a member, before anything is sent
     */
    public function commit(iterable $members): int;

    /**
     * Commits one batch and reserves the next in one step: one round trip a batch.
     *
     * @param int              $max      as for reserve()
     * @param iterable<string> $members  what to commit, at most 250,000 members
     * @param bool             $backwash as for reserve()
     *
     * @return list<Entry>
     *
     * @throws Exception\InvalidArgumentException for wrong arguments, before anything is sent
     */
    public function exchange(int $max, iterable $members = [], bool $backwash = false): array;

    /**
     * The sizes and score ranges of both sets, or null if there is no such Ick.
     */
    public function stats(): ?Stats;

    /**
     * The lowest members of one set with their scores; moves nothing.
     *
     * @param int $max as for reserve()
     *
     * @return list<Entry>
     *
     * @throws Exception\InvalidArgumentException for a wrong `$max`, before anything is sent
     */
    public function peek(int $max, IckSet $set = IckSet::Producer): array;

    /**
     * Removes the Ick's keys, whatever they hold, so it also removes a broken Ick.
     *
     * @return int how many keys there were
     */
    public function delete(): int;

    /**
     * delete(), but Redis frees the memory in the background.
     *
     * @return int how many keys there were
     */
    public function unlink(): int;

    /**
     * The consumer's loop: batches of up to `$max` members, each committed when the next is
     * requested. It ends when there is nothing left.
     *
     * @param int $max how many, from 0; never more than 250,000 come
     *
     * @throws Exception\InvalidArgumentException for a wrong `$max`
     */
    public function batches(int $max): BatchesInterface;
}
