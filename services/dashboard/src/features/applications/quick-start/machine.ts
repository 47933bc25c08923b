import {
  CURL,
  discovery,
  FETCH,
  GO,
  go,
  JAVA,
  java,
  js,
  OPENID_CLIENT,
  PYTHON,
  python,
  type Snippet,
  secretIn,
  sh,
} from './sample.ts';

/** Programs that work by themselves. */
export const MACHINE: readonly Snippet[] = [
  {
    ...CURL,
    code: ({ base, clientId, scope, secret }) => sh`# An access token, for an hour:
TOKEN=$(curl -s ${`${base}/oauth2/token`} -u ${clientId}:${secretIn('sh', secret)} \\
  -d grant_type=client_credentials --data-urlencode scope=${scope} |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

# The first request:
curl -sw '\\n' ${`${base}/api/v1/items?limit=2`} -H "Authorization: Bearer $TOKEN"`,
  },
  {
    ...OPENID_CLIENT,
    code(sample) {
      const { base, scope } = sample;
      return js`import * as client from 'openid-client';

${discovery(sample)}
const { access_token } = await client.clientCredentialsGrant(config, {
  scope: ${scope},
});

const url = new URL(${`${base}/api/v1/items?limit=2`});
const response = await client.fetchProtectedResource(config, access_token, url, 'GET');
console.log(await response.json());`;
    },
  },
  {
    ...FETCH,
    code: ({ base, clientId, scope, secret }) => js`const issued = await fetch(${`${base}/oauth2/token`}, {
  method: 'POST',
  body: new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: ${clientId},
    client_secret: ${secretIn('js', secret)},
    scope: ${scope},
  }),
});
const { access_token } = await issued.json();

const response = await fetch(${`${base}/api/v1/items?limit=2`}, {
  headers: { authorization: \`Bearer \${access_token}\` },
});
console.log(await response.json());`,
  },
  {
    ...PYTHON,
    code: ({ base, clientId, scope, secret }) => python`import json, os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

form = urlencode({
    "grant_type": "client_credentials",
    "client_id": ${clientId},
    "client_secret": ${secretIn('python', secret)},
    "scope": ${scope},
}).encode()
token = json.load(urlopen(${`${base}/oauth2/token`}, form))["access_token"]

request = Request(${`${base}/api/v1/items?limit=2`}, headers={"Authorization": "Bearer " + token})
print(json.load(urlopen(request)))`,
  },
  {
    ...GO,
    code: ({ base, clientId, scope, secret }) => go`package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
)

func main() {
	issued, err := http.PostForm(${`${base}/oauth2/token`}, url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {${clientId}},
		"client_secret": {${secretIn('go', secret)}},
		"scope":         {${scope}},
	})
	if err != nil {
		log.Fatal(err)
	}
	var token struct {
		AccessToken string \`json:"access_token"\`
	}
	if err := json.NewDecoder(issued.Body).Decode(&token); err != nil {
		log.Fatal(err)
	}

	request, err := http.NewRequest("GET", ${`${base}/api/v1/items?limit=2`}, nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token.AccessToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(os.Stdout, response.Body)
}`,
  },
  {
    ...JAVA,
    code: ({ base, clientId, scope, secret }) => java`import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;

public class FirstRequest {
  public static void main(String[] args) throws Exception {
    var http = HttpClient.newHttpClient();
    var form = "grant_type=client_credentials&client_id=" + encoded(${clientId})
        + "&client_secret=" + encoded(${secretIn('java', secret)}) + "&scope=" + encoded(${scope});
    var issued = http.send(
        HttpRequest.newBuilder(URI.create(${`${base}/oauth2/token`}))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(HttpRequest.BodyPublishers.ofString(form)).build(),
        BodyHandlers.ofString());
    var token = issued.body().replaceAll(".*\\"access_token\\":\\"([^\\"]+)\\".*", "$1");

    var response = http.send(
        HttpRequest.newBuilder(URI.create(${`${base}/api/v1/items?limit=2`}))
            .header("Authorization", "Bearer " + token).build(),
        BodyHandlers.ofString());
    System.out.println(response.body());
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}`,
  },
];
