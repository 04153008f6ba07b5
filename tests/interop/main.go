// Program interop lets a test drive the Go queue package: it takes requests as lines of JSON on
// stdin and returns each with a line on stdout. With `bench` it measures the package instead.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		exit(serve(connect(os.Args[2])))
	}
	if len(os.Args) == 3 && os.Args[1] == "bench" {
		exit(bench(connect(os.Args[2])))
	}
	exit(fmt.Errorf("usage: interop serve|bench redis://HOST:PORT"))
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "interop:", err)
	os.Exit(1)
}

func connect(url string) *redis.Client {
	options, err := redis.ParseURL(url)
	if err != nil {
		exit(err)
	}
	return redis.NewClient(options)
}

// serve handles requests until stdin ends.
func serve(rdb *redis.Client) error {
	lines := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	requests := json.NewDecoder(lines)
	for requests.More() {
		var asked request
		if err := requests.Decode(&asked); err != nil {
			return err
		}
		result, err := asked.run(context.Background(), rdb)
		reply := map[string]any{"ok": result}
		if err != nil {
			reply = map[string]any{"error": err.Error()}
		}
		if err := answers.Encode(reply); err != nil {
			return err
		}
	}
	return nil
}
