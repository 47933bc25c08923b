package verify

import (
	"context"
	"sync"
	"time"
)

// cache is a bounded map of two halves. A full young half becomes the old one, whose entries are dropped unless they were used.
type cache[K comparable, V any] struct {
	mu         sync.Mutex
	half       int
	young, old map[K]V
}

func (c *cache[K, V]) get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, found = c.young[key]; found {
		return value, true
	}
	if value, found = c.old[key]; found {
		c.insert(key, value)
	}
	return value, found
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.insert(key, value)
}

func (c *cache[K, V]) insert(key K, value V) {
	if c.young == nil || len(c.young) >= c.half {
		c.old, c.young = c.young, map[K]V{}
	}
	delete(c.old, key)
	c.young[key] = value
}

// flights shares one call among all that ask for the same at the same time.
type flights struct {
	mu    sync.Mutex
	calls map[any]*flight
}

type flight struct {
	done  chan struct{}
	value any
	err   error
}

// requestTimeout bounds each request to the issuer.
const requestTimeout = 3 * time.Second

// share ends early with ctx. The call does not: it belongs to others, too.
func share[T any](ctx context.Context, f *flights, key any, run func(context.Context) (T, error)) (value T, err error) {
	f.mu.Lock()
	shared, found := f.calls[key]
	if !found {
		shared = &flight{done: make(chan struct{})}
		f.calls[key] = shared
		go func() {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
			defer cancel()
			shared.value, shared.err = run(limited)
			f.mu.Lock()
			delete(f.calls, key)
			f.mu.Unlock()
			close(shared.done)
		}()
	}
	f.mu.Unlock()
	select {
	case <-shared.done:
		return shared.value.(T), shared.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
