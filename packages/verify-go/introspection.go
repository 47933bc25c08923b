package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	keyPrefix = "gatehouse_"
	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// validFor is in seconds.
	validFor        = 60
	invalidFor      = 5 * time.Second
	maxResponseSize = 1 << 20
)

// isWellFormedKey keeps keys that are mistyped or made up from causing requests: the last six characters are a checksum.
func isWellFormedKey(key string) bool {
	secret, hasPrefix := strings.CutPrefix(key, keyPrefix)
	if !hasPrefix || len(secret) != 60 || strings.Trim(secret, base62) != "" {
		return false
	}
	return strings.HasSuffix(key, checksumOf(key[:len(key)-6]))
}

func checksumOf(body string) (checksum string) {
	rest := crc32.ChecksumIEEE([]byte(body))
	for range 6 {
		checksum = string(base62[rest%62]) + checksum
		rest /= 62
	}
	return checksum
}

// key verifies an API key by introspection, or takes it from the cache.
func (v *Verifier) key(ctx context.Context, key string, hash [32]byte) (*credential, error) {
	if v.feed == nil {
		return nil, errKeyRefused
	}
	if until, _ := v.invalidKeys.get(hash); !isWellFormedKey(key) || v.now().Before(until) {
		return nil, errKeyInvalid
	}
	known, isCached := v.apiKeys.get(hash)
	if isCached && seconds(v.now()) < known.expires && v.feed.isFresh() && !v.revocations.outdates(&known.identity, known.number) {
		return known, nil
	}
	// The first response may have been on its way when a revocation came; a second one cannot have been.
	for range 2 {
		found, err := v.introspect(ctx, key, hash)
		if err != nil {
			return nil, errKeyUnchecked
		}
		if found == nil || found.client == "" || !hasAudience(found.caller.Claims["aud"], v.options.Audience) {
			v.invalidKeys.put(hash, v.now().Add(invalidFor))
			return nil, errKeyInvalid
		}
		if !v.revocations.outdates(&found.identity, found.number) {
			v.apiKeys.put(hash, found)
			return found, nil
		}
	}
	return nil, errKeyInvalid
}

// introspect asks the issuer about a token or key (RFC 7662), once for requests at the same time. An inactive one is nil.
func (v *Verifier) introspect(ctx context.Context, token string, hash [32]byte) (*credential, error) {
	return share(ctx, &v.flights, hash, func(ctx context.Context) (*credential, error) {
		server, err := v.server(ctx)
		if err != nil {
			return nil, err
		}
		v.measure("introspections", 1, "")
		// An entry that comes while the request is under way counts as later.
		number, asked := v.revocations.count.Load(), seconds(v.now())
		var response map[string]any
		if err := v.request(ctx, server.IntrospectionEndpoint, url.Values{"token": {token}}, true, &response); err != nil {
			return nil, err
		}
		c := &credential{caller: callerOf(response), number: number, expires: asked + validFor}
		if expires, isBounded := response["exp"].(float64); isBounded {
			c.expires = min(c.expires, expires)
		}
		if response["active"] != true || c.expires <= asked {
			return nil, nil
		}
		c.id, _ = response["jti"].(string)
		c.person, _ = response["owner"].(string)
		// Times of issue are the issuer's, and this clock may differ from its own: outdates goes by the number.
		c.client, c.issued = c.caller.ClientID, math.Inf(1)
		// A sign-in in the response is not the key's own.
		c.caller.Kind, c.caller.ACR, c.caller.AuthTime = "key", "", time.Time{}
		c.caller.Subject = cmp.Or(c.caller.Subject, c.client)
		return c, nil
	})
}

// serverMetadata is the part of the issuer's metadata that is needed here (RFC 8414 §2).
type serverMetadata struct {
	Issuer                string `json:"issuer"`
	JWKSURI               string `json:"jwks_uri"`
	IntrospectionEndpoint string `json:"introspection_endpoint"`
}

func (v *Verifier) server(ctx context.Context) (*serverMetadata, error) {
	if known := v.metadata.Load(); known != nil {
		return known, nil
	}
	return share(ctx, &v.flights, "metadata", func(ctx context.Context) (*serverMetadata, error) {
		document := &serverMetadata{}
		err := v.request(ctx, v.options.Issuer+"/.well-known/oauth-authorization-server", nil, false, document)
		if err == nil && document.Issuer != v.options.Issuer {
			err = errors.New("the metadata is that of another issuer")
		}
		isHTTPS := func(address string) bool { return address == "" || strings.HasPrefix(address, "https:") }
		areHTTPS := isHTTPS(document.JWKSURI) && isHTTPS(document.IntrospectionEndpoint)
		if err == nil && !areHTTPS && isHTTPS(v.options.Issuer) {
			err = errors.New("an endpoint is not https")
		}
		if err == nil {
			v.metadata.Store(document)
		}
		return document, err
	})
}

// request gets a URL, or posts a form to it, and reads the JSON of the response.
func (v *Verifier) request(ctx context.Context, address string, form url.Values, isAuthenticated bool, into any) error {
	header := http.Header{"Accept": {"application/json"}}
	if form != nil {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := v.send(ctx, address, header, form.Encode(), isAuthenticated)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return json.NewDecoder(io.LimitReader(response.Body, maxResponseSize)).Decode(into)
}

// send gets a URL, or posts a body to it, with the credentials of the API if it needs them (RFC 6749 §2.3.1). A response other
// than 200 and 204 is a statusError.
func (v *Verifier) send(ctx context.Context, address string, header http.Header, body string, isAuthenticated bool,
) (*http.Response, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	if isAuthenticated {
		request.SetBasicAuth(url.QueryEscape(v.options.ClientID), url.QueryEscape(v.options.ClientSecret))
	}
	header.Set("User-Agent", "gatehouse-verify-go/"+version)
	response, err := v.client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		_ = response.Body.Close()
		err = &statusError{response.StatusCode, response.Header.Get("Retry-After")}
	}
	return response, err
}

type statusError struct {
	status     int
	retryAfter string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the issuer responded with status %d", e.status)
}
