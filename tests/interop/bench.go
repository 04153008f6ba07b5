package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/replicate/go/queue"
)

// The same as in tests/bench/src/shuffle: messages of a round, tenants, and rounds of which the
// median counts.
const (
	messages = 2_000
	tenants  = 40
	rounds   = 5
)

type row struct {
	What      string `json:"what"`
	Streams   int    `json:"streams"`
	PerSecond int    `json:"per_second"`
}

// bench prints how many messages per second go through the package one at a time.
func bench(rdb *redis.Client) error {
	ctx := context.Background()
	answers := json.NewEncoder(os.Stdout)
	// Queues of this run alone, which expire soon after it.
	prefix := fmt.Sprintf("interop-bench-%d", time.Now().UnixNano())
	for _, streams := range []int{1, 16, 64, 256} {
		var written, read []float64
		for round := range rounds {
			name := fmt.Sprintf("%s-%d-%d", prefix, streams, round)
			first, second, err := benchRound(ctx, rdb, name, streams)
			if err != nil {
				return err
			}
			written, read = append(written, first), append(read, second)
		}
		for _, found := range []row{
			{"write", streams, median(written)},
			{"read and XACK", streams, median(read)},
		} {
			if err := answers.Encode(found); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchRound returns the messages per second that were written, and read and acknowledged.
func benchRound(ctx context.Context, rdb *redis.Client, name string, streams int) (float64, float64, error) {
	client := queue.NewClient(rdb, 5*time.Minute)
	if err := client.Prepare(ctx); err != nil {
		return 0, 0, err
	}
	write := func(n int) error {
		_, err := client.Write(ctx, &queue.WriteArgs{
			Name: name, Streams: streams, StreamsPerShard: min(streams, 4),
			ShardKey: []byte(strconv.Itoa(n * 7 % tenants)),
			Values: map[string]any{
				"task":  fmt.Sprintf("resize-%08d", n),
				"image": "https://example.org/images/1.png",
			},
		})
		return err
	}
	read := func() error {
		taken, err := client.Read(ctx, &queue.ReadArgs{Name: name, Group: "g", Consumer: "c"})
		if err != nil {
			return err
		}
		return rdb.XAck(ctx, taken.Stream, "g", taken.ID).Err()
	}
	// The first message warms up, and the first read joins the streams.
	if err := write(0); err != nil {
		return 0, 0, err
	}
	if err := read(); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	for n := range messages {
		if err := write(n); err != nil {
			return 0, 0, err
		}
	}
	written := messages / time.Since(start).Seconds()
	start = time.Now()
	for range messages {
		if err := read(); err != nil {
			return 0, 0, err
		}
	}
	return written, messages / time.Since(start).Seconds(), nil
}

func median(rates []float64) int {
	sort.Float64s(rates)
	return int(rates[len(rates)/2])
}
