package verify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	reportTimeout = 1500 * time.Millisecond
	// maxErrors is the bound of the issuer.
	maxErrors  = 20
	testPrefix = "revocation-test-"
)

// reports counts requests, and tells the issuer the totals, so that a report makes up for those that failed.
type reports struct {
	v *Verifier
	// counts are by the kind of caller, and by error and status.
	counts sync.Map
	// address is nil before the first connection, and after the issuer has refused a report.
	address atomic.Pointer[string]
	// tests has the last revocation of a test that is not reported yet.
	tests chan string
	sent  int64
}

func (r *reports) count(outcome string) {
	count, found := r.counts.Load(outcome)
	if !found {
		count, _ = r.counts.LoadOrStore(outcome, &atomic.Int64{})
	}
	count.(*atomic.Int64).Add(1)
}

// begin reports for a resource as this verifier, again if reports were refused.
func (r *reports) begin(resource, id string) {
	address := r.v.options.Issuer + "/api/v1/resources/" + url.PathEscape(resource) + "/verifiers/" + id + "/report"
	r.address.Store(&address)
}

// noteApplied reports a revocation that is in force here, if it is that of a test. One goroutine calls it.
func (r *reports) noteApplied(id string) {
	if !strings.HasPrefix(id, testPrefix) {
		return
	}
	select {
	case <-r.tests:
	default:
	}
	r.tests <- id
}

// run sends one report at a time until ctx ends, and a last one then.
func (r *reports) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		applied := ""
		select {
		case <-ctx.Done():
		case applied = <-r.tests:
		case <-ticker.C:
		}
		r.send(ctx, applied)
	}
	r.send(context.WithoutCancel(ctx), "")
}

type refusedRequests struct {
	Status int    `json:"status"`
	Error  string `json:"error"`
	Count  int64  `json:"count"`
}

func (r *reports) send(ctx context.Context, applied string) {
	total, requests, refused := int64(0), map[string]any{"person": 0, "machine": 0, "key": 0}, []refusedRequests{}
	r.counts.Range(func(outcome, count any) bool {
		number := count.(*atomic.Int64).Load()
		total += number
		if name, status, isRefusal := strings.Cut(outcome.(string), " "); isRefusal {
			status, _ := strconv.Atoi(status)
			refused = append(refused, refusedRequests{status, name, number})
		} else {
			requests[name] = number
		}
		return true
	})
	address := r.address.Load()
	if address == nil || applied == "" && total == r.sent {
		return
	}
	requests["refused"] = refused[:min(len(refused), maxErrors)]
	report := map[string]any{"requests": requests}
	if applied != "" {
		report["applied"] = applied
	}
	body, _ := json.Marshal(report)
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}}
	response, err := r.v.send(ctx, *address, header, string(body), true)
	var failed *statusError
	if err == nil {
		_ = response.Body.Close()
		r.sent = total
	} else if errors.As(err, &failed) && failed.status/100 == 4 {
		// An older issuer has no reports.
		r.address.CompareAndSwap(address, nil)
	}
}
