package main

import (
	"context"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	ctx := context.Background()
	provider := must(oidc.NewProvider(ctx, issuer))
	config := oauth2.Config{
		ClientID: clientID, ClientSecret: clientSecret, Endpoint: provider.Endpoint(),
		RedirectURL: home + "/callback", Scopes: []string{oidc.ScopeOpenID, "email"},
	}
	verifier := oauth2.GenerateVerifier()
	url := config.AuthCodeURL("the-state", oidc.Nonce("the-nonce"), oauth2.S256ChallengeOption(verifier))
	token := must(config.Exchange(ctx, visit(url).Get("code"), oauth2.VerifierOption(verifier)))
	raw, _ := token.Extra("id_token").(string)
	idToken := must(provider.Verifier(&oidc.Config{ClientID: clientID}).Verify(ctx, raw))
	if idToken.Nonce != "the-nonce" {
		panic("another nonce")
	}
	info := must(provider.UserInfo(ctx, config.TokenSource(ctx, token)))
	fmt.Println("sub", info.Subject)
}
