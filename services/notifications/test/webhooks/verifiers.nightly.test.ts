import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook as Verifier } from 'standardwebhooks';
import t from 'tap';
import { ANN, build, type Webhook } from './build.ts';

// The verifiers of https://www.standardwebhooks.com, of npm, PyPI (`pip install standardwebhooks`) and Go.
const PYTHON = `
import json, sys
from standardwebhooks import Webhook
given = json.load(sys.stdin)
Webhook(given["secret"]).verify(given["body"], given["headers"])`;
const GO_MODULE = 'github.com/standard-webhooks/standard-webhooks/libraries';
const GO = `package main

import (
	"encoding/json"
	"net/http"
	"os"

	webhooks "${GO_MODULE}/go"
)

func main() {
	var given struct {
		Secret, Body string
		Headers      map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	headers := http.Header{}
	for name, value := range given.Headers {
		headers.Set(name, value)
	}
	webhook, err := webhooks.NewWebhook(given.Secret)
	if err != nil {
		panic(err)
	}
	if err := webhook.Verify([]byte(given.Body), headers); err != nil {
		panic(err)
	}
}
`;
type Given = { secret: string; body: string; headers: Record<string, string> };
type Verify = (given: Given) => boolean;

/** Builds the program in Go; undefined without Go, or without its module. */
function goVerifier(directory: string): Verify | undefined {
  writeFileSync(join(directory, 'go.mod'), `module verify\n\ngo 1.22\n\nrequire ${GO_MODULE} v0.0.1\n`);
  writeFileSync(join(directory, 'main.go'), GO);
  const env = { ...process.env, GOFLAGS: '-mod=mod' };
  const built = spawnSync('go', ['build', '-o', 'verify', '.'], { cwd: directory, env, timeout: 180_000 });
  if (built.status !== 0) return undefined;
  return (given) => spawnSync(join(directory, 'verify'), { input: JSON.stringify(given) }).status === 0;
}

t.setTimeout(300_000);
const hasPython = spawnSync('python3', ['-c', 'import standardwebhooks']).status === 0;
const verifiers: [name: string, verify: Verify | undefined][] = [
  [
    'npm',
    ({ secret, body, headers }) => {
      try {
        return new Verifier(secret).verify(body, headers) !== undefined;
      } catch {
        return false;
      }
    },
  ],
  [
    'PyPI',
    hasPython
      ? (given) => spawnSync('python3', ['-c', PYTHON], { input: JSON.stringify(given) }).status === 0
      : undefined,
  ],
  ['Go', goVerifier(t.testdir())],
];

const { hooks, create, delivered, publish, order, at } = await build(t);
const hook = await create('/verified', { events: ['order.created'] });
const rotated = (await hooks<Webhook>('POST', `/${hook.id}/rotate`, { overlap_seconds: 60 })).body;
await publish('commerce.order.created', order('ord_ü', ANN));
await delivered(hook.id, 1);
const [request] = at('/verified');
const { body = '', headers = {} } = request ?? {};

for (const [name, verify] of verifiers) {
  t.test(name, verify ? {} : { skip: `there is no verifier of ${name}` }, async (t) => {
    t.ok(verify?.({ secret: rotated.secret, body, headers }), 'the new secret');
    t.ok(verify?.({ secret: hook.secret, body, headers }), 'the one before, for a while');
    t.notOk(verify?.({ secret: rotated.secret, body: `${body} `, headers }), 'another body');
    const later = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) };
    t.notOk(verify?.({ secret: rotated.secret, body, headers: later }), 'another time');
  });
}
