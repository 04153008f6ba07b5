package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/shiblon/entroq"
)

const (
	lease = 30 * time.Second
	// Tries at one claim that may find nothing, before that counts as a lost task.
	missesMax = 100_000
)

// The value of upstream's own benchmark.
var value = json.RawMessage(`"bench-value"`)

// names returns queues that no other round uses: a Redis keeps what earlier rounds left.
func names(queues int) []string {
	round := entroq.GenHex16()
	all := make([]string, queues)
	for n := range all {
		all[n] = fmt.Sprintf("/bench/%s/%d", round, n)
	}
	return all
}

// each runs work in this many goroutines, and returns how long all took and what failed first.
func each(workers int, work func(worker int) error) (time.Duration, error) {
	var running sync.WaitGroup
	failed := make([]error, workers)
	start := time.Now()
	for worker := range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			failed[worker] = work(worker)
		}()
	}
	running.Wait()
	took := time.Since(start)
	for _, err := range failed {
		if err != nil {
			return took, err
		}
	}
	return took, nil
}

// insert puts task n into queue n modulo queues, a given number in one Modify. The batches take
// turns among the workers.
func insert(ctx context.Context, client *entroq.EntroQ, queues []string, tasks, batch, workers int,
	with ...entroq.InsertArg) (time.Duration, error) {
	with = append(with, entroq.WithRawValue(value))
	return each(workers, func(worker int) error {
		for from := worker * batch; from < tasks; from += workers * batch {
			var inserts []entroq.ModifyArg
			for n := from; n < min(from+batch, tasks); n++ {
				inserts = append(inserts, entroq.InsertingInto(queues[n%len(queues)], with...))
			}
			if _, err := client.Modify(ctx, inserts...); err != nil {
				return err
			}
		}
		return nil
	})
}

// claimed is what the workers of consume saw.
type claimed struct {
	took   time.Duration
	misses int
	each   []time.Duration // How long each claim took that got a task, sorted.
}

// consume claims and deletes every task that insert put in. Claim n goes to queue n modulo queues,
// so that there are as many claims of a queue as tasks in it and none comes to an empty queue.
func consume(ctx context.Context, client *entroq.EntroQ, queues []string, tasks, workers int) (claimed, error) {
	seen := make([]claimed, workers)
	took, err := each(workers, func(worker int) error {
		own := &seen[worker]
		own.each = make([]time.Duration, 0, tasks/workers+1)
		for n := worker; n < tasks; n += workers {
			var task *entroq.Task
			for tries := 0; task == nil; tries++ {
				if tries == missesMax {
					return fmt.Errorf("%d claims in a row got nothing, of a queue that has a task", tries)
				}
				start := time.Now()
				var err error
				if task, err = client.TryClaim(ctx, entroq.From(queues[n%len(queues)]), entroq.ClaimFor(lease)); err != nil {
					return err
				}
				if task == nil {
					own.misses++
					runtime.Gosched()
					continue
				}
				own.each = append(own.each, time.Since(start))
			}
			if _, err := client.Modify(ctx, task.Delete()); err != nil {
				return err
			}
		}
		return nil
	})
	all := claimed{took: took}
	for _, own := range seen {
		all.misses += own.misses
		all.each = append(all.each, own.each...)
	}
	slices.Sort(all.each)
	return all, err
}

// throughput inserts all tasks, then claims and deletes them.
func throughput(ctx context.Context, asked options, batch int, found *row) (err error) {
	client, stop, err := open(ctx, asked.backend)
	if err != nil {
		return err
	}
	defer func() { err = first(err, stop()) }()
	queues := names(asked.queues)
	inserted, err := insert(ctx, client, queues, asked.tasks, batch, asked.workers)
	if err != nil {
		return err
	}
	taken, err := consume(ctx, client, queues, asked.tasks, asked.workers)
	if err != nil {
		return err
	}
	found.Figures["inserts_per_second"] = float64(asked.tasks) / inserted.Seconds()
	found.Figures["claims_per_second"] = float64(asked.tasks) / taken.took.Seconds()
	found.Figures["claim_p50_us"] = percentile(taken.each, 500)
	found.Figures["claim_p99_us"] = percentile(taken.each, 990)
	found.Figures["misses"] = float64(taken.misses)
	return nil
}

// percentile is in microseconds, of what is sorted.
func percentile(sorted []time.Duration, perMille int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[len(sorted)*perMille/1_000].Nanoseconds()) / 1_000
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
