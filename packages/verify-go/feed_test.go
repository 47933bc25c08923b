package verify

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestRevokedTokenIsRefusedWithinASecond(t *testing.T) {
	i := startIssuer(t)
	v, r := startVerifier(t, i, nil)
	for n, entry := range [][2]string{{"token", "jti_0"}, {"grant", "gra_1"}, {"client", "cli_2"}, {"subject", "usr_3"}} {
		bearer := "Bearer " + i.token("k1", map[string]any{"jti": fmt.Sprint("jti_", n), "gid": fmt.Sprint("gra_", n),
			"client_id": fmt.Sprint("cli_", n), "sub": fmt.Sprint("usr_", n)})
		if status := statusOf(v, bearer); status != 200 {
			t.Fatal(entry, status)
		}
		i.revoke(entry[0], entry[1])
		revoked := time.Now()
		eventually(t, entry[0], func() bool { return statusOf(v, bearer) == 401 })
		if passed := time.Since(revoked); passed > time.Second {
			t.Error(entry, passed)
		}
	}
	if r.count("revocations") != 4 || r.count("introspections") != 0 || r.count("refused invalid_token 401") < 4 {
		t.Error(r.counts)
	}
}

func TestFeedSaysWhoListens(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, func(o *Options) { o.Stale.Then = Refuse })
	i.mu.Lock()
	defer i.mu.Unlock()
	if wanted := "gatehouse-verify-go/" + version + " id=" + v.feed.id + "; stale=refuse"; i.verifierHeader != wanted || len(v.feed.id) < 8 {
		t.Error(i.verifierHeader)
	}
}

func TestFeedGoesOnWhereItWas(t *testing.T) {
	i := startIssuer(t)
	i.revoke("token", "jti_0")
	v, r := startVerifier(t, i, nil)
	i.change(func() { i.status = 500 })
	eventually(t, "attempts", func() bool { i.mu.Lock(); defer i.mu.Unlock(); return len(i.connections) > 3 })
	i.revoke("token", "jti_1")
	i.change(func() { i.status = 200 })
	bearer := "Bearer " + i.token("k1", nil)
	eventually(t, "the entry that came meanwhile", func() bool { return statusOf(v, bearer) == 401 })
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.lastSeen[0] != "" || i.lastSeen[len(i.lastSeen)-1] != "p1" {
		t.Error(i.lastSeen)
	}
	if r.seen() != "connected" || r.count("revocations") != 2 {
		t.Error(r.seen(), r.counts)
	}
}

func TestMuteConnectionIsMadeAgain(t *testing.T) {
	i := startIssuer(t)
	v, r := startVerifier(t, i, func(o *Options) { o.Stale = Stale{After: 150 * time.Millisecond, Then: Refuse} })
	i.change(func() { i.isMute = true })
	eventually(t, "silence", func() bool { return r.seen() == "connected silent" })
	if status := statusOf(v, "Bearer "+i.token("k1", nil)); status != 503 {
		t.Error(status)
	}
	eventually(t, "another connection", func() bool { i.mu.Lock(); defer i.mu.Unlock(); return len(i.connections) >= 2 })
	i.change(func() { i.isMute = false })
	eventually(t, "a heartbeat", func() bool { return r.seen() == "connected silent connected" })
	if status := statusOf(v, "Bearer "+i.token("k1", nil)); status != 200 {
		t.Error(status)
	}
	if !strings.Contains(r.lines[1], "status 503") {
		t.Error(r.lines)
	}
}

func TestConnectionWithoutAFirstByteIsMadeAgain(t *testing.T) {
	i := startIssuer(t)
	i.change(func() { i.isMute = true })
	startVerifier(t, i, func(o *Options) { o.Stale.After = 10 * time.Millisecond })
	eventually(t, "another connection", func() bool { i.mu.Lock(); defer i.mu.Unlock(); return len(i.connections) >= 2 })
}

func TestClosedVerifierReportsNoSilence(t *testing.T) {
	i := startIssuer(t)
	v, r := startVerifier(t, i, func(o *Options) { o.Stale.After = 100 * time.Millisecond })
	v.Close()
	time.Sleep(200 * time.Millisecond)
	if r.seen() != "connected" {
		t.Error(r.seen())
	}
}

func TestRefusedFeedIsTriedSeldom(t *testing.T) {
	i := startIssuer(t)
	_, r := startVerifier(t, i, func(o *Options) { o.ClientSecret, o.Stale.After = "wrong", 50*time.Millisecond })
	time.Sleep(700 * time.Millisecond)
	if count := i.count("/api/v1/resources").Load(); count < 2 || count > 4 {
		t.Error(count, "attempts with a pause of 300 ms")
	}
	if r.seen() != "refused" || !strings.Contains(r.lines[0], "401") || strings.Contains(strings.Join(r.lines, ""), "wrong") {
		t.Error(r.lines)
	}
}

func TestUnregisteredAPIIsReported(t *testing.T) {
	i := startIssuer(t)
	_, r := startVerifier(t, i, func(o *Options) { o.Audience = "https://api.example.com/other" })
	if r.seen() != "refused" || !strings.Contains(r.lines[0], "404") {
		t.Error(r.lines)
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	i := startIssuer(t)
	i.change(func() { i.status, i.retryAfter = 503, "1" })
	_, r := startVerifier(t, i, func(o *Options) { o.Stale.After = 10 * time.Millisecond })
	i.change(func() { i.status = 200 })
	eventually(t, "a connection", func() bool { return strings.HasSuffix(r.seen(), "connected") })
	i.mu.Lock()
	defer i.mu.Unlock()
	if pause := i.connections[1].Sub(i.connections[0]); pause < time.Second {
		t.Error(pause)
	}
}

func TestFirstRequestsWaitForTheFeed(t *testing.T) {
	i := startIssuer(t)
	i.revoke("token", "jti_1")
	v, err := New(context.Background(), Options{Issuer: i.URL, Audience: audience, ClientID: clientID, ClientSecret: clientSecret,
		Stale: Stale{Then: Accept}, Log: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if status := statusOf(v, "Bearer "+i.token("k1", nil)); status != 401 {
		t.Error(status)
	}
	i.change(func() { i.status = 500 })
	other, _ := New(context.Background(), v.options)
	defer other.Close()
	start := time.Now()
	bearer := "Bearer " + i.token("k1", nil)
	if status := statusOf(other, bearer); status != 200 || time.Since(start) < 900*time.Millisecond {
		t.Error(status, time.Since(start))
	}
	start = time.Now()
	if status := statusOf(other, bearer); status != 200 || time.Since(start) > 100*time.Millisecond {
		t.Error(status, time.Since(start))
	}
}

func TestFreshnessGoesByTheWallClock(t *testing.T) {
	now := time.Now()
	v, err := newVerifier(Options{Issuer: "http://127.0.0.1:1", Audience: audience, ClientID: "a", ClientSecret: "b"},
		func() time.Time { return now }, defaultTiming)
	if err != nil {
		t.Fatal(err)
	}
	if v.feed.isFresh() {
		t.Error("before the first heartbeat")
	}
	v.feed.beat = now
	for seconds, isFresh := range map[int]bool{-1: false, 0: true, 10: true, 11: false} {
		now = v.feed.beat.Add(time.Duration(seconds) * time.Second)
		if v.feed.isFresh() != isFresh {
			t.Error(seconds)
		}
	}
}

func TestFreshnessIsReadBeforeTheRevocations(t *testing.T) {
	var v *Verifier
	calls, now := 0, time.Now()
	clock := func() time.Time {
		if calls++; calls == 2 {
			// The feed is loaded while the request is checked.
			v.feed.take("p1", fmt.Sprintf(`{"kind":"token","id":"a","until":%d}`, now.Unix()+60))
			v.feed.take("p1", "")
		}
		return now
	}
	v, err := newVerifier(Options{Issuer: "http://127.0.0.1:1", Audience: audience, ClientID: "a", ClientSecret: "b",
		Log: func(string, string) {}}, clock, defaultTiming)
	if err != nil {
		t.Fatal(err)
	}
	v.feed.start()
	revoked := &credential{identity: identity{id: "a", issued: seconds(now)}}
	if err := v.checkRevocation(context.Background(), revoked, "", [32]byte{}); err != errRevoked {
		t.Error(err)
	}
}

func TestFeedIsReadInAnyShape(t *testing.T) {
	v, err := newVerifier(Options{Issuer: "http://127.0.0.1:1", Audience: audience, ClientID: "a", ClientSecret: "b"}, time.Now, fast)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Unix() + 60
	stream := fmt.Sprintf("retry: 5\r\n\r\n: hi\n\nevent: x\nid:p7\ndata:{\"kind\":\"token\",\"id\":\"a\",\"until\":%d}\r\n\r\n"+
		"data: no JSON\n\ndata: []\n\ndata: {\"kind\":\"token\",\"id\":\"half\",\"until\":%d}\n", until, until)
	if err := v.feed.read(strings.NewReader(stream), func() {}); err != nil {
		t.Error(err)
	}
	if v.feed.position != "p7" || v.feed.isFresh() || len(v.revocations.marks) != 1 {
		t.Error(v.feed.position, v.revocations.marks)
	}
	endless := io.MultiReader(strings.NewReader("data: "), strings.NewReader(strings.Repeat("a", 1<<20)))
	if v.feed.read(endless, func() {}) == nil {
		t.Error("a line without an end was read")
	}
	if v.feed.read(strings.NewReader(strings.Repeat("data: a\n", 100_000)), func() {}) == nil {
		t.Error("a block without an end was read")
	}
	if err := v.feed.read(strings.NewReader(strings.Repeat("id: 1\n\n", 20_000)), func() {}); err != nil {
		t.Error("many blocks:", err)
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	i := startIssuer(t)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for n := range 5 {
		v, err := New(ctx, Options{Issuer: i.URL, Audience: audience, ClientID: clientID, ClientSecret: clientSecret, Log: func(string, string) {}})
		if err != nil {
			t.Fatal(err)
		}
		if status := statusOf(v, "Bearer "+i.token("k1", nil)); status != 200 {
			t.Error(status)
		}
		if n == 4 {
			// The feed ends with ctx, too.
			cancel()
			<-v.feed.ended
		}
		v.Close()
		select {
		case <-v.feed.ended:
		default:
			t.Error("Close did not wait for the feed")
		}
	}
	eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

func TestAllIsBoundedUnderRandomCredentials(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	good := "Bearer " + i.token("k1", nil)
	parts := strings.Split(i.token("k1", nil), ".")
	measure := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := measure()
	for n := range 20_000 {
		header := fmt.Sprintf(`{"alg":"ES256","typ":"at+jwt","kid":"x%d"}`, n)
		for _, credential := range []string{"Bearer " + encode(header) + "." + parts[1] + "." + parts[2],
			fmt.Sprintf("ApiKey gatehouse_%060d", n)} {
			if status := statusOf(v, credential); status != 401 {
				t.Fatal(status)
			}
		}
	}
	if after := measure(); after > before+12<<20 {
		t.Error("bytes:", after-before)
	}
	if requests := i.count("/jwks").Load() + i.count("/introspect").Load(); requests > 100 {
		t.Error("requests:", requests)
	}
	if status := statusOf(v, good); status != 200 {
		t.Error(status)
	}
}

func TestRevocationSetIsBounded(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	until := seconds(now) + 3600
	s := revocationSet{capacity: 1000, marks: map[revoked]mark{}}
	s.add(revocation{Kind: "token", ID: "expired", Until: seconds(now)}, now)
	for n := range 1000 {
		s.add(revocation{Kind: "token", ID: fmt.Sprint(n), Until: until}, now.Add(time.Duration(n)*time.Second))
	}
	late := identity{id: "other", issued: seconds(now) + 2000}
	if len(s.marks) != 1000 || s.refusedUntil != 0 || s.revokes(&late, 0) {
		t.Error(len(s.marks), s.refusedUntil)
	}
	s.add(revocation{Kind: "token", ID: "1000", Until: until}, now.Add(1000*time.Second))
	early := identity{id: "other", issued: seconds(now) + 60}
	if len(s.marks) > 1000 || len(s.marks) < 900 || s.revokes(&late, 0) || !s.revokes(&early, 0) {
		t.Error(len(s.marks), s.refusedUntil)
	}
	if key := (&identity{id: "key_1", issued: math.Inf(1)}); !s.outdates(key, 1000) || s.outdates(key, 1001) {
		t.Error("a key from before an entry was dropped")
	}
	if !s.revokes(&identity{id: "999", issued: seconds(now) + 2000}, 0) {
		t.Error("a late entry was dropped")
	}
	s.sweep(now.Add(2 * time.Hour))
	if len(s.marks) != 0 {
		t.Error(len(s.marks))
	}
}

func TestErrorsOfOptions(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Issuer = "" }, func(o *Options) { o.Issuer = "id.example.com" }, func(o *Options) { o.Audience = "" },
		func(o *Options) { o.Audience = "urn:notes" }, func(o *Options) { o.ClientID = "a" }, func(o *Options) { o.ClientSecret = "a" },
		func(o *Options) { o.Origins = []string{"https://api.example.com/notes"} }, func(o *Options) { o.Origins = []string{""} },
		func(o *Options) { o.Stale.Then = "ignore" }, func(o *Options) { o.Cache = -1 }, func(o *Options) { o.ClockSkew = -1 },
	} {
		options := Options{Issuer: "https://id.example.com/", Audience: audience}
		change(&options)
		if v, err := New(context.Background(), options); err == nil {
			t.Errorf("%+v", v.options)
		}
	}
	logged := ""
	v, err := New(context.Background(), Options{Issuer: "https://id.example.com/", Audience: audience,
		Log: func(state, _ string) { logged += state }})
	if err != nil || logged != "unchecked" || v.options.Issuer != "https://id.example.com" {
		t.Error(err, logged)
	}
	v.Close()
}

// serve protects a handler that writes the subject of its caller.
func serve(t *testing.T, v *Verifier, needs Needs) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle("/notes/", http.StripPrefix("/notes", v.Protect(needs)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, CallerFrom(r.Context()).Subject)
	}))))
	mux.Handle(v.MetadataPath(), v.Metadata(MetadataOptions{Name: "Notes", Scopes: []string{"notes:read"}, Extra: map[string]any{"x": 1}}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestAnAPIThatIsRegisteredAgainHasNoTokensFromBefore(t *testing.T) {
	i := startIssuer(t)
	v, r := startVerifier(t, i, nil)
	old, oldKey, key := "Bearer "+i.token("k1", nil), wellFormedKey(t, "aB3"), wellFormedKey(t, "xY9")
	active := map[string]any{"active": true, "aud": audience, "client_id": "cli_1"}
	i.change(func() { i.active[oldKey], i.active[key] = active, active })
	if status, ofKey := statusOf(v, old), statusOf(v, "ApiKey "+oldKey); status != 200 || ofKey != 200 {
		t.Fatal(status, ofKey)
	}
	created := time.Now().Truncate(time.Second).Add(2 * time.Second)
	i.change(func() { i.createdAt, i.status = created, 404 })
	eventually(t, "the error", func() bool { return strings.HasSuffix(r.seen(), "refused") })
	i.change(func() { i.status = 200; delete(i.active, oldKey) })
	eventually(t, "another connection", func() bool { return strings.HasSuffix(r.seen(), "connected") })
	// The registration is later than this clock.
	if before, after := statusOf(v, "ApiKey "+oldKey), statusOf(v, "ApiKey "+key); before != 401 || after != 200 {
		t.Error(before, after)
	}
	young := "Bearer " + i.token("k1", map[string]any{"iat": created.Unix(), "jti": "young"})
	if before, after := statusOf(v, old), statusOf(v, young); before != 401 || after != 200 {
		t.Error(before, after)
	}
}
