package verify

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// vectorsVariable names the folder of the vectors that the packages share; without it, they are those beside this package.
const vectorsVariable = "GATEHOUSE_VERIFY_VECTORS"

type vectorFile struct {
	Issuer  string          `json:"issuer"`
	JWKS    json.RawMessage `json:"jwks"`
	Vectors []vector        `json:"vectors"`
}

type vector struct {
	Name    string
	Options struct {
		Audience       string
		HasCredentials bool
		Stale          struct{ Then StaleAction }
		Origins        []string
	}
	Clock float64
	Feed  struct {
		State       string
		Revocations []json.RawMessage
	}
	Introspection map[string]json.RawMessage
	Request       struct {
		Method, URL string
		Headers     map[string]any
	}
	Needs struct {
		Scopes []string
		ACR    string
		MaxAge *int
	}
	Repeat   bool
	Expected struct {
		Caller             map[string]any
		Status             int
		Error, Description string
		WWWAuthenticate    *string
	}
}

func TestVectors(t *testing.T) {
	folder := os.Getenv(vectorsVariable)
	if folder == "" {
		folder = "../verify/vectors"
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	count := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file vectorFile
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(path, err)
		}
		for _, one := range file.Vectors {
			count++
			t.Run(filepath.Base(path)+"/"+one.Name, func(t *testing.T) { runVector(t, file, one) })
		}
	}
	if len(paths) == 0 {
		t.Skip("no vectors in " + folder)
	}
	if count < 300 {
		t.Errorf("%d vectors, of at least 300", count)
	}
	t.Logf("%d vectors", count)
}

func runVector(t *testing.T, file vectorFile, one vector) {
	v, err := vectorVerifier(file, one)
	if err != nil {
		t.Fatal(err)
	}
	needs := Needs{Scopes: one.Needs.Scopes, ACR: one.Needs.ACR}
	if one.Needs.MaxAge != nil {
		if needs.MaxAge = *one.Needs.MaxAge; needs.MaxAge == 0 {
			needs.MaxAge = SignInNow
		}
	}
	if one.Repeat {
		if _, err := v.Verify(vectorRequest(one), needs); err != nil {
			t.Fatal("the first request:", err)
		}
	}
	caller, err := v.Verify(vectorRequest(one), needs)
	if one.Expected.Caller != nil {
		if err != nil {
			t.Fatal(err)
		}
		if found := described(caller); !reflect.DeepEqual(found, one.Expected.Caller) {
			t.Errorf("found %v, wanted %v", found, one.Expected.Caller)
		}
		return
	}
	if err == nil {
		t.Fatalf("accepted %v", described(caller))
	}
	response := err.(*Error)
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(response.Body, &body)
	if response.Status != one.Expected.Status || body.Error != one.Expected.Error {
		t.Errorf("found %d %s, wanted %d %s", response.Status, body.Error, one.Expected.Status, one.Expected.Error)
	}
	if one.Expected.Description != "" && body.Description != one.Expected.Description {
		t.Errorf("found %q, wanted %q", body.Description, one.Expected.Description)
	}
	wanted := ""
	if one.Expected.WWWAuthenticate != nil {
		wanted = *one.Expected.WWWAuthenticate
	}
	if challenge := response.Header.Get("WWW-Authenticate"); challenge != wanted {
		t.Errorf("found %s, wanted %s", challenge, wanted)
	}
	if isAway := response.Status == 503; isAway != (response.Header.Get("Retry-After") == "5") {
		t.Errorf("Retry-After: %q", response.Header.Get("Retry-After"))
	}
}

// vectorVerifier stands still at the clock of the vector; requests to the issuer end in vectorIssuer.
func vectorVerifier(file vectorFile, one vector) (*Verifier, error) {
	now := time.Unix(int64(one.Clock), 0)
	options := Options{Issuer: file.Issuer, Audience: one.Options.Audience, Stale: Stale{Then: one.Options.Stale.Then},
		Origins: one.Options.Origins, HTTPClient: &http.Client{Transport: vectorIssuer{file, one}}}
	if one.Options.HasCredentials {
		options.ClientID, options.ClientSecret = "client", "secret"
	}
	v, err := newVerifier(options, func() time.Time { return now }, defaultTiming)
	if err != nil || v.feed == nil {
		return v, err
	}
	for _, entry := range one.Feed.Revocations {
		v.feed.take("", string(entry))
	}
	v.feed.beat = now
	if one.Feed.State == "silent" {
		v.feed.beat = now.Add(-11 * time.Second)
	}
	v.feed.start()
	return v, nil
}

func vectorRequest(one vector) *http.Request {
	address, err := url.Parse(one.Request.URL)
	if err != nil {
		panic(err)
	}
	// httptest gives https addresses a TLS state.
	r := httptest.NewRequest(one.Request.Method, one.Request.URL, nil)
	r.Host, r.RequestURI = address.Host, address.RequestURI()
	for name, value := range one.Request.Headers {
		switch value := value.(type) {
		case string:
			r.Header.Add(name, value)
		case []any:
			for _, each := range value {
				r.Header.Add(name, each.(string))
			}
		}
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	return r
}

func described(c *Caller) map[string]any {
	scopes := []any{}
	for _, scope := range c.Scopes {
		scopes = append(scopes, scope)
	}
	all := map[string]any{"subject": c.Subject, "clientId": c.ClientID, "kind": c.Kind, "scopes": scopes}
	if c.ACR != "" {
		all["acr"] = c.ACR
	}
	if !c.AuthTime.IsZero() {
		all["authTime"] = seconds(c.AuthTime)
	}
	if c.Actor != "" {
		all["actor"] = c.Actor
	}
	return all
}

// vectorIssuer is the issuer of a vector.
type vectorIssuer struct {
	file vectorFile
	one  vector
}

func (i vectorIssuer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, []byte{}
	switch strings.TrimPrefix(r.URL.String(), i.file.Issuer) {
	case "/.well-known/oauth-authorization-server":
		body, _ = json.Marshal(map[string]string{"issuer": i.file.Issuer, "jwks_uri": i.file.Issuer + "/jwks",
			"introspection_endpoint": i.file.Issuer + "/introspect"})
	case "/jwks":
		body = i.file.JWKS
	case "/introspect":
		_ = r.ParseForm()
		response, isKnown := i.one.Introspection[r.PostForm.Get("token")]
		switch {
		case i.one.Introspection == nil, isKnown && string(response) == "null":
			status = http.StatusBadGateway
		case isKnown:
			body = response
		default:
			body = []byte(`{"active":false}`)
		}
	default:
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}
