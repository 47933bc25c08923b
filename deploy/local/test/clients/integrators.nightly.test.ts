import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { freePort, until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t, { type Test } from 'tap';
import { temporaryDir } from '../gatehouse.ts';
import { signInAndAllow, startServer } from './set-up.ts';

// The configurations of docs/guides/integrators.md, each with the software that it is for.

const GUIDE = readFileSync(new URL('../../../../docs/guides/integrators.md', import.meta.url), 'utf8');
const server = await startServer(t);
const { demo, issuer } = server;
const CALLBACK = 'https://app.example.com/callback';
/** That of Debian, whose packages are looked for. */
const PYTHON = '/usr/bin/python3';

/** The block below a heading, with what a reader puts in. */
function configuration(heading: string, language: string, values: Record<string, string>): string {
  const [, section = ''] = GUIDE.split(`\n## ${heading}\n`);
  const [, block] =
    new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(section.split('\n## ')[0] ?? '') ?? [];
  if (block === undefined) throw new Error(`the guide has no ${language} below ${heading}`);
  const all = { 'https://id.example.com': issuer, ...values };
  return Object.entries(all).reduce((all, [from, to]) => all.replaceAll(from, to), block);
}

const MACHINE = { client_id: demo.machine.client_id, client_secret: demo.machine.client_secret };
const machine = { APP_ID: MACHINE.client_id, APP_SECRET: MACHINE.client_secret };

async function machineToken(): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...MACHINE });
  const response = await fetch(`${issuer}/oauth2/token`, { method: 'POST', body });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** An application in which people sign in. */
async function application(redirectUri: string) {
  const { client_id, client_secret = '' } = await server.createApplication({
    name: 'Integrated',
    type: 'web',
    redirect_uris: [redirectUri],
    scopes: ['openid', 'email'],
  });
  return { APP_ID: client_id, APP_SECRET: client_secret };
}

function needs(path: string, software: string): string | false {
  return !existsSync(path) && `${software} is not installed`;
}

function needsPython(module: string): string | false {
  try {
    execFileSync(PYTHON, ['-c', `import ${module}`], { stdio: 'ignore' });
    return false;
  } catch {
    return `Python has no ${module} here`;
  }
}

/** Runs until the test ends. */
function start(t: Test, command: string, parameters: string[]): ChildProcess {
  const child = spawn(command, parameters, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return child;
}

/** A Python program whose lines can be read and answered; libraries refuse plain http unless they are told. */
function python(t: Test, program: string) {
  const env = { ...process.env, AUTHLIB_INSECURE_TRANSPORT: '1', OAUTHLIB_INSECURE_TRANSPORT: '1' };
  const child = spawn(PYTHON, ['-c', program], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill());
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async line(): Promise<string> {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(errors);
      return String(value);
    },
    response: (line: string) => child.stdin.write(`${line}\n`),
  };
}

/** What a browser gets that opens a page; fetch says in its headers that it is none. */
async function visit(url: string, headers: Record<string, string> = {}) {
  const request = get(url, { headers: { ...headers, accept: 'text/html' }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const cookies = (response.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]).join('; ');
  const { statusCode: status } = response;
  return { status, headers: response.headers, cookies, text: await text(response) };
}

const MODULES = '/usr/lib/apache2/modules';

/** An Apache with a page, these modules besides the usual ones, and this configuration; the file of its errors. */
async function startApache(t: Test, site: URL, modules: string[], lines: string): Promise<string> {
  const root = temporaryDir(t);
  mkdirSync(join(root, 'www'));
  writeFileSync(join(root, 'www', 'index.html'), 'the protected page');
  const names = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'headers', ...modules];
  const conf = [
    ...names.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
    `ServerRoot ${root}\nServerName 127.0.0.1\nListen ${site.host}\nPidFile ${root}/pid`,
    ...(process.getuid?.() === 0 ? ['User www-data\nGroup www-data'] : []),
    `ErrorLog ${root}/error.log\nDocumentRoot ${root}/www\nDirectoryIndex index.html`,
    'Header set X-User "expr=%{REMOTE_USER}"',
    lines,
  ].join('\n');
  writeFileSync(join(root, 'apache.conf'), conf);
  execFileSync('chmod', ['-R', 'a+rX', root]);
  start(t, '/usr/sbin/apache2', ['-f', join(root, 'apache.conf'), '-DFOREGROUND']);
  const isUp = () =>
    visit(site.href).then(
      () => true,
      () => false,
    );
  await until(isUp, 20_000);
  return join(root, 'error.log');
}

const newSite = async () => new URL(`http://127.0.0.1:${await freePort()}/`);

const noOpenidc = needs(join(MODULES, 'mod_auth_openidc.so'), 'mod_auth_openidc');
t.test('Apache: mod_auth_openidc', { skip: noOpenidc }, async (t) => {
  const site = await newSite();
  const app = await application(`${site}callback`);
  const values = { ...app, [CALLBACK]: `${site}callback`, PASSPHRASE: 'a-passphrase-of-the-site' };
  const lines = configuration('Apache: mod_auth_openidc', 'apache', values);
  const log = await startApache(t, site, ['auth_openidc'], lines);
  const first = await visit(site.href);
  t.equal(first.status, 302, readFileSync(log, 'utf8'));
  const callback = await signInAndAllow(server.browser(), first.headers.location ?? '', demo.user);
  const back = await visit(callback.href, { cookie: first.cookies });
  t.equal(back.headers.location, site.href, readFileSync(log, 'utf8'));
  const page = await visit(site.href, { cookie: back.cookies });
  t.equal(page.text, 'the protected page');
  t.match(page.headers['x-user'], /^demo@example\.com/);
});

t.test('Apache: mod_oauth2', { skip: needs(join(MODULES, 'mod_oauth2.so'), 'mod_oauth2') }, async (t) => {
  const site = await newSite();
  const draft = { name: 'Files', type: 'resource', scopes: [] };
  const { client_id, client_secret = '' } = await server.createApplication(draft);
  const values = { APP_ID: client_id, APP_SECRET: client_secret };
  const log = await startApache(t, site, ['oauth2'], configuration('Apache: mod_oauth2', 'apache', values));
  const statusFor = async (token: string) =>
    (await visit(site.href, { authorization: `Bearer ${token}` })).status;
  const token = await machineToken();
  t.equal(await statusFor(token), 200, readFileSync(log, 'utf8'));
  t.equal((await visit(site.href)).status, 401);
  t.equal(await statusFor(`${token}x`), 401);
  const body = new URLSearchParams({ token, ...MACHINE });
  t.equal((await fetch(`${issuer}/oauth2/revoke`, { method: 'POST', body })).status, 200);
  await until(async () => (await statusFor(token)) === 401, 20_000);
});

t.test('Prometheus', { skip: needs('/usr/bin/prometheus', 'Prometheus') }, async (t) => {
  const scraped: string[] = [];
  const target = createServer((request, response) => {
    scraped.push(request.headers.authorization ?? '');
    response.end('up 1\n');
  }).listen(0, '127.0.0.1');
  await once(target, 'listening');
  t.teardown(() => target.close());
  const root = temporaryDir(t);
  const conf = join(root, 'prometheus.yml');
  const values = {
    ...machine,
    'api.example.com': `127.0.0.1:${(target.address() as AddressInfo).port}`,
    'scheme: https': 'scheme: http\n    scrape_interval: 1s',
  };
  writeFileSync(conf, configuration('Prometheus', 'yaml', values));
  const listen = `--web.listen-address=127.0.0.1:${await freePort()}`;
  start(t, '/usr/bin/prometheus', [`--config.file=${conf}`, `--storage.tsdb.path=${root}/data`, listen]);
  await until(() => scraped.length > 0, 30_000);
  const [, token = ''] = /^Bearer (.+)$/.exec(scraped[0] ?? '') ?? [];
  t.match(decodeJwt(token), { iss: issuer, client_id: machine.APP_ID, scope: 'read:data' });
});

t.test('Python: Authlib', { skip: needsPython('authlib, requests') }, async (t) => {
  const app = await application(CALLBACK);
  const code = configuration('Python: sign people in with Authlib', 'python', app);
  const program = python(
    t,
    `${code}\nprint(url, flush=True)\nprint(signed_in(input())['email'], flush=True)`,
  );
  program.response((await signInAndAllow(server.browser(), await program.line(), demo.user)).href);
  t.equal(await program.line(), 'demo@example.com');
});

t.test('Python: requests-oauthlib', { skip: needsPython('requests_oauthlib') }, async (t) => {
  const code = configuration('Python: call the API with requests-oauthlib', 'python', machine);
  const program = python(t, `${code}\nprint(type(items).__name__, flush=True)`);
  t.equal(await program.line(), 'list');
});

t.test('Python: PyJWT', { skip: needsPython('jwt, cryptography') }, async (t) => {
  const code = configuration('Python: a resource server with PyJWT', 'python', {});
  const program = python(
    t,
    `${code}
while True:
    try:
        print(caller_of(input())['client_id'], flush=True)
    except jwt.InvalidTokenError as error:
        print(type(error).__name__, flush=True)`,
  );
  const token = await machineToken();
  program.response(token);
  t.equal(await program.line(), MACHINE.client_id);
  const [header, payload = '', signature] = token.split('.');
  const altered = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'usr_other' })).toString(
    'base64url',
  );
  for (const [name, wrong, error] of [
    ['altered', [header, altered, signature].join('.'), 'InvalidSignatureError'],
    [
      'of another type',
      [Buffer.from('{"alg":"ES256","typ":"JWT"}').toString('base64url'), payload, signature].join('.'),
      'InvalidTokenError',
    ],
  ] as const) {
    program.response(wrong);
    t.equal(await program.line(), error, name);
  }
});

t.test('Spring Boot', { skip: 'Spring Boot is not in Debian' }, async () => {});
