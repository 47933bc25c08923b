package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
)

func main() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-User"))
	}))
	proxy := exec.Command("go", "run", "-mod=mod", "github.com/oauth2-proxy/oauth2-proxy/v7",
		"--provider=oidc", "--oidc-issuer-url="+issuer, "--client-id="+clientID, "--client-secret="+clientSecret,
		"--redirect-url="+home+"/oauth2/callback", "--scope=openid email", "--code-challenge-method=S256",
		"--email-domain=*", "--cookie-secret=0123456789abcdef", "--cookie-secure=false",
		"--skip-provider-button", "--upstream="+upstream.URL, "--http-address="+strings.TrimPrefix(home, "http://"))
	proxy.Stdout, proxy.Stderr = os.Stderr, os.Stderr
	if err := proxy.Start(); err != nil {
		panic(err)
	}
	for response, err := http.Get(home + "/ready"); err != nil || response.StatusCode != 200; {
		response, err = http.Get(home + "/ready")
	}
	fmt.Println("open", home)
	panic(proxy.Wait())
}
