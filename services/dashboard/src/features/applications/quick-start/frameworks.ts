import type { AppType } from '../../../api/application-types.ts';
import {
  type Code,
  go,
  java,
  js,
  listeningAt,
  PASTE,
  python,
  type Sample,
  SET_VARIABLES,
  secretIn,
  yaml,
} from './sample.ts';

/**
 * A framework, with what to do and the files of an application that signs people in. A step that is a command begins with "Run: ";
 * `{host}`, `{port}` and `{origin}` in it are those of the redirect URI.
 */
export type Framework = {
  id: string;
  title: string;
  types: readonly AppType[];
  /** The path of the redirect URI, where the framework chooses it. */
  callback?: string;
  steps: readonly string[];
  /** The npm packages of a framework whose project is made by one block of commands, which ends with the start of its only file. */
  packages?: string;
  /** The variables that have a random value. */
  secrets?: readonly string[];
  files(sample: Sample): Readonly<Record<string, Code>>;
};

const WEB: readonly AppType[] = ['web'];

/** The frameworks of the quick start. `npm run test:nightly -- frameworks` does the steps of each, and signs in. */
export const FRAMEWORKS: readonly Framework[] = [
  {
    id: 'express',
    title: 'Express',
    types: WEB,
    packages: 'express@5 express-openid-connect@3',
    steps: [PASTE, 'Open {origin} in a browser.'],
    secrets: ['SESSION_SECRET'],
    files: ({ base, clientId, redirectUri, scope }) => ({
      'server.js': js`import express from 'express';
import oidc from 'express-openid-connect';

const redirectUri = new URL(${redirectUri});
const app = express().use(
  oidc.auth({
    issuerBaseURL: ${base},
    baseURL: redirectUri.origin,
    routes: { callback: redirectUri.pathname },
    clientID: ${clientId},
    clientSecret: ${secretIn('js', undefined)},
    secret: process.env.SESSION_SECRET,
    authorizationParams: { response_type: 'code', scope: ${scope} },
  }),
);
app.get('/', (request, response) => response.send(\`Signed in: \${request.oidc.user.name}\`));
app.listen(redirectUri.port || 3000, (error) => {
  if (error) throw error;
  console.log(\`Open \${redirectUri.origin}\`);
});`,
    }),
  },
  {
    id: 'fastify',
    title: 'Fastify',
    types: WEB,
    packages: 'fastify@5 @fastify/cookie@11 @fastify/oauth2@8',
    steps: [PASTE, 'Open {origin}/login in a browser.'],
    files: ({ base, clientId, redirectUri, scope }) => ({
      'server.js': js`import cookie from '@fastify/cookie';
import oauth2 from '@fastify/oauth2';
import fastify from 'fastify';

const redirectUri = new URL(${redirectUri});
const app = fastify();
app.register(cookie);
app.register(oauth2, {
  name: 'gatehouse',
  discovery: { issuer: ${base} },
  credentials: { client: { id: ${clientId}, secret: ${secretIn('js', undefined)} } },
  startRedirectPath: '/login',
  callbackUri: redirectUri.href,
  scope: ${scope}.split(' '),
  pkce: 'S256',
});
app.get(redirectUri.pathname, async (request, reply) => {
  const { token } = await app.gatehouse.getAccessTokenFromAuthorizationCodeFlow(request, reply);
  const person = await app.gatehouse.userinfo(token);
  return \`Signed in: \${person.name}\`;
});
await app.listen({ port: Number(redirectUri.port || 3000) });
console.log(\`Open \${redirectUri.origin}/login\`);`,
    }),
  },
  {
    id: 'next',
    title: 'Next.js',
    types: WEB,
    callback: '/api/auth/callback/gatehouse',
    steps: [
      'Begin in a Next.js project.',
      'Run: npm install next-auth@5.0.0-beta.32',
      'Save the files below.',
      ...SET_VARIABLES,
      'Run: npx next dev --port {port}',
      'Open {origin} in a browser.',
    ],
    secrets: ['AUTH_SECRET'],
    files: ({ base, clientId, scope }) => ({
      'auth.js': js`import NextAuth from 'next-auth';

export const { handlers, signIn, auth } = NextAuth({
  trustHost: true,
  providers: [
    {
      id: 'gatehouse',
      name: 'Gatehouse',
      type: 'oidc',
      issuer: ${base},
      clientId: ${clientId},
      clientSecret: ${secretIn('js', undefined)},
      authorization: { params: { scope: ${scope} } },
      checks: ['pkce', 'state'],
    },
  ],
});`,
      'app/api/auth/[...nextauth]/route.js': js`import { handlers } from '../../../../auth';

export const { GET, POST } = handlers;`,
      'app/page.js': js`import { auth, signIn } from '../auth';

async function begin() {
  'use server';
  await signIn('gatehouse');
}

export default async function Page() {
  const session = await auth();
  if (session) return <p>Signed in: {session.user.name}</p>;
  return <form action={begin}><button>Sign in</button></form>;
}`,
    }),
  },
  {
    id: 'react',
    title: 'React',
    types: ['spa'],
    steps: [
      'Begin in a React project, such as one of Vite.',
      'Run: npm install oidc-client-ts react-oidc-context',
      'Save the file below. There is no secret: PKCE takes its place.',
      'Run: npx vite --host {host} --port {port}',
      'Open {origin} in a browser.',
    ],
    files: ({ base, clientId, redirectUri, scope }) => ({
      'src/main.jsx': js`import { createRoot } from 'react-dom/client';
import { AuthProvider, useAuth } from 'react-oidc-context';

const settings = {
  authority: ${base},
  client_id: ${clientId},
  redirect_uri: ${redirectUri},
  scope: ${scope},
  // The code is used once: it must not stay in the address.
  onSigninCallback: () => history.replaceState({}, '', '/'),
};

function App() {
  const auth = useAuth();
  if (auth.isLoading) return <p>Loading…</p>;
  if (auth.error) return <p>Not signed in: {auth.error.message}</p>;
  if (auth.isAuthenticated) return <p>Signed in: {auth.user.profile.name}</p>;
  return <button onClick={() => auth.signinRedirect()}>Sign in</button>;
}

createRoot(document.getElementById('root')).render(
  <AuthProvider {...settings}><App /></AuthProvider>,
);`,
    }),
  },
  {
    id: 'django',
    title: 'Django',
    types: WEB,
    callback: '/accounts/oidc/gatehouse/login/callback/',
    steps: [
      'Run: mkdir -p quick-start && cd quick-start && python3 -m venv .venv && .venv/bin/pip install "Django~=5.2" "django-allauth[socialaccount]~=65.21"',
      'Run: .venv/bin/django-admin startproject mysite .',
      'Add the code to the ends of these files.',
      ...SET_VARIABLES,
      'Run: .venv/bin/python manage.py migrate',
      'Run: .venv/bin/python manage.py runserver {host}:{port}',
      'Open {origin} in a browser.',
    ],
    files: ({ base, clientId, scope }) => ({
      'mysite/settings.py': python`
import os

INSTALLED_APPS += ["allauth", "allauth.account", "allauth.socialaccount",
                   "allauth.socialaccount.providers.openid_connect"]
MIDDLEWARE += ["allauth.account.middleware.AccountMiddleware"]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL, LOGIN_REDIRECT_URL = "/accounts/oidc/gatehouse/login/", "/"
ACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [{
    "provider_id": "gatehouse",
    "name": "Gatehouse",
    "client_id": ${clientId},
    "secret": ${secretIn('python', undefined)},
    "settings": {"server_url": ${base}, "oauth_pkce_enabled": True, "scope": ${scope}.split()},
}]}}
`,
      'mysite/urls.py': python`
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.urls import include

@login_required
def home(request):
    account = request.user.socialaccount_set.get()
    return HttpResponse("Signed in: " + account.extra_data["userinfo"]["name"])

urlpatterns += [path("", home), path("accounts/", include("allauth.urls"))]
`,
    }),
  },
  {
    id: 'go-oidc',
    title: 'Go',
    types: WEB,
    steps: [
      'Run: mkdir -p quick-start && cd quick-start',
      'Save the file below.',
      'Run: go mod init example && go mod tidy',
      ...SET_VARIABLES,
      'Run: go run .',
      'Open the address that it prints.',
    ],
    files: ({ base, clientId, redirectUri, scope }) => ({
      'main.go': go`package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	provider, err := oidc.NewProvider(context.Background(), ${base})
	if err != nil {
		log.Fatal(err)
	}
	config := oauth2.Config{
		ClientID:     ${clientId},
		ClientSecret: ${secretIn('go', undefined)},
		Endpoint:     provider.Endpoint(),
		RedirectURL:  ${redirectUri},
		Scopes:       strings.Fields(${scope}),
	}
	tokens := provider.Verifier(&oidc.Config{ClientID: config.ClientID})
	callback, err := url.Parse(config.RedirectURL)
	if err != nil {
		log.Fatal(err)
	}

	http.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
		for name, value := range map[string]string{"state": state, "verifier": verifier} {
			http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		}
		http.Redirect(w, r, config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), http.StatusFound)
	})
	http.HandleFunc(callback.Path, func(w http.ResponseWriter, r *http.Request) {
		state, err := r.Cookie("state")
		verifier, noVerifier := r.Cookie("verifier")
		if err != nil || noVerifier != nil || state.Value != r.FormValue("state") {
			http.Error(w, "Sign in again.", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(r.Context(), r.FormValue("code"), oauth2.VerifierOption(verifier.Value))
		if err != nil {
			http.Error(w, "Not signed in.", http.StatusBadRequest)
			return
		}
		raw, _ := token.Extra("id_token").(string)
		idToken, err := tokens.Verify(r.Context(), raw)
		if err != nil {
			http.Error(w, "Not signed in.", http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, "Signed in:", idToken.Subject)
	})
	fmt.Println("Open " + callback.Scheme + "://" + callback.Host + "/login")
	log.Fatal(http.ListenAndServe(callback.Host, nil))
}`,
    }),
  },
  {
    id: 'spring',
    title: 'Spring',
    types: WEB,
    callback: '/login/oauth2/code/gatehouse',
    steps: [
      'Begin with a project of start.spring.io that has Spring Web and OAuth2 Client.',
      'Save the files below.',
      ...SET_VARIABLES,
      'Run: ./mvnw spring-boot:run',
      'Open {origin} in a browser.',
    ],
    files: ({ base, clientId, redirectUri, scope }) => ({
      'src/main/resources/application.yml': yaml`server.port: ${listeningAt(redirectUri).port}
spring.security.oauth2.client:
  provider.gatehouse.issuer-uri: ${base}
  registration.gatehouse:
    client-id: ${clientId}
    client-secret: "\${CLIENT_SECRET}"
    scope: ${scope.split(' ').join(', ')}
`,
      'src/main/java/com/example/demo/HomeController.java': java`package com.example.demo;

import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class HomeController {
  @GetMapping("/")
  public String home(@AuthenticationPrincipal OidcUser person) {
    return "Signed in: " + person.getFullName();
  }
}
`,
    }),
  },
];
