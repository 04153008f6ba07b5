package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/shiblon/entroq"
	"github.com/shiblon/entroq/pkg/backend/eqmem"
	"github.com/shiblon/entroq/pkg/backend/eqredis"
)

// open returns a client of the backend, and what closes it and removes what it left. A journal is
// new each time, in a folder of its own; what lies in a Redis stays there.
func open(ctx context.Context, backend string) (*entroq.EntroQ, func() error, error) {
	var opener entroq.BackendOpener
	remove := func() error { return nil }
	switch {
	case backend == "memory":
		opener = eqmem.Opener()
	case strings.HasPrefix(backend, "journal:"):
		parent := strings.TrimPrefix(backend, "journal:")
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return nil, nil, err
		}
		folder, err := os.MkdirTemp(parent, "entroq-")
		if err != nil {
			return nil, nil, err
		}
		opener = eqmem.Opener(eqmem.WithJournal(folder))
		remove = func() error { return os.RemoveAll(folder) }
	case strings.HasPrefix(backend, "redis:"):
		address, err := url.Parse(backend)
		if err != nil {
			return nil, nil, err
		}
		number := 0
		if path := strings.Trim(address.Path, "/"); path != "" {
			if number, err = strconv.Atoi(path); err != nil {
				return nil, nil, err
			}
		}
		password, _ := address.User.Password()
		opener = eqredis.Opener(eqredis.WithAddr(address.Host),
			eqredis.WithPassword(password), eqredis.WithRedisDB(number))
	default:
		return nil, nil, fmt.Errorf("no backend is called %q", backend)
	}
	client, err := entroq.New(ctx, opener)
	if err != nil {
		remove()
		return nil, nil, err
	}
	return client, func() error {
		if err := client.Close(); err != nil {
			return err
		}
		return remove()
	}, nil
}
