package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	verify "github.com/gatehouse-id/verify-go"
)

func main() {
	v, err := verify.New(context.Background(), verify.Options{
		Issuer:       os.Getenv("GATEHOUSE"),
		Audience:     os.Getenv("AUDIENCE"),
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Stale:        verify.Stale{Then: verify.StaleAction(os.Getenv("STALE"))},
	})
	if err != nil {
		log.Fatal(err)
	}
	notes := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, verify.CallerFrom(r.Context()).Subject)
	}
	http.Handle("/notes", v.Protect(verify.Needs{Scopes: []string{"notes:read"}})(http.HandlerFunc(notes)))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
