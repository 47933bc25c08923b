package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	config := clientcredentials.Config{
		ClientID: os.Getenv("MACHINE_ID"), ClientSecret: os.Getenv("MACHINE_SECRET"),
		TokenURL: issuer + "/oauth2/token", Scopes: []string{"read:users"},
	}
	fmt.Println("token", must(config.Token(context.Background())).AccessToken)
}
