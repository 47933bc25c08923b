import { execFile, spawn } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { freePort } from '@gatehouse/testing/processes';
import { selfSigned } from '@gatehouse/testing/self-signed';
import t, { type Test } from 'tap';
import { temporaryDir } from '../gatehouse.ts';
import { startTls } from './openid-suite.ts';
import { signInAndAllow, startServer } from './set-up.ts';

// The programs that docs/clients.md links, each with the packages of its row. A program writes one of these lines:
//   visit URL    of an authorization request; it then reads the URL that the browser comes back to
//   open URL     of its web application, which signs people in and then shows their `sub`
//   sub SUB      of the person who has signed in
//   token TOKEN  an access token of the machine application

const DOCUMENT = readFileSync(new URL('../../../../docs/clients.md', import.meta.url), 'utf8');
const PROGRAMS = new URL('programs', import.meta.url).pathname;
/** The paths of the redirect URIs. Many frameworks choose theirs. */
const CALLBACKS = [
  '/callback',
  '/auth/callback/gatehouse',
  '/connect/gatehouse/callback',
  '/api/auth/callback/gatehouse',
  '/authorize',
  '/login/gatehouse/authorized',
  '/oidc/callback/',
  '/accounts/oidc/gatehouse/login/callback/',
  '/complete/oidc/',
  '/oauth2/callback',
  '/login/oauth2/code/gatehouse',
];

const TRUSTED = ['-Djavax.net.ssl.trustStore=trusted', '-Djavax.net.ssl.trustStorePassword=trusted'];

/** How a language installs packages into a directory, and runs a program there. */
const LANGUAGES: Record<
  string,
  { install(packages: string[], file: string): string; run(file: string): string[] }
> = {
  '.js': {
    install: (packages) =>
      `npm init -y --init-type=module && npm install --ignore-scripts --no-audit ${packages.join(' ')}`,
    run: (file) => [process.execPath, file],
  },
  '.py': {
    install: (packages) => `python3 -m venv venv && venv/bin/pip install --quiet ${packages.join(' ')}`,
    run: (file) => ['venv/bin/python', file],
  },
  '.go': {
    install: (packages, file) =>
      `go mod init clients && go get ${packages.join(' ')} && go build -mod=mod -o program ${file} harness.go`,
    run: () => ['./program'],
  },
  '.java': {
    install: (packages) =>
      `echo '${projectOf(packages)}' > pom.xml && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib &&
      keytool -importcert -noprompt -file "$AUTHORITY" -keystore trusted -storepass trusted`,
    run: (file) => ['java', ...TRUSTED, '-cp', 'lib/*', file],
  },
};

t.setTimeout(600_000);
const certificate = selfSigned();
setDefaultCACertificates([...getCACertificates('default'), certificate.cert]);
const port = await freePort();
const issuer = `https://localhost:${await startTls(t, port, certificate)}`;
const server = await startServer(t, { PORT: String(port), PUBLIC_URL: issuer });
const { demo } = server;
const authority = join(temporaryDir(t), 'authority.pem');
writeFileSync(authority, certificate.cert);

const rows = [...DOCUMENT.matchAll(/^\| \[(.+?)\]\(.+?\/programs\/(.+?)\) \| `(.+?)` \|/gm)].map(
  ([, name = '', file = '', packages = '']) => ({ name, file, packages: packages.split(' ') }),
);

t.test('docs/clients.md names every program, and the versions of this repository', async (t) => {
  const programs = readdirSync(PROGRAMS).filter((file) => !file.startsWith('harness'));
  t.same(rows.map(({ file }) => file).sort(), programs.sort());
  const { devDependencies } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
  );
  const own = [...DOCUMENT.matchAll(/^\| \[.+?\]\(.+?\.test\.ts\) \| `(.+)@(.+?)` \|/gm)];
  for (const [, name = '', version] of own) t.equal(devDependencies[name], version, name);
});

for (const { name, file, packages } of rows) {
  t.test(name, async (t) => {
    const language = LANGUAGES[extname(file)];
    if (language === undefined) throw new Error(`${file} is in an unknown language`);
    const cwd = temporaryDir(t);
    cpSync(PROGRAMS, cwd, { recursive: true });
    const env = { ...process.env, AUTHORITY: authority };
    const fault = await promisify(execFile)('sh', ['-ec', language.install(packages, file)], {
      cwd,
      env,
    }).then(
      () => undefined,
      (error: Error) => error.message.trim().split('\n').at(-1),
    );
    // Without the language or its registry there is nothing to test.
    if (fault === undefined) await follow(t, language.run(file), cwd);
    else t.pass('its packages can be installed', { skip: fault });
  });
}

/** A project of Maven with the packages as its dependencies. */
function projectOf(packages: string[]): string {
  const dependencies = packages.map((name) => {
    const [group, artifact, version] = name.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return `<project><modelVersion>4.0.0</modelVersion><groupId>clients</groupId><artifactId>clients</artifactId>
    <version>1</version><dependencies>${dependencies.join('')}</dependencies></project>`;
}

/** Runs a program until it has signed somebody in or has a token that works. */
async function follow(t: Test, [command = '', ...args]: string[], cwd: string): Promise<void> {
  const home = `http://127.0.0.1:${await freePort()}`;
  const { client_id, client_secret } = await server.createApplication({
    name: 'A client of the world',
    type: 'web',
    redirect_uris: CALLBACKS.map((path) => home + path),
    scopes: ['openid', 'profile', 'email'],
  });
  const env = {
    ...process.env,
    ...{ NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: authority, REQUESTS_CA_BUNDLE: authority },
    ...{ ISSUER: issuer, HOME_URL: home, CLIENT_ID: client_id, CLIENT_SECRET: client_secret },
    ...{ MACHINE_ID: demo.machine.client_id, MACHINE_SECRET: demo.machine.client_secret },
  };
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  // A program may have started others.
  t.teardown(() => spawn('kill', ['-9', '--', `-${child.pid}`]));
  let output = '';
  child.stderr.on('data', (text) => (output += text));
  for await (const line of createInterface(child.stdout)) {
    const [, word, value = ''] = /^(visit|open|sub|token) (.+)$/.exec(line) ?? [];
    if (word === undefined) output += `${line}\n`;
    if (word === 'visit')
      child.stdin.write(`${(await signInAndAllow(server.browser(), value, demo.user)).href}\n`);
    if (word === 'open') {
      const html = await signInTo(value).catch((error: unknown) => String(error));
      return void t.match(html, demo.user.user_id, output);
    }
    if (word === 'sub') return void t.equal(value, demo.user.user_id);
    if (word === 'token') return void t.equal(await server.statusOf('/v1/users', { token: value }), 200);
  }
  t.fail(output);
}

/** The page of a web application after the sign-in, which begins at once or with the page's only form. */
async function signInTo(url: string): Promise<string> {
  const application = createFormBrowser(url);
  const page = await application.get(url);
  const { url: request } = page.status === 0 ? page : await application.submit(page, {});
  return (await application.get((await signInAndAllow(server.browser(), request, demo.user)).href)).html;
}
