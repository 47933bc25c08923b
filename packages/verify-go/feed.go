package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	version       = "0.1.0"
	maxBlockSize  = 64 << 10
	maxRetryAfter = 5 * time.Minute
	sweepInterval = 30 * time.Second
	// firstWait is the time after the start for which requests wait for the feed.
	firstWait = time.Second
)

// timing of the feed; tests shorten it.
type timing struct{ pause, maxPause, refusedPause, idle, report time.Duration }

var defaultTiming = timing{200 * time.Millisecond, 5 * time.Second, 30 * time.Second, 6 * time.Second, 30 * time.Second}

// feed listens to the revocations of the API.
type feed struct {
	v      *Verifier
	timing timing
	// id distinguishes this process for the owner of the API.
	id      string
	reports *reports
	// started is closed by start: at the first heartbeat, and when requests have waited long enough for it.
	started, ended chan struct{}
	start          func()
	silent         *time.Timer

	// These are the goroutine's alone.
	resource, position string
	swept              time.Time

	mu    sync.Mutex
	beat  time.Time
	state string
}

func newFeed(v *Verifier, timing timing) *feed {
	f := &feed{v: v, timing: timing, id: strconv.FormatUint(rand.Uint64(), 36), started: make(chan struct{}),
		ended: make(chan struct{}), reports: &reports{v: v, tests: make(chan string, 1)}}
	f.start = sync.OnceFunc(func() { close(f.started) })
	time.AfterFunc(firstWait, f.start)
	f.silent = time.AfterFunc(v.options.Stale.After, f.reportSilence)
	return f
}

// isFresh says whether every revocation up to a moment ago is known. It goes by the wall clock, since the other one stands
// still while the machine sleeps; when it is set back, the feed counts as silent until the next heartbeat.
func (f *feed) isFresh() bool {
	age := f.v.now().Round(0).Sub(f.lastBeat().Round(0))
	return age >= 0 && age <= f.v.options.Stale.After
}

func (f *feed) lastBeat() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.beat
}

// run connects until ctx ends.
func (f *feed) run(ctx context.Context) {
	defer close(f.ended)
	defer f.silent.Stop()
	var reporting sync.WaitGroup
	defer reporting.Wait()
	reporting.Add(1)
	go func() {
		defer reporting.Done()
		f.reports.run(ctx, f.timing.report)
	}()
	pause := f.timing.pause
	for ctx.Err() == nil {
		before := f.lastBeat()
		err := f.listen(ctx)
		if f.lastBeat() != before {
			pause = f.timing.pause
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(float64(f.pauseAfter(err, pause)) * (0.75 + rand.Float64()/2))):
		}
		pause = min(2*pause, f.timing.maxPause)
	}
}

func (f *feed) pauseAfter(err error, pause time.Duration) time.Duration {
	var response *statusError
	if !errors.As(err, &response) {
		return pause
	}
	switch response.status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		// The API may be registered again, with another ID.
		f.resource, f.position = "", ""
		f.mu.Lock()
		wasConnected := !f.beat.IsZero()
		f.beat = time.Time{}
		f.mu.Unlock()
		f.report("refused", fmt.Sprintf("the issuer refuses the revocation feed of %s with status %d: "+
			"check ClientID, ClientSecret and Audience", f.v.options.Audience, response.status))
		if wasConnected {
			return f.timing.pause
		}
		return f.timing.refusedPause
	}
	seconds, _ := strconv.Atoi(response.retryAfter)
	// The jitter takes away up to a quarter.
	return max(pause, min(time.Duration(seconds)*time.Second*4/3, maxRetryAfter))
}

// listen makes one connection, and reads it until it ends or nothing comes for too long.
func (f *feed) listen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(f.timing.idle, cancel)
	defer idle.Stop()
	if err := f.findResource(ctx); err != nil {
		return err
	}
	address := f.v.options.Issuer + "/api/v1/resources/" + url.PathEscape(f.resource) + "/revocations"
	header := http.Header{"Accept": {"text/event-stream"}}
	// A compressed stream may arrive late.
	header.Set("Accept-Encoding", "identity")
	header.Set("X-Gatehouse-Verifier", "id="+f.id+"; stale="+string(f.v.options.Stale.Then))
	if f.position != "" {
		header.Set("Last-Event-ID", f.position)
	}
	response, err := f.v.send(ctx, address, header, "", true)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	f.reports.begin(f.resource, f.id)
	return f.read(response.Body, func() { idle.Reset(f.timing.idle) })
}

// findResource finds the registration of the API.
func (f *feed) findResource(ctx context.Context) error {
	if f.resource != "" {
		return nil
	}
	address := f.v.options.Issuer + "/api/v1/resources?identifier=" + url.QueryEscape(f.v.options.Audience)
	var found struct {
		Data []struct {
			ID, Identifier string
			CreatedAt      time.Time `json:"created_at"`
		}
	}
	if err := f.v.request(ctx, address, nil, true, &found); err != nil {
		return err
	}
	for _, resource := range found.Data {
		if resource.Identifier == f.v.options.Audience {
			f.resource = resource.ID
			f.v.revocations.refuseIssuedBefore(resource.CreatedAt)
			return nil
		}
	}
	return &statusError{status: http.StatusNotFound}
}

// read takes the blocks of an event stream: entries have data, heartbeats an id alone.
func (f *feed) read(stream io.Reader, keepAlive func()) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxBlockSize)
	var id, data string
	size := 0
	for lines.Scan() {
		keepAlive()
		if size += len(lines.Bytes()) + 1; size > maxBlockSize {
			return errors.New("a block of the feed is too long")
		}
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			f.take(id, data)
			id, data, size = "", "", 0
		case name == "id":
			id = value
		case name == "data":
			data = value
		}
	}
	return lines.Err()
}

func (f *feed) take(id, data string) {
	var entry revocation
	if data != "" && json.Unmarshal([]byte(data), &entry) == nil {
		f.v.revocations.add(entry, f.v.now())
		f.reports.noteApplied(entry.ID)
		f.v.measure("revocations", 1, entry.Kind)
	}
	if id != "" {
		f.position = id
		if data == "" {
			f.heartbeat(f.v.now())
		}
	}
}

// heartbeat notes that every revocation until now has come.
func (f *feed) heartbeat(now time.Time) {
	if now.Sub(f.swept) >= sweepInterval {
		f.swept = now
		f.v.revocations.sweep(now)
	}
	f.mu.Lock()
	last := f.beat
	f.beat = now
	f.mu.Unlock()
	if !last.IsZero() {
		f.v.measure("seconds_behind", now.Sub(last).Seconds(), "")
	}
	f.start()
	f.silent.Reset(f.v.options.Stale.After)
	f.report("connected", "the revocation feed of "+f.v.options.Audience+" is connected")
}

func (f *feed) reportSilence() {
	then := map[StaleAction]string{Introspect: "each access token is introspected", Refuse: "requests get status 503",
		Accept: "tokens are accepted unless they are known to be revoked"}[f.v.options.Stale.Then]
	f.report("silent", "the revocation feed of "+f.v.options.Audience+" is silent: "+then)
}

// report logs a change of state. A feed that is refused is silent, too.
func (f *feed) report(state, message string) {
	f.mu.Lock()
	isChange := state != f.state && !(state == "silent" && f.state == "refused")
	if isChange {
		f.state = state
	}
	f.mu.Unlock()
	if isChange {
		f.v.options.Log(state, message)
	}
}
