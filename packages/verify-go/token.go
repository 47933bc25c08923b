package verify

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// tokenAlgorithms are asymmetric: with a shared key, every API could also sign.
var tokenAlgorithms = []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.PS256, jose.EdDSA}

// credential is a verified token or API key. Its expiry and its revocation are checked for each request.
type credential struct {
	identity
	caller  Caller
	expires float64
	// thumbprint is that of the key that a token is bound to, and alg the algorithm of its signature.
	thumbprint, alg string
	// number is that of the last entry of the feed when the issuer was asked about a key.
	number int64
}

// token verifies an access token (RFC 9068 §4), or takes it from the cache.
func (v *Verifier) token(ctx context.Context, text string, hash [32]byte) (*credential, error) {
	c, isCached := v.tokens.get(hash)
	var err error
	if isCached {
		// Tokens of a withdrawn key end with it.
		_, err = v.signingKey(ctx, c.kid, c.alg)
	} else if c, err = v.parse(ctx, text); err == nil {
		v.tokens.put(hash, c)
	}
	if err == nil && c.expires <= seconds(v.now())-v.skew() {
		err = errExpired
	}
	return c, err
}

func (v *Verifier) skew() float64 { return v.options.ClockSkew.Seconds() }

func (v *Verifier) parse(ctx context.Context, text string) (*credential, error) {
	signed, err := jose.ParseSignedCompact(text, tokenAlgorithms)
	if err != nil {
		return nil, errInvalid
	}
	header := signed.Signatures[0].Header
	// Without a kid, the tokens of a withdrawn key could not be recognized.
	if header.KeyID == "" {
		return nil, errInvalid
	}
	key, err := v.signingKey(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	claims, err := claimsIn(signed, key)
	if err != nil {
		return nil, errInvalid
	}
	if !hasType(header, "at+jwt") {
		return nil, notAccepted("typ")
	}
	if name := v.firstUnaccepted(claims); name != "" {
		return nil, notAccepted(name)
	}
	c, isWellFormed := readClaims(claims)
	if !isWellFormed {
		return nil, errInvalid
	}
	c.kid, c.alg = header.KeyID, header.Algorithm
	return c, nil
}

func claimsIn(signed *jose.JSONWebSignature, key any) (claims map[string]any, err error) {
	payload, err := signed.Verify(key)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(payload, &claims); err == nil && claims == nil {
		err = errors.New("the claims are null")
	}
	return claims, err
}

// hasType compares media types as RFC 7515 §4.1.9 says.
func hasType(header jose.Header, name string) bool {
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	return strings.TrimPrefix(strings.ToLower(typ), "application/") == name
}

// firstUnaccepted is the claim that keeps a token from being accepted here and now, other than by its expiry; empty for none.
func (v *Verifier) firstUnaccepted(claims map[string]any) string {
	for _, name := range []string{"iss", "sub", "aud", "exp", "iat", "jti", "client_id"} {
		if _, found := claims[name]; !found {
			return name
		}
	}
	if claims["iss"] != any(v.options.Issuer) {
		return "iss"
	}
	if !hasAudience(claims["aud"], v.options.Audience) {
		return "aud"
	}
	for _, name := range []string{"iat", "nbf", "exp"} {
		number, isNumber := claims[name].(float64)
		_, found := claims[name]
		if found && !isNumber || name == "nbf" && number > seconds(v.now())+v.skew() {
			return name
		}
	}
	return ""
}

func hasAudience(claim any, audience string) bool {
	list, isList := claim.([]any)
	return isList && slices.Contains(list, any(audience)) || !isList && claim == any(audience)
}

// readClaims rejects ids of another type, which would never match a revocation, and a binding to a key in an unknown way.
func readClaims(claims map[string]any) (c *credential, ok bool) {
	ok = true
	c = &credential{caller: callerOf(claims), expires: member[float64](claims, "exp", &ok)}
	epoch := member[map[string]any](claims, "epoch", &ok)
	c.identity = identity{id: member[string](claims, "jti", &ok), grant: member[string](claims, "gid", &ok),
		client: member[string](claims, "client_id", &ok), person: member[string](claims, "sub", &ok),
		clientEpoch: member[float64](epoch, "client", &ok), subjectEpoch: member[float64](epoch, "subject", &ok),
		issued: member[float64](claims, "iat", &ok)}
	if owner := member[string](claims, "owner", &ok); c.caller.Kind == "machine" {
		c.person = owner
	}
	confirmation, actor := member[map[string]any](claims, "cnf", &ok), member[map[string]any](claims, "act", &ok)
	c.thumbprint, c.caller.Actor = member[string](confirmation, "jkt", &ok), member[string](actor, "sub", &ok)
	return c, ok && (confirmation == nil || c.thumbprint != "") && (actor == nil || c.caller.Actor != "")
}

// member is a member of an object, if it is there. One of another type makes ok false.
func member[T any](object map[string]any, name string, ok *bool) T {
	value, found := object[name]
	typed, isTyped := value.(T)
	*ok = *ok && (isTyped || !found)
	return typed
}

// callerOf reads the claims of a token, or the introspection response of an API key.
func callerOf(claims map[string]any) Caller {
	c := Caller{Kind: "person", Claims: claims, Scopes: []string{}}
	c.Subject, _ = claims["sub"].(string)
	c.ClientID, _ = claims["client_id"].(string)
	c.ACR, _ = claims["acr"].(string)
	if c.Subject == c.ClientID {
		c.Kind = "machine"
	}
	if time, found := claims["auth_time"].(float64); found {
		c.AuthTime = timeOf(time)
	}
	scope, _ := claims["scope"].(string)
	for _, name := range strings.Split(scope, " ") {
		if name != "" && !slices.Contains(c.Scopes, name) {
			c.Scopes = append(c.Scopes, name)
		}
	}
	return c
}

func timeOf(seconds float64) time.Time {
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9))
}

const (
	keysMaxAge = 10 * time.Minute
	// keysCooldown bounds the requests that unknown key ids can cause.
	keysCooldown = time.Second
)

// signingKeys are the issuer's public keys by kid.
type signingKeys struct {
	byID           map[string]jose.JSONWebKey
	fetched, tried time.Time
	isFailing      bool
}

// signingKey fetches the keys when they are old or the kid is unknown. Known keys go on while they cannot be fetched.
func (v *Verifier) signingKey(ctx context.Context, kid, alg string) (*jose.JSONWebKey, error) {
	keys := v.keys.Load()
	key, known := keys.byID[kid]
	if !known || v.now().Sub(keys.fetched) >= keysMaxAge {
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		if known && keys.isFailing {
			cancel() // The fetch goes on, and this request does not wait for it.
		}
		_, _ = share(waiting, &v.flights, "keys", v.refreshKeys)
		keys = v.keys.Load()
		key, known = keys.byID[kid]
	}
	switch {
	case known && (key.Algorithm == "" || key.Algorithm == alg):
		return &key, nil
	case !known && keys.isFailing:
		return nil, errNoSigningKeys
	}
	return nil, errInvalid
}

// refreshKeys skips keys of unknown types (RFC 7517 §5), and does nothing within the cooldown.
func (v *Verifier) refreshKeys(ctx context.Context) (struct{}, error) {
	keys := *v.keys.Load()
	if v.now().Sub(keys.tried) < keysCooldown {
		return struct{}{}, nil
	}
	keys.tried = v.now()
	var document struct{ Keys []json.RawMessage }
	server, err := v.server(ctx)
	if err == nil {
		err = v.request(ctx, server.JWKSURI, nil, false, &document)
	}
	found := map[string]jose.JSONWebKey{}
	for _, raw := range document.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.IsPublic() && key.KeyID != "" && (key.Use == "" || key.Use == "sig") {
			found[key.KeyID] = key
		}
	}
	if keys.isFailing = len(found) == 0; !keys.isFailing {
		keys.byID, keys.fetched = found, v.now()
	}
	v.keys.Store(&keys)
	return struct{}{}, err
}
