package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

var (
	issuer       = os.Getenv("ISSUER")
	home         = os.Getenv("HOME_URL")
	clientID     = os.Getenv("CLIENT_ID")
	clientSecret = os.Getenv("CLIENT_SECRET")
	lines        = bufio.NewScanner(os.Stdin)
)

// visit returns the parameters with which the browser comes back after the authorization request.
func visit(address string) url.Values {
	fmt.Println("visit", address)
	lines.Scan()
	return must(url.Parse(lines.Text())).Query()
}

// serve listens with a web application, and says so.
func serve(handler http.Handler) {
	fmt.Println("open", home)
	panic(http.ListenAndServe(strings.TrimPrefix(home, "http://"), handler))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
