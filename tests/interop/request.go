package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/replicate/go/queue"
	"github.com/replicate/go/shuffleshard"
)

// A request names a call and what it takes. JSON carries []byte as base64, so any byte may be in it.
type request struct {
	Call            string      `json:"call"`
	Name            string      `json:"name"`
	TTL             int         `json:"ttl"` // seconds
	Streams         int         `json:"streams"`
	StreamsPerShard int         `json:"streams_per_shard"`
	ShardKey        []byte      `json:"shard_key"`
	Fields          [][2][]byte `json:"fields"`
	TrackField      string      `json:"track_field"`
	Deadline        int64       `json:"deadline"` // seconds since the Unix epoch, or 0
	Group           string      `json:"group"`
	Consumer        string      `json:"consumer"`
	BlockMS         int         `json:"block_ms"`
	Stream          string      `json:"stream"`
	ID              string      `json:"id"`
	Value           []byte      `json:"value"`
	Within          int64       `json:"within"` // seconds
}

// A message as it is returned: its stream by its key.
type message struct {
	Stream string      `json:"stream"`
	ID     string      `json:"id"`
	Fields [][2][]byte `json:"fields"`
}

// Names of outcomes that a test expects; other errors keep their text.
var (
	errNoRecord  = errors.New("no record")
	errNoMessage = errors.New("no message")
)

func (r *request) run(ctx context.Context, rdb *redis.Client) (any, error) {
	client := queue.NewTrackingClient(rdb, time.Duration(r.TTL)*time.Second, r.TrackField)
	switch r.Call {
	case "shard":
		return shuffleshard.Get(r.Streams, r.StreamsPerShard, r.ShardKey), nil
	case "write":
		return r.write(ctx, client)
	case "read":
		return r.read(ctx, client)
	case "ack": // The package leaves acknowledging to its users, as this bare command.
		return rdb.XAck(ctx, r.Stream, r.Group, r.ID).Result()
	case "len":
		return client.Len(ctx, r.Name)
	case "stats":
		stats, err := client.Stats(ctx, r.Name, r.Group)
		return []int64{stats.Len, stats.PendingCount}, err
	case "del":
		return nil, named(client.Del(ctx, string(r.Value)))
	case "cordon":
		values, err := client.CordonDeadlineExceeded(ctx, time.Duration(r.Within)*time.Second)
		return asBytes(values), err
	case "gc":
		return r.gc(ctx, client)
	}
	return nil, fmt.Errorf("unknown call %q", r.Call)
}

func (r *request) write(ctx context.Context, client *queue.Client) (any, error) {
	values := make(map[string]any, len(r.Fields))
	for _, pair := range r.Fields {
		values[string(pair[0])] = string(pair[1])
	}
	args := &queue.WriteArgs{
		Name: r.Name, Streams: r.Streams, StreamsPerShard: r.StreamsPerShard,
		ShardKey: r.ShardKey, Values: values,
	}
	if r.Deadline != 0 {
		args.Deadline = time.Unix(r.Deadline, 0)
	}
	return client.Write(ctx, args)
}

func (r *request) read(ctx context.Context, client *queue.Client) (any, error) {
	read, err := client.Read(ctx, &queue.ReadArgs{
		Name: r.Name, Group: r.Group, Consumer: r.Consumer,
		Block: time.Duration(r.BlockMS) * time.Millisecond,
	})
	if errors.Is(err, queue.Empty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	answer := message{Stream: read.Stream, ID: read.ID}
	for field, value := range read.Values {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("field %q is a %T", field, value)
		}
		answer.Fields = append(answer.Fields, [2][]byte{[]byte(field), []byte(text)})
	}
	return answer, nil
}

func (r *request) gc(ctx context.Context, client *queue.Client) (any, error) {
	seen := [][]byte{}
	_, deleted, err := client.GC(ctx, -1, func(_ context.Context, values []string) error {
		seen = append(seen, asBytes(values)...)
		return nil
	})
	return map[string]any{"deleted": deleted, "seen": seen}, err
}

func named(err error) error {
	switch {
	case errors.Is(err, redis.Nil):
		return errNoRecord
	case errors.Is(err, queue.ErrNoMatchingMessageInStream):
		return errNoMessage
	}
	return err
}

func asBytes(texts []string) [][]byte {
	list := make([][]byte, 0, len(texts))
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	return list
}
