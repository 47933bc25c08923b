import { FETCH, GO, go, JAVA, java, js, PYTHON, python, type Snippet, secretIn, sh } from './sample.ts';

/** Programs that call the API with a key. */
export const API_KEY: readonly Snippet[] = [
  {
    id: 'curl',
    title: 'curl',
    steps: [],
    code: ({ base, secret }) =>
      sh`curl -sw '\\n' ${`${base}/api/v1/items?limit=2`} -H 'Authorization: Bearer '${secretIn('sh', secret)}`,
  },
  {
    ...FETCH,
    code: ({ base, secret }) => js`const response = await fetch(${`${base}/api/v1/items?limit=2`}, {
  headers: { authorization: 'Bearer ' + ${secretIn('js', secret)} },
});
console.log(await response.json());`,
  },
  {
    ...PYTHON,
    code: ({ base, secret }) => python`import json, os
from urllib.request import Request, urlopen

headers = {"Authorization": "Bearer " + ${secretIn('python', secret)}}
print(json.load(urlopen(Request(${`${base}/api/v1/items?limit=2`}, headers=headers))))`,
  },
  {
    ...GO,
    code: ({ base, secret }) => go`package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	request, err := http.NewRequest("GET", ${`${base}/api/v1/items?limit=2`}, nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+${secretIn('go', secret)})
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	io.Copy(os.Stdout, response.Body)
}`,
  },
  {
    ...JAVA,
    code: ({ base, secret }) => java`import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

public class FirstRequest {
  public static void main(String[] args) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(${`${base}/api/v1/items?limit=2`}))
        .header("Authorization", "Bearer " + ${secretIn('java', secret)}).build();
    System.out.println(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body());
  }
}`,
  },
];
