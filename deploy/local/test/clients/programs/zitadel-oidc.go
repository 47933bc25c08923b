package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/zitadel/oidc/v3/pkg/client/rp"
	httphelper "github.com/zitadel/oidc/v3/pkg/http"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

func main() {
	key := []byte("a key of 32 bytes for the cookie")
	cookies := httphelper.NewCookieHandler(key, key, httphelper.WithUnsecure())
	provider := must(rp.NewRelyingPartyOIDC(context.Background(), issuer, clientID, clientSecret,
		home+"/callback", []string{"openid", "email"}, rp.WithCookieHandler(cookies), rp.WithPKCE(cookies)))
	show := func(w http.ResponseWriter, _ *http.Request, _ *oidc.Tokens[*oidc.IDTokenClaims], _ string,
		_ rp.RelyingParty, info *oidc.UserInfo) {
		fmt.Fprint(w, info.Subject)
	}
	http.Handle("/", rp.AuthURLHandler(func() string { return "the-state" }, provider))
	http.Handle("/callback", rp.CodeExchangeHandler(rp.UserinfoCallback(show), provider))
	serve(http.DefaultServeMux)
}
