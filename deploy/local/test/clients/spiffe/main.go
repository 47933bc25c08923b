// A trust domain and a workload in it, by SPIFFE's own library. The program prints the URL of the bundle. For each line on standard input
// (client ID, path of the workload, audience, type of the assertion) it prints the JWT-SVID and what the token endpoint said.
package main

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/federation"
	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/jwtsvid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"google.golang.org/grpc"
)

const keyID = "jwt-1"

// agent is a Workload API that gives every caller the SVID that it asks for.
type agent struct {
	workload.UnimplementedSpiffeWorkloadAPIServer
	signer jose.Signer
}

func (a *agent) FetchJWTSVID(_ context.Context, request *workload.JWTSVIDRequest) (*workload.JWTSVIDResponse, error) {
	now := time.Now()
	// JWT-SVID §3: no iss, and no jti.
	claims := jwt.Claims{
		Subject:  request.SpiffeId,
		Audience: request.Audience,
		IssuedAt: jwt.NewNumericDate(now),
		Expiry:   jwt.NewNumericDate(now.Add(5 * time.Minute)),
	}
	token, err := jwt.Signed(a.signer).Claims(claims).Serialize()
	if err != nil {
		return nil, err
	}
	return &workload.JWTSVIDResponse{Svids: []*workload.JWTSVID{{SpiffeId: request.SpiffeId, Svid: token}}}, nil
}

func main() {
	ctx := context.Background()
	domain := spiffeid.RequireTrustDomainFromString(os.Args[1])
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	bundle := newBundle(domain, key)

	endpoint := must(net.Listen("tcp", "127.0.0.1:0"))
	go http.Serve(endpoint, must(federation.NewHandler(domain, bundle)))

	options := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", keyID)
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options))
	socket := must(net.Listen("unix", os.Args[2]))
	server := grpc.NewServer()
	workload.RegisterSpiffeWorkloadAPIServer(server, &agent{signer: signer})
	go server.Serve(socket)

	client := must(workloadapi.New(ctx, workloadapi.WithAddr("unix://"+os.Args[2])))
	fmt.Println("http://" + endpoint.Addr().String())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var clientID, path, audience, assertionType string
		must(fmt.Sscan(lines.Text(), &clientID, &path, &audience, &assertionType))
		params := jwtsvid.Params{Audience: audience, Subject: must(spiffeid.FromPath(domain, path))}
		svid := must(client.FetchJWTSVID(ctx, params))
		must(jwtsvid.ParseAndValidate(svid.Marshal(), bundle, []string{audience}))
		fmt.Println(svid.Marshal(), requestToken(ctx, clientID, svid, assertionType))
	}
}

// newBundle returns a bundle as trust domains publish it, also with a key for X.509-SVIDs.
func newBundle(domain spiffeid.TrustDomain, key crypto.Signer) *spiffebundle.Bundle {
	bundle := spiffebundle.New(domain)
	if err := bundle.AddJWTAuthority(keyID, key.Public()); err != nil {
		log.Fatal(err)
	}
	authority := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		URIs:         []*url.URL{domain.ID().URL()},
		IsCA:         true, BasicConstraintsValid: true,
	}
	certificate := must(x509.CreateCertificate(rand.Reader, template, template, authority.Public(), authority))
	bundle.AddX509Authority(must(x509.ParseCertificate(certificate)))
	bundle.SetRefreshHint(5 * time.Minute)
	return bundle
}

// requestToken returns an access token of the client, or an error code of RFC 6749 §5.2.
func requestToken(ctx context.Context, clientID string, svid *jwtsvid.SVID, assertionType string) string {
	config := clientcredentials.Config{
		ClientID:  clientID,
		TokenURL:  os.Getenv("TOKEN_URL"),
		AuthStyle: oauth2.AuthStyleInParams,
		EndpointParams: url.Values{
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:" + assertionType},
			"client_assertion":      {svid.Marshal()},
		},
	}
	token, err := config.Token(ctx)
	if failed := new(oauth2.RetrieveError); errors.As(err, &failed) {
		return failed.ErrorCode
	}
	return must(token, err).AccessToken
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
