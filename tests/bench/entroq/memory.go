package main

import (
	"context"
	"runtime"
)

// memory measures how much the heap grows by a task.
func memory(ctx context.Context, asked options, found *row) (err error) {
	client, stop, err := open(ctx, asked.backend)
	if err != nil {
		return err
	}
	defer func() { err = first(err, stop()) }()
	before := heapBytes()
	if _, err := insert(ctx, client, names(asked.queues), asked.tasks, 1_000, 1); err != nil {
		return err
	}
	found.Figures["bytes_per_task"] = (heapBytes() - before) / float64(asked.tasks)
	runtime.KeepAlive(client)
	return nil
}

// heapBytes is what lives. The second collection takes what the first could only finalize.
func heapBytes() float64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&now)
	return float64(now.HeapAlloc)
}
