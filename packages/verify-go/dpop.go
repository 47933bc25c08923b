package verify

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	proofAlgorithmNames = "ES256 ES384 ES512 Ed25519 EdDSA PS256 RS256"
	// proofTolerance is the greatest distance of iat from now, in seconds.
	proofTolerance = 60
	maxProofID     = 256
	maxReplays     = 100_000
)

var proofAlgorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, "Ed25519", jose.EdDSA, jose.PS256, jose.RS256}

// ReplayStore remembers used DPoP proofs. With one that replicas share, each proof is accepted once by all of them.
type ReplayStore interface {
	// Use says whether this is the first use of the key within ttl.
	Use(ctx context.Context, key string, ttl time.Duration) (first bool, err error)
}

// checkProof verifies the proof of possession of a request (RFC 9449 §4.3).
func (v *Verifier) checkProof(r *http.Request, token, thumbprint string) error {
	proofError := func(description string) error { return unauthorized("invalid_dpop_proof", description) }
	proofs := r.Header.Values("DPoP")
	if len(proofs) == 0 {
		return proofError("A DPoP proof is missing.")
	}
	// Two headers are joined, which is not a JWT.
	claims, key, err := parseProof(strings.Join(proofs, ","))
	if err != nil {
		return proofError("The DPoP proof is not a JWT signed with its own key.")
	}
	htu, _ := claims["htu"].(string)
	issued, isNumber := claims["iat"].(float64)
	id, _ := claims["jti"].(string)
	switch {
	case key != thumbprint:
		return proofError("The DPoP proof was not made with the key that the access token is bound to.")
	case claims["htm"] != any(r.Method):
		return proofError("The DPoP proof's htm is not the request's method.")
	case !v.isOwnURL(htu, r):
		return proofError("The DPoP proof's htu is not the request's URL.")
	case claims["ath"] != any(hashed(token)):
		return proofError("The DPoP proof's ath is not the token's.")
	case !isNumber || math.Abs(seconds(v.now())-issued) > proofTolerance:
		return proofError("The DPoP proof was not made within 60 s of now.")
	case id == "" || len(id) > maxProofID:
		return proofError("The DPoP proof needs a jti of at most 256 characters.")
	}
	isFirst, err := v.options.ReplayStore.Use(r.Context(), hashed(thumbprint+" "+id), 2*proofTolerance*time.Second)
	if err != nil {
		return errProofStore
	}
	if !isFirst {
		return proofError("The DPoP proof has been used before.")
	}
	return nil
}

func hashed(text string) string {
	hash := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}

// parseProof returns the claims of a proof, and the thumbprint of its key (RFC 7638).
func parseProof(text string) (claims map[string]any, thumbprint string, err error) {
	signed, err := jose.ParseSignedCompact(text, proofAlgorithms)
	if err != nil {
		return nil, "", err
	}
	// go-jose accepts no private key here.
	header := signed.Signatures[0].Header
	if header.JSONWebKey == nil || !hasType(header, "dpop+jwt") {
		return nil, "", errors.New("not a proof")
	}
	key := header.JSONWebKey.Key
	switch public := key.(type) {
	case ed25519.PublicKey:
		key = edwardsKey(public)
	case *rsa.PublicKey:
		// RFC 7518 §3.3; it costs time to verify with a very large key.
		if bits := public.N.BitLen(); bits < 2048 || bits > 8192 {
			return nil, "", errors.New("an RSA key of another size")
		}
	}
	if claims, err = claimsIn(signed, key); err != nil {
		return nil, "", err
	}
	hash, err := header.JSONWebKey.Thumbprint(crypto.SHA256)
	return claims, base64.RawURLEncoding.EncodeToString(hash), err
}

// edwardsKey verifies by both names of the algorithm: go-jose knows EdDSA, and not Ed25519 (RFC 9864 §2.2).
type edwardsKey ed25519.PublicKey

func (k edwardsKey) VerifyPayload(payload, signature []byte, alg jose.SignatureAlgorithm) error {
	if alg != jose.EdDSA && alg != "Ed25519" || !ed25519.Verify(ed25519.PublicKey(k), payload, signature) {
		return jose.ErrCryptoFailure
	}
	return nil
}

var loopback = []string{"localhost", "127.0.0.1", "::1"}

// isOwnURL says whether a proof for htu may come with the request. http.StripPrefix changes r.URL, and not RequestURI.
func (v *Verifier) isOwnURL(htu string, r *http.Request) bool {
	own, target := v.options.Origins, r.RequestURI
	if len(own) == 0 {
		own = []string{v.origin}
		// A sender chooses the Host header: one who got a proof for another host could name that host here.
		requested := v.requestOrigin(r)
		if u, err := url.Parse(requested); err == nil && (v.options.TrustProxy || slices.Contains(loopback, u.Hostname())) {
			own = append(own, requested)
		}
	}
	if target == "" {
		target = r.URL.RequestURI()
	}
	address, err := url.ParseRequestURI(target)
	proven := normalURL(htu)
	return err == nil && proven != "" && slices.ContainsFunc(own, func(origin string) bool {
		return proven == normalURL(originOf(origin)+address.EscapedPath())
	})
}

func (v *Verifier) requestOrigin(r *http.Request) string {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if v.options.TrustProxy {
		scheme = firstOf(r.Header.Get("X-Forwarded-Proto"), scheme)
		host = firstOf(r.Header.Get("X-Forwarded-Host"), host)
	}
	return originOf(scheme + "://" + host)
}

// originOf is the scheme and host of a URL, normalised.
func originOf(text string) string {
	u, err := url.Parse(normalURL(text))
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func firstOf(list, otherwise string) string {
	first, _, _ := strings.Cut(list, ",")
	return cmp.Or(strings.TrimSpace(first), otherwise)
}

var (
	escapes    = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	unreserved = regexp.MustCompile(`^[\w.~-]$`)
)

// normalURL is a URL without query and fragment, normalised by syntax and scheme (RFC 3986 §6.2.2 and §6.2.3). It is empty for
// what is not the URL of a web server, or names a user.
func normalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.RawPath = escapes.ReplaceAllStringFunc(u.EscapedPath(), func(escape string) string {
		if character, err := url.PathUnescape(escape); err == nil && unreserved.MatchString(character) {
			return character
		}
		return strings.ToUpper(escape)
	})
	u.Path, _ = url.PathUnescape(u.RawPath)
	// A reference loses its dot segments when it is resolved.
	path := strings.TrimPrefix(u.ResolveReference(u).EscapedPath(), "/")
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), port) + "/" + path
}

// replays are the proofs that this process has accepted.
type replays struct {
	mu   sync.Mutex
	now  func() time.Time
	used cache[string, time.Time]
}

func (s *replays) Use(_ context.Context, key string, ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The wall clock, as for iat: with another, setting it back would make a used proof acceptable again.
	now := s.now().Round(0)
	if until, found := s.used.get(key); found && now.Before(until) {
		return false, nil
	}
	s.used.put(key, now.Add(ttl))
	return true, nil
}
