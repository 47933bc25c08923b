// Package verify verifies access tokens and API keys of a Gatehouse deployment at an API of one's own. A revoked one is
// refused within a second: a goroutine listens to the revocation feed of the API.
package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// StaleAction is the treatment of access tokens while the feed is silent.
type StaleAction string

const (
	// Introspect asks the issuer about the token of each request, and refuses with status 503 when it cannot be reached.
	Introspect StaleAction = "introspect"
	// Refuse refuses all with status 503.
	Refuse StaleAction = "refuse"
	// Accept goes by the revocations that are known.
	Accept StaleAction = "accept"
)

// Stale says when the feed counts as silent (after 10 s by default), and what happens then (Introspect by default).
type Stale struct {
	After time.Duration
	Then  StaleAction
}

// Options of a Verifier. Issuer and Audience are required.
type Options struct {
	// Issuer is the URL of the Gatehouse deployment; Audience is the identifier that the API is registered with there.
	Issuer, Audience string
	// ClientID and ClientSecret are those of an application of type resource of the API's owner. Without them, revocation
	// is not checked, and API keys are refused.
	ClientID, ClientSecret string
	Stale                  Stale
	// Cache is the number of tokens, and of API keys, to remember: 10,000 by default.
	Cache int
	// ClockSkew is the accepted difference to the clock of the issuer: 5 s by default.
	ClockSkew time.Duration
	// Origins are those by which clients call the API, such as https://api.example.com. DPoP proofs are accepted for these
	// alone; by default for the origin of Audience, and for a loopback address where the request names it as its host.
	Origins []string
	// TrustProxy accepts DPoP proofs for the origin in X-Forwarded-Proto and X-Forwarded-Host, too, without Origins. It is
	// for a proxy that sets both, and passes on requests for the API's own hosts alone.
	TrustProxy bool
	// ReplayStore remembers used DPoP proofs, in this process by default.
	ReplayStore ReplayStore
	// Log gets one line for each change of state: connected, silent, refused or unchecked. By default, slog does.
	Log func(state, message string)
	// Metrics gets each change of a figure: verified, refused (reason: error and status), revocations (reason: kind),
	// introspections, and seconds_behind, the time between the last two heartbeats of the feed.
	Metrics func(name string, value float64, reason string)
	// HTTPClient makes the requests to the issuer. Its timeout is not used, and redirects are not followed.
	HTTPClient *http.Client
}

// Needs of a route.
type Needs struct {
	// Scopes are all needed.
	Scopes []string
	// ACR is the least strength of the sign-in.
	ACR string
	// MaxAge is the greatest age of the sign-in in seconds: 0 for any age, SignInNow for one of this second.
	MaxAge int
}

// SignInNow is the shortest MaxAge: max_age=0.
const SignInNow = -1

// Caller is the maker of a request.
type Caller struct {
	Subject, ClientID string
	// Kind is person, machine or key.
	Kind   string
	Scopes []string
	ACR    string
	// AuthTime is zero without a sign-in.
	AuthTime time.Time
	// Actor acts for the subject (RFC 8693 §4.1); empty for nobody.
	Actor string
	// Claims are those of the token, or the introspection response of an API key.
	Claims map[string]any
}

// Verifier identifies the callers of one API. It is safe for concurrent use.
type Verifier struct {
	options Options
	client  *http.Client
	now     func() time.Time
	stop    context.CancelFunc
	// origin and path of the audience; the path is empty for the root.
	origin, path string

	metadata    atomic.Pointer[serverMetadata]
	keys        atomic.Pointer[signingKeys]
	tokens      cache[[32]byte, *credential]
	apiKeys     cache[[32]byte, *credential]
	invalidKeys cache[[32]byte, time.Time]
	revocations revocationSet
	flights     flights
	// feed is nil without credentials.
	feed *feed
}

// New makes a Verifier, and starts to listen to the revocation feed until ctx ends or Close is called. It waits for no
// response of the issuer.
func New(ctx context.Context, options Options) (*Verifier, error) {
	v, err := newVerifier(options, time.Now, defaultTiming)
	if err != nil {
		return nil, err
	}
	ctx, v.stop = context.WithCancel(ctx)
	if v.feed == nil {
		v.options.Log("unchecked", "without ClientID and ClientSecret, it is not checked whether a token is revoked")
	} else {
		go v.feed.run(ctx)
	}
	return v, nil
}

func newVerifier(options Options, now func() time.Time, timing timing) (*Verifier, error) {
	options.Issuer = strings.TrimSuffix(options.Issuer, "/")
	options.Stale.After = cmp.Or(options.Stale.After, 10*time.Second)
	options.Stale.Then = cmp.Or(options.Stale.Then, Introspect)
	options.Cache = cmp.Or(options.Cache, 10_000)
	options.ClockSkew = cmp.Or(options.ClockSkew, 5*time.Second)
	audience, err := url.Parse(normalURL(options.Audience))
	switch {
	case normalURL(options.Issuer) == "":
		return nil, fmt.Errorf("verify: Issuer must be an http or https URL, not %q", options.Issuer)
	case err != nil || audience.Host == "":
		return nil, fmt.Errorf("verify: Audience must be an http or https URL, not %q", options.Audience)
	case (options.ClientID == "") != (options.ClientSecret == ""):
		return nil, errors.New("verify: give both ClientID and ClientSecret, or neither")
	case !slices.Contains([]StaleAction{Introspect, Refuse, Accept}, options.Stale.Then):
		return nil, fmt.Errorf("verify: Stale.Then must be introspect, refuse or accept, not %q", options.Stale.Then)
	case slices.ContainsFunc(options.Origins, func(it string) bool { return normalURL(it) != originOf(it)+"/" }):
		return nil, errors.New("verify: Origins must have a scheme and a host alone, such as https://api.example.com")
	case options.Stale.After < 0 || options.Cache < 0 || options.ClockSkew < 0:
		return nil, errors.New("verify: Stale.After, Cache and ClockSkew must not be negative")
	}
	if options.Log == nil {
		options.Log = func(state, message string) { slog.Info("gatehouse: "+message, "state", state) }
	}
	if options.ReplayStore == nil {
		options.ReplayStore = &replays{now: now, used: cache[string, time.Time]{half: maxReplays / 2}}
	}
	half := (options.Cache + 1) / 2
	v := &Verifier{options: options, client: clientFor(options.HTTPClient), now: now,
		origin: originOf(options.Audience),
		tokens: cache[[32]byte, *credential]{half: half}, apiKeys: cache[[32]byte, *credential]{half: half},
		invalidKeys: cache[[32]byte, time.Time]{half: half}, flights: flights{calls: map[any]*flight{}},
		revocations: revocationSet{capacity: maxRevocations, marks: map[revoked]mark{}}}
	v.keys.Store(&signingKeys{isFailing: true})
	if audience.EscapedPath() != "/" {
		v.path = audience.EscapedPath()
	}
	if options.ClientID != "" {
		v.feed = newFeed(v, timing)
	}
	return v, nil
}

// clientFor copies the client: the feed outlasts a timeout, and a redirect could lead credentials elsewhere.
func clientFor(given *http.Client) *http.Client {
	client := http.Client{}
	if given != nil {
		client = *given
	} else if transport, isKnown := http.DefaultTransport.(*http.Transport); isKnown {
		client.Transport = transport.Clone()
	}
	client.Timeout = 0
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// Close stops listening, and returns after the last report, within 1.5 s.
func (v *Verifier) Close() {
	v.stop()
	if v.feed != nil {
		<-v.feed.ended
	}
	if v.options.HTTPClient == nil {
		v.client.CloseIdleConnections()
	}
}

// cloneJSON copies objects and lists, so that the copy may be changed.
func cloneJSON(value any) any {
	switch it := value.(type) {
	case map[string]any:
		return cloneObject(it)
	case []any:
		cloned := slices.Clone(it)
		for i := range cloned {
			cloned[i] = cloneJSON(cloned[i])
		}
		return cloned
	}
	return value
}

func cloneObject(object map[string]any) map[string]any {
	cloned := maps.Clone(object)
	for name, value := range cloned {
		cloned[name] = cloneJSON(value)
	}
	return cloned
}

// Verify identifies the caller of a request. Its errors are of type *Error.
func (v *Verifier) Verify(r *http.Request, needs Needs) (*Caller, error) {
	caller, isDPoP, err := v.identify(r)
	if err == nil {
		err = v.checkNeeds(caller, needs)
	}
	if err == nil {
		v.count(caller.Kind)
		v.measure("verified", 1, "")
		copied := *caller
		copied.Scopes, copied.Claims = slices.Clone(caller.Scopes), cloneObject(caller.Claims)
		return &copied, nil
	}
	var cause *Error
	if !errors.As(err, &cause) {
		cause = errNotKnown
	}
	reason := cause.code + " " + strconv.Itoa(cause.Status)
	v.count(reason)
	v.measure("refused", 1, reason)
	return nil, v.response(cause, isDPoP)
}

func (v *Verifier) count(outcome string) {
	if v.feed != nil {
		v.feed.reports.count(outcome)
	}
}

func (v *Verifier) measure(name string, value float64, reason string) {
	if v.options.Metrics != nil {
		v.options.Metrics(name, value, reason)
	}
}

// identify finds the caller. isDPoP says by which scheme the credential should come.
func (v *Verifier) identify(r *http.Request) (caller *Caller, isDPoP bool, err error) {
	scheme, value, err := credentialIn(r.Header)
	if err != nil {
		return nil, false, err
	}
	var found *credential
	hash := sha256.Sum256([]byte(value))
	if scheme == "apikey" || scheme == "bearer" && strings.HasPrefix(value, keyPrefix) {
		if found, err = v.key(r.Context(), value, hash); err != nil {
			return nil, false, err
		}
		return &found.caller, false, nil
	}
	isDPoP = scheme == "dpop"
	if found, err = v.token(r.Context(), value, hash); err != nil {
		return nil, isDPoP, err
	}
	isBound := found.thumbprint != ""
	if err = v.checkRevocation(r.Context(), found, value, hash); err == nil {
		switch {
		case isDPoP && !isBound:
			err = errUnbound
		case isBound && !isDPoP:
			// RFC 9449 §7.2: otherwise a stolen token could be used without its key.
			err = errBound
		case isBound:
			err = v.checkProof(r, value, found.thumbprint)
		}
	}
	return &found.caller, isDPoP || isBound, err
}

// token68 has the characters of credentials other than the padding (RFC 9110 §11.2).
const token68 = base62 + "_.~+/-"

// credentialIn reads the Authorization header (RFC 6750 §2.1, RFC 9449 §7.1). Tokens elsewhere end up in logs.
func credentialIn(header http.Header) (scheme, value string, err error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", "", errMissing
	}
	scheme, value, _ = strings.Cut(values[0], " ")
	scheme, value = strings.ToLower(scheme), strings.Trim(value, " ")
	isKnown := scheme == "bearer" || scheme == "dpop" || scheme == "apikey"
	unpadded := strings.TrimRight(value, "=")
	if len(values) > 1 || !isKnown || unpadded == "" || strings.Trim(unpadded, token68) != "" {
		return "", "", errMalformed
	}
	return scheme, value, nil
}

// checkRevocation goes by the feed while it is fresh.
func (v *Verifier) checkRevocation(ctx context.Context, c *credential, token string, hash [32]byte) error {
	if v.feed == nil {
		return nil
	}
	if !v.feed.isFresh() {
		select {
		case <-v.feed.started:
		case <-ctx.Done():
		}
	}
	// Before the revocations are looked at: otherwise those that are loaded meanwhile would be overlooked.
	isFresh := v.feed.isFresh()
	switch {
	case v.revocations.revokes(&c.identity, 0):
		return errRevoked
	case isFresh || v.options.Stale.Then == Accept:
		return nil
	case v.options.Stale.Then == Refuse:
		return errNotKnown
	}
	found, err := v.introspect(ctx, token, hash)
	if err != nil {
		return errNotKnown
	}
	if found == nil {
		return errRevoked
	}
	return nil
}

// acrOrder has the strengths of Gatehouse's sign-ins, the weakest first.
var acrOrder = []string{"urn:gatehouse:acr:single-factor", "urn:gatehouse:acr:multi-factor", "phr"}

func isAsStrong(acr, least string) bool {
	rank := slices.Index(acrOrder, least)
	return acr == least || rank >= 0 && slices.Index(acrOrder, acr) >= rank
}

// checkNeeds compares the caller with the needs of the route: scopes first, then the sign-in (RFC 9470 §3).
func (v *Verifier) checkNeeds(c *Caller, needs Needs) error {
	for _, scope := range needs.Scopes {
		if !slices.Contains(c.Scopes, scope) {
			all := strings.Join(needs.Scopes, " ")
			return failure(403, "insufficient_scope", "This needs the scope "+all+".", parameter("scope", all))
		}
	}
	maxAge := max(needs.MaxAge, 0)
	e := unauthorized("insufficient_user_authentication", "")
	if needs.MaxAge != 0 && (c.AuthTime.IsZero() || seconds(v.now())-seconds(c.AuthTime) > float64(maxAge)) {
		e.description = "This needs a more recent sign-in."
	}
	if needs.ACR != "" && !isAsStrong(c.ACR, needs.ACR) {
		e.description = "This needs a stronger sign-in."
	}
	if e.description == "" {
		return nil
	}
	if needs.ACR != "" {
		e.parameters = append(e.parameters, parameter("acr_values", needs.ACR))
	}
	if needs.MaxAge != 0 {
		e.parameters = append(e.parameters, parameter("max_age", strconv.Itoa(maxAge)))
	}
	return e
}

type callerKey struct{}

// CallerFrom returns the caller that Protect has put into the context; nil without one.
func CallerFrom(ctx context.Context) *Caller {
	caller, _ := ctx.Value(callerKey{}).(*Caller)
	return caller
}

// Protect lets requests through that satisfy the needs, with their caller in the context.
func (v *Verifier) Protect(needs Needs) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return protect(next, func(r *http.Request) (*Caller, error) { return v.Verify(r, needs) })
	}
}

func protect(next http.Handler, verify func(*http.Request) (*Caller, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := verify(r)
		var response *Error
		switch {
		case errors.As(err, &response):
			maps.Copy(w.Header(), response.Header)
			w.WriteHeader(response.Status)
			_, _ = w.Write(response.Body)
		case err != nil:
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		}
	})
}
