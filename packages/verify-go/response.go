package verify

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
)

// Error is the response to a request that may not pass. It contains no secret.
type Error struct {
	Status int
	Header http.Header
	// Body is a JSON object with error and error_description.
	Body []byte

	code, description string
	// parameters of the challenge, other than those of every challenge.
	parameters []string
}

func (e *Error) Error() string { return e.code + ": " + e.description }

func failure(status int, code, description string, parameters ...string) *Error {
	return &Error{Status: status, code: code, description: description, parameters: parameters}
}

func unauthorized(code, description string) *Error { return failure(401, code, description) }

func invalidToken(description string) *Error { return unauthorized("invalid_token", description) }

func notAccepted(claim string) *Error {
	return invalidToken("The access token's " + claim + " is not accepted here.")
}

func unavailable(description string) *Error {
	return failure(503, "temporarily_unavailable", description)
}

var (
	errMissing   = unauthorized("unauthorized", "This needs an access token or an API key in the Authorization header.")
	errMalformed = unauthorized("invalid_request", `The Authorization header must be Bearer, DPoP or ApiKey, `+
		"followed by an access token or an API key.")
	errInvalid       = invalidToken("The access token is not valid.")
	errExpired       = invalidToken("The access token has expired.")
	errRevoked       = invalidToken("The access token has been revoked.")
	errBound         = invalidToken("The access token is bound to a key: send it as DPoP, with a proof.")
	errUnbound       = invalidToken("The access token is not bound to a key: send it as Bearer.")
	errKeyInvalid    = invalidToken("The API key is not valid.")
	errKeyRefused    = invalidToken("API keys are not accepted here.")
	errNotKnown      = unavailable("It is not known at the moment which tokens are revoked.")
	errNoSigningKeys = unavailable("The keys for verifying access tokens cannot be fetched at the moment.")
	errKeyUnchecked  = unavailable("The API key cannot be checked at the moment.")
	errProofStore    = unavailable("The DPoP proof cannot be checked at the moment.")
)

// response completes an error with its body and challenge (RFC 6750 §3, RFC 9449 §7.1, RFC 9470 §3, RFC 9728 §5.1).
func (v *Verifier) response(cause *Error, isDPoP bool) *Error {
	e := *cause
	e.Header = http.Header{"Content-Type": {"application/json"}}
	e.Body, _ = json.Marshal(map[string]string{"error": e.code, "error_description": e.description})
	if e.Status == http.StatusServiceUnavailable {
		e.Header.Set("Retry-After", "5")
		return &e
	}
	scheme, parameters := "Bearer", []string{}
	if cause != errMissing {
		// RFC 6750 §3: no description has double quotes.
		parameters = append(parameters, parameter("error", e.code), parameter("error_description", e.description))
	}
	parameters = append(parameters, e.parameters...)
	if isDPoP {
		scheme, parameters = "DPoP", append(parameters, parameter("algs", proofAlgorithmNames))
	}
	parameters = append(parameters, parameter("resource_metadata", v.origin+v.MetadataPath()))
	e.Header.Set("WWW-Authenticate", scheme+" "+strings.Join(parameters, ", "))
	return &e
}

func parameter(name, value string) string { return name + `="` + value + `"` }

// MetadataOptions adds to the metadata of the API. Extra members win over the others.
type MetadataOptions struct {
	Name   string
	Scopes []string
	Extra  map[string]any
}

// MetadataPath is the path at which clients look for Metadata, on the host of the audience (RFC 9728 §3.1).
func (v *Verifier) MetadataPath() string {
	return "/.well-known/oauth-protected-resource" + v.path
}

// Metadata serves the protected resource metadata of the API (RFC 9728 §2).
func (v *Verifier) Metadata(options MetadataOptions) http.Handler {
	document := map[string]any{"resource": v.options.Audience, "authorization_servers": []string{v.options.Issuer},
		"bearer_methods_supported": []string{"header"}, "dpop_signing_alg_values_supported": proofAlgorithms}
	if options.Name != "" {
		document["resource_name"] = options.Name
	}
	if len(options.Scopes) > 0 {
		document["scopes_supported"] = options.Scopes
	}
	maps.Copy(document, options.Extra)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "max-age=3600")
		_ = json.NewEncoder(w).Encode(document)
	})
}
