import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { freePort, until } from '@gatehouse/testing/processes';
import { selfSigned } from '@gatehouse/testing/self-signed';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import type { Test } from 'tap';

type Teardown = { teardown(action: () => unknown): void };

/** TLS before a server on this machine; returns the port. */
export function startTls(t: Teardown, port: number, certificate = selfSigned()): Promise<number> {
  const server = createTlsServer(certificate, (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': headers.host };
    const outgoing = request({ port, method, path, headers: { ...headers, ...forwarded } }, (from) => {
      response.writeHead(from.statusCode ?? 502, from.headers);
      from.pipe(response);
    });
    outgoing.on('error', () => incoming.socket.destroy());
    incoming.pipe(outgoing);
  });
  return listen(t, server);
}

/** A database for the suite. Its driver reaches the socket of the embedded engine through a port only. */
async function suiteDatabase(t: Test): Promise<string> {
  const uri = await testDatabase(t);
  const [, path] = /^mongodb:\/\/([^/?]+\.sock)/.exec(uri) ?? [];
  if (path === undefined) return uri;
  const port = await listen(
    t,
    createServer((from) => {
      const to = connect(decodeURIComponent(path));
      from.pipe(to).on('error', () => from.destroy());
      to.pipe(from).on('error', () => to.destroy());
    }),
  );
  return uri.replace(path, `127.0.0.1:${port}`);
}

/** Starts the OpenID Foundation's conformance suite with a database of its own; returns how to call its API. */
export async function startSuite(t: Test, jar: string) {
  const port = await freePort();
  const url = `https://127.0.0.1:${await startTls(t, port)}`;
  const settings = {
    'server.port': port,
    'spring.mongodb.uri': await suiteDatabase(t),
    'openid.mongodb.targetFeatureCompatibilityVersion': '',
    'fintechlabs.devmode': true,
    'fintechlabs.base_url': url,
    'fintechlabs.base_mtls_url': url,
  };
  const args = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  const { JAVA_HOME } = process.env;
  const java = JAVA_HOME === undefined ? 'java' : join(JAVA_HOME, 'bin/java');
  const child = spawn(java, ['-Xmx1g', '-jar', jar, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const headers = { 'x-forwarded-proto': 'https' };
  const call = <T = Record<string, unknown>>(
    method: string,
    path: string,
    query: Record<string, string> = {},
    body?: object,
  ) =>
    jsonRequest<T>(method, `http://127.0.0.1:${port}/api/${path}?${new URLSearchParams(query)}`, {
      ...{ headers: { ...headers, 'content-type': 'application/json' }, body },
    });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the suite ended:\n${output}`);
    return call('GET', 'runner/running').then(
      ({ status }) => status === 200,
      () => false,
    );
  }, 180_000);
  return call;
}
