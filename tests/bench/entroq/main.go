// Program entroq measures EntroQ, and prints one line of JSON for each figure it takes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// measures lists what can be asked for, in the order in which it is done. What is inside
// requires a backend that keeps its tasks in this process.
var measures = []struct {
	name   string
	inside bool
	take   func(context.Context, options, *row) error
}{
	{"one", false, func(ctx context.Context, o options, r *row) error { return throughput(ctx, o, 1, r) }},
	{"batch", false, func(ctx context.Context, o options, r *row) error { return throughput(ctx, o, 1_000, r) }},
	{"memory", true, memory},
	{"contention", true, contention},
}

// options is what one row is taken with.
type options struct {
	backend string
	workers int
	queues  int
	tasks   int
}

// row is one line of output. Its figures are medians of the rounds, each figure for itself.
type row struct {
	What    string             `json:"what"`
	Backend string             `json:"backend"`
	Workers int                `json:"workers"`
	Queues  int                `json:"queues"`
	Tasks   int                `json:"tasks"`
	Rounds  int                `json:"rounds"`
	Figures map[string]float64 `json:"figures"`
}

func main() {
	var asked options
	var names []string
	for _, measure := range measures {
		names = append(names, measure.name)
	}
	flag.StringVar(&asked.backend, "backend", "memory", "memory, journal:FOLDER or redis://HOST:PORT/DB")
	flag.IntVar(&asked.workers, "workers", 1, "goroutines that insert, and that claim")
	flag.IntVar(&asked.queues, "queues", 1, "queues that the tasks are spread over")
	flag.IntVar(&asked.tasks, "tasks", 100_000, "tasks of a round")
	rounds := flag.Int("rounds", 5, "rounds of which the median counts")
	what := flag.String("what", "one,batch", "what to measure, of "+strings.Join(names, ","))
	flag.Parse()

	if min(asked.workers, asked.queues, asked.tasks, *rounds) < 1 || flag.NArg() > 0 {
		exit(fmt.Errorf("workers, queues, tasks and rounds are at least 1, and all else is an option"))
	}
	wanted := strings.Split(*what, ",")
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			exit(fmt.Errorf("%q is none of %s", name, names))
		}
	}
	answers := json.NewEncoder(os.Stdout)
	for _, measure := range measures {
		if !slices.Contains(wanted, measure.name) {
			continue
		}
		if measure.inside && kind(asked.backend) == "redis" {
			exit(fmt.Errorf("%s is not measured on a Redis", measure.name))
		}
		taken := make([]row, *rounds)
		for n := range taken {
			taken[n] = row{
				What: measure.name, Backend: kind(asked.backend), Workers: asked.workers,
				Queues: asked.queues, Tasks: asked.tasks, Rounds: *rounds,
				Figures: map[string]float64{},
			}
			if err := measure.take(context.Background(), asked, &taken[n]); err != nil {
				exit(fmt.Errorf("%s: %w", measure.name, err))
			}
		}
		if err := answers.Encode(median(taken)); err != nil {
			exit(err)
		}
	}
}

// kind is a backend without its address or folder, which belong in no result.
func kind(backend string) string {
	name, _, _ := strings.Cut(backend, ":")
	return name
}

func median(taken []row) row {
	middle := taken[0]
	for name := range middle.Figures {
		var all []float64
		for _, round := range taken {
			all = append(all, round.Figures[name])
		}
		slices.Sort(all)
		middle.Figures[name] = all[len(all)/2]
	}
	return middle
}

func exit(err error) {
	fmt.Fprintln(os.Stderr, "entroq:", err)
	os.Exit(1)
}
