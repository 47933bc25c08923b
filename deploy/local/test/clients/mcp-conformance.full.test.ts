import { spawn } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { freePort, until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { startGatehouse, temporaryDir } from '../gatehouse.ts';
import { signInAndAllow } from './set-up.ts';

// The MCP project's conformance suite against the server at /mcp and the authorization server behind it.

const SUITE = new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url)
  .pathname;

/** The checks that fail, by the reason, with what the suite says. It brings a server of its own for SDKs, whose tools are not ours. */
const EXPECTED: { reason: string; says: RegExp; checks: string[] }[] = [
  {
    reason:
      'The tools are those of the API. The suite calls tools of its own example, and we have none of these names.',
    says: /Unknown tool: test_|does not list the diagnostic tool 'test_|Tool 'json_schema_2020_12_tool' not found|InputRequiredResult with (?:inputRequests and )?requestState/,
    checks: [
      'elicitation-sep1034-defaults:elicitation-sep1034-general',
      'elicitation-sep1330-enums:elicitation-sep1330-general',
      'input-required-result-basic-elicitation:sep-2322-elicitation-incomplete',
      'input-required-result-basic-list-roots:sep-2322-list-roots-incomplete',
      'input-required-result-basic-sampling:sep-2322-sampling-incomplete',
      'input-required-result-capability-check:sep-2322-respect-client-capabilities',
      'input-required-result-multi-round:sep-2322-multi-round-r1',
      'input-required-result-multiple-input-requests:sep-2322-multiple-inputs-incomplete',
      'input-required-result-request-state:sep-2322-request-state-incomplete',
      'input-required-result-result-type:sep-2322-result-type-included',
      'input-required-result-tampered-state:sep-2322-reject-tampered-state',
      'json-schema-2020-12:json-schema-2020-12-tool-found',
      'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
      'server-stateless:sep-2575-missing-capability-http-400',
      'server-stateless:sep-2575-server-no-log-without-loglevel',
      'server-stateless:sep-2575-server-rejects-undeclared-capability',
      'tools-call-audio:tools-call-audio',
      'tools-call-elicitation:tools-call-elicitation',
      'tools-call-embedded-resource:tools-call-embedded-resource',
      'tools-call-error:tools-call-error',
      'tools-call-image:tools-call-image',
      'tools-call-mixed-content:tools-call-mixed-content',
      'tools-call-sampling:tools-call-sampling',
      'tools-call-simple-text:tools-call-simple-text',
      'tools-call-with-progress:tools-call-with-progress',
    ],
  },
  {
    reason: 'Of the capabilities of a server, tools are the only one that it declares.',
    says: /Method not found/,
    checks: [
      'caching:sep-2549-prompts-list-caching-hints',
      'caching:sep-2549-resources-list-caching-hints',
      'caching:sep-2549-resources-templates-list-caching-hints',
      'completion-complete:completion-complete',
      'input-required-result-non-tool-request:sep-2322-non-tool-incomplete',
      'logging-set-level:logging-set-level',
      'prompts-get-embedded-resource:prompts-get-embedded-resource',
      'prompts-get-simple:prompts-get-simple',
      'prompts-get-with-args:prompts-get-with-args',
      'prompts-get-with-image:prompts-get-with-image',
      'prompts-list:prompts-list',
      'resources-list:resources-list',
      'resources-read-binary:resources-read-binary',
      'resources-read-text:resources-read-text',
      'resources-subscribe:resources-subscribe',
      'resources-templates-read:resources-templates-read',
      'resources-unsubscribe:resources-unsubscribe',
      'tools-call-with-logging:tools-call-with-logging',
    ],
  },
  {
    reason: 'Without lists that change during a session there is nothing to subscribe to.',
    says: /subscriptions\/(?:acknowledged|listen)/,
    checks: [
      'server-stateless:sep-2575-server-sends-subscription-ack',
      'server-stateless:sep-2575-server-tags-subscription-id',
    ],
  },
  {
    reason: 'No tool asks for a parameter in a header, which is optional.',
    says: /server exposes no tool with x-mcp-header annotations/,
    checks: [
      'http-custom-header-server-validation:sep-2243-server-decode-base64',
      'http-custom-header-server-validation:sep-2243-server-no-xmcp-tool',
      'http-custom-header-server-validation:sep-2243-server-reject-invalid-param-chars',
      'http-custom-header-server-validation:sep-2243-server-reject-param-mismatch',
      'http-custom-header-server-validation:sep-2243-server-validate-param-match',
    ],
  },
];

/** The edge of the deployment, which adds the token: the suite itself sends none to servers. */
let token = '';
let port = 0;
const edge = createServer((incoming, response) => {
  const { method, url: path = '', headers } = incoming;
  const authorization = path === '/mcp' ? { authorization: `Bearer ${token}` } : {};
  const passedOn = request({ port, path, method, headers: { ...headers, ...authorization } }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
  });
  passedOn.on('error', () => response.destroy());
  incoming.pipe(passedOn);
});
const issuer = `http://localhost:${await listen(t, edge)}`;
const resource = `${issuer}/mcp`;
const gatehouse = await startGatehouse(t, temporaryDir(t), { PUBLIC_URL: issuer });
const { demo } = gatehouse;
port = gatehouse.port;

async function register(redirect_uri: string): Promise<string> {
  const { body } = await jsonRequest<{ client_id: string }>('POST', `${issuer}/api/v1/applications`, {
    token: await loginToken(issuer, demo.admin),
    body: { name: 'Suite', type: 'native', redirect_uris: [redirect_uri], scopes: ['openid'] },
  });
  return body.client_id;
}

/** A token of the admin for the server. */
async function newToken(): Promise<string> {
  const redirect_uri = 'http://127.0.0.1:9/callback';
  const client = { client_id: await register(redirect_uri), redirect_uri, resource };
  const code_verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    ...{ ...client, response_type: 'code', scope: 'mcp:read mcp:write', code_challenge_method: 'S256' },
    code_challenge: hash('sha256', code_verifier, 'base64url'),
  });
  const url = `${issuer}/oauth2/authorize?${query}`;
  const allowed = await signInAndAllow(createFormBrowser(issuer), url, demo.admin);
  const code = allowed.searchParams.get('code') ?? '';
  const response = await fetch(`${issuer}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...client, grant_type: 'authorization_code', code, code_verifier }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** Runs the suite; returns its output so far, and its end. */
function runSuite(t: Test, args: readonly string[]) {
  const child = spawn(process.execPath, [SUITE, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  return { child, ended: once(child, 'close'), output: () => output };
}

const unmet = new Set(EXPECTED.flatMap(({ checks }) => checks));
for (const version of ['2025-11-25', '2026-07-28']) {
  t.test(`the server, ${version}`, async (t) => {
    token = await newToken();
    const results = temporaryDir(t);
    const run = runSuite(t, [
      ...['server', '--url', resource, '--suite', 'all', '--spec-version', version, '-o', results],
    ]);
    await run.ended;
    let successes = 0;
    for (const file of globSync(join(results, '*/checks.json'))) {
      const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(basename(dirname(file))) ?? [];
      const checks = JSON.parse(readFileSync(file, 'utf8')) as {
        id: string;
        status: string;
        errorMessage?: string;
      }[];
      for (const { id, status, errorMessage = '' } of checks) {
        if (status === 'SUCCESS') successes += 1;
        if (status !== 'FAILURE') continue;
        const name = `${scenario}:${id}`;
        const expected = EXPECTED.find(({ checks }) => checks.includes(name));
        t.match(errorMessage, expected?.says ?? 'no failure', `${name}: ${expected?.reason}`);
        unmet.delete(name);
      }
    }
    t.ok(successes > 30, `${successes} checks passed\n${run.output().slice(-3000)}`);
  });
}

t.test('every expected failure happens', async (t) => {
  t.strictSame([...unmet], []);
});

t.test('the authorization server, for the resource', async (t) => {
  const callbackPort = await freePort();
  const client_id = await register(`http://127.0.0.1:${callbackPort}/callback`);
  const run = runSuite(t, [
    ...['authorization', '--url', issuer, '--client-id', client_id, '--resource', resource],
    ...['--port', String(callbackPort)],
  ]);
  await until(() => run.output().includes('response_type=code') || run.child.exitCode !== null, 20_000);
  const [authorize = ''] = /^http\S*response_type=code\S*$/m.exec(run.output()) ?? [];
  await fetch(await signInAndAllow(createFormBrowser(issuer), authorize, demo.user));
  const [status] = await run.ended;
  t.equal(status, 0, run.output());
  t.match(run.output(), /Total: [3-9] passed, 0 failed/);
  t.notMatch(run.output(), /WARNING|SKIPPED|skipped/);
});
