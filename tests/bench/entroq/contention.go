package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shiblon/entroq"
)

const (
	contentionTasks   = 1_000_000
	contentionWorkers = 20
	// Upstream lets the count of claims grow until the queues are empty and late ones find nothing.
	// This is few enough for the 200,000 tasks of the first queue, of which the others take more.
	contentionClaims = 5_000
	contentionLease  = time.Second
)

// contention is upstream's benchmark of claims while statistics are read (StatsContention_1M): its
// tasks, queues and workers, with a fixed number of claims. The options' workers, queues and tasks
// do not count.
func contention(ctx context.Context, asked options, found *row) (err error) {
	client, stop, err := open(ctx, asked.backend)
	if err != nil {
		return err
	}
	defer func() { err = first(err, stop()) }()
	prefix := "/bench/" + entroq.GenHex16()
	var queues []string
	for _, name := range []string{"/q1", "/q2", "/q3", "/prefix/a", "/prefix/b"} {
		queues = append(queues, prefix+name)
	}
	at := entroq.WithArrivalTime(time.Now())
	if _, err := insert(ctx, client, queues, contentionTasks, 1_000, 1, at); err != nil {
		return err
	}

	var done atomic.Bool
	var stats int64
	var took time.Duration
	const timed, reader = contentionWorkers, contentionWorkers + 1
	seen := make([][]time.Duration, contentionWorkers+1)
	lost := make([]int64, contentionWorkers+1)
	// once claims and deletes. A lease can run out before the delete, which another then has.
	once := func(worker int, from ...string) error {
		start := time.Now()
		task, err := client.TryClaim(ctx, entroq.From(from...), entroq.ClaimFor(contentionLease))
		if err != nil || task == nil {
			return err
		}
		seen[worker] = append(seen[worker], time.Since(start))
		if _, err := client.Modify(ctx, task.Delete()); err != nil {
			if _, late := entroq.AsDependency(err); !late {
				return err
			}
			lost[worker]++
		}
		return nil
	}
	_, err = each(contentionWorkers+2, func(worker int) error {
		switch worker {
		case timed:
			defer done.Store(true)
			start := time.Now()
			for range contentionClaims {
				if err := once(worker, queues[0]); err != nil {
					return err
				}
			}
			took = time.Since(start)
		case reader:
			for ; !done.Load(); stats += 2 {
				if _, err := client.QueueStats(ctx, entroq.MatchPrefix(prefix+"/prefix")); err != nil {
					return err
				}
				if _, err := client.QueueStats(ctx, entroq.MatchExact(queues[0])); err != nil {
					return err
				}
			}
		default:
			for !done.Load() {
				if err := once(worker, queues...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	all := slices.Concat(seen...)
	// A claim may miss a task that is there; a queue that ran empty is missed every time, and fast.
	if len(seen[timed]) < contentionClaims*99/100 {
		return fmt.Errorf("a queue ran empty: %d of %d claims got a task", len(seen[timed]), contentionClaims)
	}
	slices.Sort(all)
	found.Workers, found.Queues, found.Tasks = contentionWorkers, len(queues), contentionTasks
	found.Figures["timed_claims"] = float64(len(seen[timed]))
	found.Figures["claim_and_delete_ns"] = float64(took.Nanoseconds()) / contentionClaims
	found.Figures["claims_per_second"] = float64(len(all)) / took.Seconds()
	found.Figures["stats_per_second"] = float64(stats) / took.Seconds()
	for name, perMille := range map[string]int{"p50": 500, "p90": 900, "p99": 990, "p999": 999} {
		found.Figures["claim_"+name+"_us"] = percentile(all, perMille)
	}
	for _, late := range lost {
		found.Figures["lost"] += float64(late)
	}
	return nil
}
