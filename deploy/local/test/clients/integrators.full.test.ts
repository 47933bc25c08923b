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

const machine = { APP_ID: demo.machine.client_id, APP_SECRET: demo.machine.client_secret };

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
    answer: (line: string) => child.stdin.write(`${line}\n`),
  };
}

/** What a browser gets that opens a page; fetch says in its headers that it is none. */
async function visit(url: string, cookie = '') {
  const request = get(url, { headers: { cookie, accept: 'text/html' }, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const cookies = (response.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]).join('; ');
  const { statusCode: status, headers } = response;
  return { status, headers, cookies, text: await text(response) };
}

const MODULES = '/usr/lib/apache2/modules';
const noModule = needs(join(MODULES, 'mod_auth_openidc.so'), 'mod_auth_openidc');
t.test('Apache: mod_auth_openidc', { skip: noModule }, async (t) => {
  const port = await freePort();
  const site = `http://127.0.0.1:${port}`;
  const app = await application(`${site}/callback`);
  const values = { ...app, [CALLBACK]: `${site}/callback`, PASSPHRASE: 'a-passphrase-of-the-site' };
  const root = temporaryDir(t);
  mkdirSync(join(root, 'www'));
  writeFileSync(join(root, 'www', 'index.html'), 'the protected page');
  const names = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'auth_openidc', 'dir', 'headers'];
  const load = names.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`);
  const conf = join(root, 'apache.conf');
  writeFileSync(
    conf,
    [
      ...load,
      `ServerRoot ${root}\nServerName 127.0.0.1\nListen 127.0.0.1:${port}\nPidFile ${root}/pid`,
      ...(process.getuid?.() === 0 ? ['User www-data\nGroup www-data'] : []),
      `ErrorLog ${root}/error.log\nDocumentRoot ${root}/www\nDirectoryIndex index.html`,
      `Header set X-User "expr=%{REMOTE_USER}"`,
      configuration('Apache: mod_auth_openidc', 'apache', values),
    ].join('\n'),
  );
  execFileSync('chmod', ['-R', 'a+rX', root]);
  start(t, '/usr/sbin/apache2', ['-f', conf, '-DFOREGROUND']);
  await until(
    () =>
      visit(`${site}/`).then(
        () => true,
        () => false,
      ),
    20_000,
  );
  const first = await visit(`${site}/`);
  t.equal(first.status, 302, readFileSync(join(root, 'error.log'), 'utf8'));
  const callback = await signInAndAllow(server.browser(), first.headers.location ?? '', demo.user);
  const back = await visit(callback.href, first.cookies);
  t.equal(back.headers.location, `${site}/`, readFileSync(join(root, 'error.log'), 'utf8'));
  const page = await visit(`${site}/`, back.cookies);
  t.equal(page.text, 'the protected page');
  t.match(page.headers['x-user'], /^demo@example\.com/);
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
  program.answer((await signInAndAllow(server.browser(), await program.line(), demo.user)).href);
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
  const { client_id, client_secret } = demo.machine;
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const response = await fetch(`${issuer}/oauth2/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token: string };
  program.answer(token);
  t.equal(await program.line(), client_id);
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
    program.answer(wrong);
    t.equal(await program.line(), error, name);
  }
});

t.test('Spring Boot', { skip: 'Spring Boot is not in Debian' }, async () => {});
