package verify

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const audience = "https://api.example.com/notes"

// testIssuer is a server with the endpoints that a verifier uses. Its feed does what Gatehouse's does, faster.
type testIssuer struct {
	*httptest.Server
	counts sync.Map

	mu       sync.Mutex
	keys     map[string]*ecdsa.PrivateKey
	active   map[string]map[string]any
	entries  []string
	changed  chan struct{}
	lastSeen []string
	// status is that of the feed; isMute makes it say nothing, isAway makes every other endpoint fail.
	status         int
	retryAfter     string
	isMute, isAway bool
	connections    []time.Time
	verifierHeader string
	createdAt      time.Time
	// reports have a path and a body each. A report waits for holdReports to end.
	reports      [][2]string
	reportStatus int
	holdReports  chan struct{}
}

func startIssuer(t *testing.T) *testIssuer {
	i := &testIssuer{keys: map[string]*ecdsa.PrivateKey{}, active: map[string]map[string]any{}, changed: make(chan struct{}), status: 200, reportStatus: 204}
	i.addKey("k1")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/jwks", "introspection_endpoint": i.URL + "/introspect"})
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, i.jwks()) })
	mux.HandleFunc("POST /introspect", i.introspect)
	mux.HandleFunc("GET /api/v1/resources", func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != url.QueryEscape(clientSecret) {
			w.WriteHeader(401)
			return
		}
		writeJSON(w, map[string]any{"data": []any{map[string]any{"id": "rsr_1", "identifier": audience, "created_at": i.registeredAt()}}})
	})
	mux.HandleFunc("GET /api/v1/resources/rsr_1/revocations", i.feed)
	mux.HandleFunc("POST /api/v1/resources/rsr_1/verifiers/{id}/report", i.report)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.count(r.URL.Path).Add(1)
		i.mu.Lock()
		isAway := i.isAway
		i.mu.Unlock()
		if isAway && !strings.HasSuffix(r.URL.Path, "/revocations") {
			w.WriteHeader(502)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { i.CloseClientConnections(); i.Close() })
	return i
}

func (i *testIssuer) registeredAt() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.createdAt
}

const clientID, clientSecret = "app_1", "s3cret: of/the+API%"

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func (i *testIssuer) count(path string) *atomic.Int64 {
	count, _ := i.counts.LoadOrStore(path, &atomic.Int64{})
	return count.(*atomic.Int64)
}

func (i *testIssuer) change(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
	close(i.changed)
	i.changed = make(chan struct{})
}

func (i *testIssuer) addKey(kid string) {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[kid] = key
}

func (i *testIssuer) jwks() jose.JSONWebKeySet {
	i.mu.Lock()
	defer i.mu.Unlock()
	set := jose.JSONWebKeySet{}
	for kid, key := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"})
	}
	return set
}

func (i *testIssuer) introspect(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != url.QueryEscape(clientID) || secret != url.QueryEscape(clientSecret) {
		w.WriteHeader(401)
		return
	}
	time.Sleep(20 * time.Millisecond)
	i.mu.Lock()
	defer i.mu.Unlock()
	if response, found := i.active[r.FormValue("token")]; found {
		writeJSON(w, response)
		return
	}
	writeJSON(w, map[string]any{"active": false})
}

// feed sends the entries after Last-Event-ID, and heartbeats, until status changes.
func (i *testIssuer) feed(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	status, next := i.status, 0
	i.connections = append(i.connections, time.Now())
	i.lastSeen = append(i.lastSeen, r.Header.Get("Last-Event-ID"))
	i.verifierHeader = r.Header.Get("User-Agent") + " " + r.Header.Get("X-Gatehouse-Verifier")
	if i.retryAfter != "" {
		w.Header().Set("Retry-After", i.retryAfter)
	}
	i.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(status)
	if status != 200 {
		return
	}
	_, _ = fmt.Sscanf(r.Header.Get("Last-Event-ID"), "p%d", &next)
	for {
		i.mu.Lock()
		entries, changed, isMute, status := i.entries, i.changed, i.isMute, i.status
		i.mu.Unlock()
		if status != 200 {
			return
		}
		for ; next < len(entries) && !isMute; next++ {
			_, _ = fmt.Fprintf(w, "id: p%d\ndata: %s\n\n", next+1, entries[next])
		}
		if !isMute {
			_, _ = fmt.Fprintf(w, ": beat\nid: p%d\n\n", next)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

func (i *testIssuer) report(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, secret, _ := r.BasicAuth()
	i.mu.Lock()
	i.reports = append(i.reports, [2]string{r.URL.Path, string(body)})
	status, hold := i.reportStatus, i.holdReports
	i.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if secret != url.QueryEscape(clientSecret) {
		status = 401
	}
	w.WriteHeader(status)
}

func (i *testIssuer) reportBodies() (bodies []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, report := range i.reports {
		bodies = append(bodies, report[1])
	}
	return bodies
}

func (i *testIssuer) revoke(kind, id string) {
	entry := fmt.Sprintf(`{"kind":%q,"id":%q,"until":%d}`, kind, id, time.Now().Unix()+3600)
	i.change(func() { i.entries = append(i.entries, entry) })
}

// token signs a token of these claims, which replace the usual ones.
func (i *testIssuer) token(kid string, changes map[string]any) string {
	now := time.Now().Unix()
	claims := map[string]any{"iss": i.URL, "aud": audience, "sub": "usr_1", "client_id": "cli_1", "jti": "jti_1", "iat": now,
		"exp": now + 3600, "scope": "notes:read"}
	for name, value := range changes {
		claims[name] = value
	}
	i.mu.Lock()
	key := i.keys[kid]
	i.mu.Unlock()
	return sign(key, map[jose.HeaderKey]any{"kid": kid, "typ": "at+jwt"}, claims)
}

func sign(key *ecdsa.PrivateKey, header map[jose.HeaderKey]any, claims map[string]any) string {
	options := &jose.SignerOptions{ExtraHeaders: header}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	if err != nil {
		panic(err)
	}
	payload, _ := json.Marshal(claims)
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

// recorder keeps what a verifier reports.
type recorder struct {
	mu     sync.Mutex
	states []string
	lines  []string
	counts map[string]float64
}

func (r *recorder) log(state, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states, r.lines = append(r.states, state), append(r.lines, message)
}

func (r *recorder) metrics(name string, value float64, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[name] += value
	r.counts[strings.TrimSpace(name+" "+reason)] += value
}

func (r *recorder) seen() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.states, " ")
}

func (r *recorder) count(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[name]
}

var fast = timing{20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, time.Hour}

// startVerifier makes a verifier with a feed, whose options may be changed first, and waits until it is connected.
func startVerifier(t *testing.T, i *testIssuer, change func(*Options)) (*Verifier, *recorder) {
	return startVerifierAt(t, i, fast, change)
}

func startVerifierAt(t *testing.T, i *testIssuer, timing timing, change func(*Options)) (*Verifier, *recorder) {
	r := &recorder{counts: map[string]float64{}}
	options := Options{Issuer: i.URL, Audience: audience, ClientID: clientID, ClientSecret: clientSecret, Log: r.log, Metrics: r.metrics}
	isReady := func() bool { return r.seen() != "" }
	if change != nil {
		change(&options)
	}
	v, err := newVerifier(options, time.Now, timing)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v.stop = cancel
	if v.feed != nil {
		go v.feed.run(ctx)
		eventually(t, "a state of the feed", isReady)
	}
	t.Cleanup(v.Close)
	return v, r
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal("not within 5 s: " + what)
}

// statusOf is the status that a request with this Authorization header gets; 200 if it may pass.
func statusOf(v *Verifier, authorization string) int {
	r := httptest.NewRequest("GET", audience, nil)
	r.Header.Set("Authorization", authorization)
	if _, err := v.Verify(r, Needs{}); err != nil {
		return err.(*Error).Status
	}
	return 200
}
