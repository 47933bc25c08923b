package verify

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestProtectAndMetadata(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	server := serve(t, v, Needs{Scopes: []string{"notes:read"}})
	get := func(path, authorization string) (*http.Response, string) {
		request, _ := http.NewRequest("GET", server.URL+path, nil)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response, string(body)
	}
	if response, body := get("/notes/7", "Bearer "+i.token("k1", nil)); response.StatusCode != 200 || body != "usr_1" {
		t.Error(response.Status, body)
	}
	response, body := get("/notes/7", "")
	challenge := `Bearer resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/notes"`
	if response.StatusCode != 401 || response.Header.Get("WWW-Authenticate") != challenge || !strings.Contains(body, `"unauthorized"`) {
		t.Error(response.Status, response.Header, body)
	}
	if response, _ := get("/notes/7", "Bearer "+i.token("k1", map[string]any{"scope": "x"})); response.StatusCode != 403 {
		t.Error(response.Status)
	}
	response, body = get("/.well-known/oauth-protected-resource/notes", "")
	var document map[string]any
	_ = json.Unmarshal([]byte(body), &document)
	servers, _ := document["authorization_servers"].([]any)
	if document["resource"] != audience || len(servers) != 1 || servers[0] != i.URL || document["x"] != 1.0 ||
		response.Header.Get("Access-Control-Allow-Origin") != "*" || response.Header.Get("Cache-Control") != "max-age=3600" {
		t.Error(response.Header, body)
	}
	if CallerFrom(context.Background()) != nil {
		t.Error("a caller of nobody")
	}
}

func TestEveryErrorEndsTheRequest(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the notes") })
	for err, status := range map[error]int{errors.New("s3cret"): 500, &Error{Status: 418}: 418,
		fmt.Errorf("wrapped: %w", &Error{Status: 418}): 418} {
		handler := protect(next, func(*http.Request) (*Caller, error) { return nil, err })
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", audience, nil))
		if body := w.Body.String(); w.Code != status || strings.Contains(body, "notes") || strings.Contains(body, "s3cret") {
			t.Error(err, w.Code, body)
		}
	}
}

func TestCallerBelongsToTheRequest(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	r := httptest.NewRequest("GET", audience, nil)
	r.Header.Set("Authorization", "Bearer "+i.token("k1", nil))
	for range 2 {
		caller, err := v.Verify(r, Needs{})
		if err != nil || caller.Scopes[0] != "notes:read" || caller.Claims["sub"] != "usr_1" {
			t.Fatal(caller, err)
		}
		caller.Scopes[0], caller.Claims["sub"] = "admin", "usr_2"
	}
}

func TestKeysRotateWithoutAFailedRequest(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	if status := statusOf(v, "Bearer "+i.token("k1", nil)); status != 200 {
		t.Fatal(status)
	}
	i.addKey("k2")
	time.Sleep(keysCooldown)
	var all sync.WaitGroup
	for range 50 {
		bearer := "Bearer " + i.token("k2", nil)
		all.Add(1)
		go func() {
			defer all.Done()
			if status := statusOf(v, bearer); status != 200 {
				t.Error(status)
			}
		}()
	}
	all.Wait()
	if count := i.count("/jwks").Load(); count != 2 {
		t.Error(count, "requests for keys")
	}
}

func TestKeysOutliveTheIssuer(t *testing.T) {
	i := startIssuer(t)
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	later := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	v, err := newVerifier(Options{Issuer: i.URL, Audience: audience}, clock, fast)
	if err != nil {
		t.Fatal(err)
	}
	away := func(is bool) { i.change(func() { i.isAway = is }) }
	away(true)
	if status := statusOf(v, "Bearer "+i.token("k1", nil)); status != 503 {
		t.Error(status, "without any key")
	}
	away(false)
	later(keysCooldown)
	cached := "Bearer " + i.token("k1", nil)
	if status := statusOf(v, cached); status != 200 {
		t.Error(status, "with keys")
	}
	fetched := i.count("/jwks").Load()
	later(keysMaxAge - time.Second)
	if status := statusOf(v, cached); status != 200 || i.count("/jwks").Load() != fetched {
		t.Error(status, "keys were fetched again within ten minutes")
	}
	away(true)
	later(keysMaxAge)
	for range 3 {
		if status := statusOf(v, "Bearer "+i.token("k1", map[string]any{"exp": now.Unix() + 60})); status != 200 {
			t.Error(status, "with old keys")
		}
		later(keysCooldown)
	}
	i.addKey("k2")
	if status := statusOf(v, "Bearer "+i.token("k2", nil)); status != 503 {
		t.Error(status, "with a key that cannot be fetched")
	}
	away(false)
	i.change(func() { delete(i.keys, "k1") })
	later(keysMaxAge)
	eventually(t, "the end of a withdrawn key", func() bool { later(keysCooldown); return statusOf(v, cached) == 401 })
}

func wellFormedKey(t *testing.T, part string) string {
	body := keyPrefix + strings.Repeat(part, 18)
	key := body + checksumOf(body)
	if !isWellFormedKey(key) || isWellFormedKey(body+"000000") {
		t.Fatal(key)
	}
	return key
}

func TestAPIKeysAreCachedUntilTheFeedConcernsThem(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	key := wellFormedKey(t, "aB3")
	response := map[string]any{"active": true, "aud": []string{audience}, "client_id": "cli_1", "jti": "key_1", "owner": "usr_9"}
	i.change(func() { i.active[key] = response })
	asked := func() int64 { return i.count("/introspect").Load() }
	var all sync.WaitGroup
	for range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			if status := statusOf(v, "ApiKey "+key); status != 200 {
				t.Error(status)
			}
		}()
	}
	all.Wait()
	if statusOf(v, "Bearer "+key) != 200 || asked() != 1 {
		t.Error(asked(), "requests for one key")
	}
	for n, entry := range [][2]string{{"token", "key_1"}, {"client", "cli_1"}, {"subject", "usr_9"}} {
		i.revoke(entry[0], entry[1])
		eventually(t, "a request after "+entry[0], func() bool { return statusOf(v, "ApiKey "+key) == 200 && asked() == int64(n)+2 })
	}
	i.revoke("token", "key_2")
	time.Sleep(100 * time.Millisecond)
	if statusOf(v, "ApiKey "+key) != 200 || asked() != 4 {
		t.Error(asked(), "requests after an entry about another key")
	}
	i.change(func() { delete(i.active, key) })
	i.revoke("token", "key_1")
	eventually(t, "the end of the key", func() bool { return statusOf(v, "ApiKey "+key) == 401 })
	count := asked()
	if statusOf(v, "ApiKey "+key) != 401 || asked() != count {
		t.Error("an invalid key was introspected again")
	}
}

func TestSilentFeedMeansIntrospection(t *testing.T) {
	i := startIssuer(t)
	key := wellFormedKey(t, "aB3")
	v, r := startVerifier(t, i, func(o *Options) { o.Stale.After = 100 * time.Millisecond })
	token := i.token("k1", nil)
	i.change(func() {
		i.active[token] = map[string]any{"active": true}
		i.active[key] = map[string]any{"active": true, "aud": audience, "client_id": "cli_1"}
		i.status = 500
	})
	eventually(t, "silence", func() bool { return r.seen() == "connected silent" })
	for range 3 {
		if statusOf(v, "Bearer "+token) != 200 || statusOf(v, "ApiKey "+key) != 200 {
			t.Error("active ones were refused")
		}
	}
	if count := i.count("/introspect").Load(); count != 6 {
		t.Error(count, "introspections of 6 requests")
	}
	var all sync.WaitGroup
	for range 20 {
		all.Add(1)
		go func() { defer all.Done(); statusOf(v, "Bearer "+token) }()
	}
	all.Wait()
	if count := i.count("/introspect").Load(); count > 10 {
		t.Error(count, "introspections for requests at the same time")
	}
	i.change(func() { delete(i.active, token) })
	if status := statusOf(v, "Bearer "+token); status != 401 {
		t.Error(status)
	}
	i.change(func() { i.isAway = true })
	if statusOf(v, "Bearer "+token) != 503 || statusOf(v, "ApiKey "+key) != 503 {
		t.Error("nobody was asked")
	}
	if text := strings.Join(r.lines, " "); strings.Contains(text, token) || strings.Contains(text, "s3cret") {
		t.Error(text)
	}
}

type sharedStore struct{ err error }

var usedKeys sync.Map

func (s sharedStore) Use(_ context.Context, key string, ttl time.Duration) (bool, error) {
	_, found := usedKeys.LoadOrStore(key, ttl)
	return !found && ttl == 2*time.Minute, s.err
}

func TestProofsOfPossession(t *testing.T) {
	i := startIssuer(t)
	private, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	public := jose.JSONWebKey{Key: private.Public()}
	thumbprint, _ := public.Thumbprint(crypto.SHA256)
	token := i.token("k1", map[string]any{"cnf": map[string]any{"jkt": base64.RawURLEncoding.EncodeToString(thumbprint)}})
	proof := func(htu, jti string) string {
		return sign(private, map[jose.HeaderKey]any{"jwk": public, "typ": "dpop+jwt"}, map[string]any{"htm": "GET", "htu": htu,
			"jti": jti, "iat": time.Now().Unix(), "ath": hashed(token)})
	}
	send := func(server *httptest.Server, header map[string]string) int {
		request, _ := http.NewRequest("GET", server.URL+"/notes/a%20b?c=d", nil)
		request.Header.Set("Authorization", "DPoP "+token)
		for name, value := range header {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	v, _ := startVerifier(t, i, nil)
	server := serve(t, v, Needs{})
	own := server.URL + "/notes/a%20b"
	forwarded := map[string]string{"X-Forwarded-Proto": "https, http", "X-Forwarded-Host": "api.example.net, inner",
		"DPoP": proof("https://api.example.net/notes/a%20b", "1")}
	if status := send(server, map[string]string{"DPoP": proof(own, "2")}); status != 200 {
		t.Error(status, "by its own URL, below http.StripPrefix")
	}
	if status := send(server, map[string]string{"DPoP": proof(own, "2")}); status != 401 {
		t.Error(status, "used twice")
	}
	if status := send(server, forwarded); status != 401 {
		t.Error(status, "by headers that anybody may send")
	}
	named, _ := startVerifier(t, i, func(o *Options) { o.TrustProxy, o.Origins = true, []string{"https://notes.example.com"} })
	if status := send(serve(t, named, Needs{}), forwarded); status != 401 {
		t.Error(status, "for none of the origins")
	}
	shared := []*httptest.Server{}
	for range 2 {
		v, _ := startVerifier(t, i, func(o *Options) { o.TrustProxy, o.ReplayStore = true, sharedStore{} })
		shared = append(shared, serve(t, v, Needs{}))
	}
	if status := send(shared[0], forwarded); status != 200 {
		t.Error(status, "through a trusted proxy")
	}
	if status := send(shared[1], forwarded); status != 401 {
		t.Error(status, "used at another replica")
	}
	broken, _ := startVerifier(t, i, func(o *Options) { o.ReplayStore = sharedStore{errors.New("away")} })
	away := serve(t, broken, Needs{})
	if status := send(away, map[string]string{"DPoP": proof(away.URL+"/notes/a%20b", "3")}); status != 503 {
		t.Error(status, "with a store that fails")
	}
}

func TestAnHTTPSIssuerHasNoHTTPEndpoints(t *testing.T) {
	for document, isAccepted := range map[string]bool{
		`"jwks_uri":"https://keys.example.net/jwks"`:                                                           true,
		`"jwks_uri":"http://id.example.com/jwks"`:                                                              false,
		`"jwks_uri":"HTTP://id.example.com/jwks"`:                                                              false,
		`"jwks_uri":"https://id.example.com/jwks","introspection_endpoint":"http://id.example.com/introspect"`: false,
	} {
		respond := responder(`{"issuer":"https://id.example.com",` + document + `}`)
		v, err := newVerifier(Options{Issuer: "https://id.example.com", Audience: audience, HTTPClient: &http.Client{Transport: respond}}, time.Now, fast)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.server(context.Background()); (err == nil) != isAccepted {
			t.Error(document, err)
		}
	}
}

// responder gives each request the same response.
type responder string

func (r responder) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(r)))}, nil
}

func TestRevocationIsCheckedBeforeTheBinding(t *testing.T) {
	i := startIssuer(t)
	v, _ := startVerifier(t, i, nil)
	i.revoke("token", "jti_1")
	for scheme, claims := range map[string]map[string]any{"Bearer ": {"cnf": map[string]any{"jkt": "x"}}, "DPoP ": {}} {
		r := httptest.NewRequest("GET", audience, nil)
		r.Header.Set("Authorization", scheme+i.token("k1", claims))
		eventually(t, scheme+"with a revoked token", func() bool {
			_, err := v.Verify(r, Needs{})
			challenge := err.(*Error).Header.Get("WWW-Authenticate")
			return strings.HasPrefix(challenge, "DPoP ") && strings.Contains(challenge, errRevoked.description)
		})
	}
}

func TestUsedProofsAreBounded(t *testing.T) {
	now := time.Now()
	s := &replays{now: func() time.Time { return now }, used: cache[string, time.Time]{half: 50}}
	use := func(key string) bool { first, _ := s.Use(context.Background(), key, time.Minute); return first }
	if !use("a") || use("a") {
		t.Error("a proof was used twice")
	}
	now = now.Add(61 * time.Second)
	if !use("a") {
		t.Error("a key is kept for ever")
	}
	for n := range 1000 {
		use(hashed(string(rune(n))))
	}
	if size := len(s.used.young) + len(s.used.old); size > 100 {
		t.Error(size)
	}
}

func TestCacheKeepsWhatIsUsed(t *testing.T) {
	c := cache[int, int]{half: 10}
	for n := range 1000 {
		c.put(n, n)
		if value, found := c.get(0); !found || value != 0 {
			t.Fatal(n)
		}
	}
	if size := len(c.young) + len(c.old); size > 20 {
		t.Error(size)
	}
}

func BenchmarkVerify(b *testing.B) {
	t := &testing.T{}
	i := startIssuer(t)
	defer i.Close()
	v, _ := newVerifier(Options{Issuer: i.URL, Audience: audience}, time.Now, fast)
	r := httptest.NewRequest("GET", audience, nil)
	r.Header.Set("Authorization", "Bearer "+i.token("k1", nil))
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Verify(r, Needs{Scopes: []string{"notes:read"}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			v.tokens = cache[[32]byte, *credential]{half: 10}
			if _, err := v.Verify(r, Needs{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
