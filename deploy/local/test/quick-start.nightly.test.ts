import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findChromium, NO_CHROMIUM, startChromium } from '@gatehouse/testing/chromium';
import type { FormBrowser } from '@gatehouse/testing/form-browser';
import { unescapeHtml } from '@gatehouse/testing/form-browser';
import { freePort, until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { signInAndAllow, startServer } from './clients/set-up.ts';
import { temporaryDir } from './gatehouse.ts';

const run = promisify(execFile);
const server = await startServer(t);
const { demo, issuer } = server;

/** The code in a page by the id of its element, and the text of the page. */
function examplesIn(html: string): { code: (id: string) => string; text: string } {
  return {
    text: unescapeHtml(html),
    code: (id) => {
      const [, code = ''] = new RegExp(`<pre id="${id}"[^>]*><code>([\\s\\S]*?)</code>`).exec(html) ?? [];
      return unescapeHtml(code.replaceAll(/<[^>]+>/g, ''));
    },
  };
}

/** The examples in an application's quick start, by their ids. */
async function examplesOf(clientId: string): Promise<{ code: (id: string) => string; text: string }> {
  const path = `/dashboard/applications/${clientId}/quick-start`;
  const browser = server.browser();
  const { html } = await signInTo(browser, path);
  const tabs = [...html.matchAll(/href="([^"]*\/quick-start\?for=[^"#]*)/g)].map(([, href = '']) => href);
  const pages = await Promise.all(tabs.map(async (href) => (await browser.get(href)).html));
  const { code, text } = examplesIn(pages.join(''));
  return { code: (id) => code(`code-${id}`), text };
}

async function signInTo(browser: FormBrowser, path: string) {
  const { username, password } = demo.admin;
  return browser.submit(await browser.get(path), { username, password });
}

/** A program beside this test, where its libraries are found; gone when the test ends. */
async function program(t: Test, code: string): Promise<string> {
  const file = join(
    import.meta.dirname,
    `quick-start-${process.pid}-${Math.random().toString(36).slice(2)}.mjs`,
  );
  await writeFile(file, code);
  t.teardown(() => rm(file));
  return file;
}

const has = (command: string, option = '--version') =>
  run(command, [option]).then(
    () => true,
    () => false,
  );
const PYTHON = (await has('python3')) ? {} : { skip: 'there is no python3' };
const GO = (await has('go', 'version')) ? {} : { skip: 'there is no go' };
const JAVA = (await has('java')) ? {} : { skip: 'there is no java' };
const CURL = (await has('curl')) ? {} : { skip: 'there is no curl' };

t.test('the examples of a machine run as they are', async (t) => {
  await fetch(`${issuer}/api/v1/items`, {
    method: 'POST',
    headers: { authorization: `ApiKey ${demo.api_key}`, 'content-type': 'application/json' },
    body: '{}',
  });
  const { code } = await examplesOf(demo.machine.client_id);
  const env = { ...process.env, CLIENT_SECRET: demo.machine.client_secret };
  const isList = (text: string) => t.match(text.trim(), /^\[[\s\S]*\]$/);
  await t.test('curl', CURL, async () => isList((await run('sh', ['-c', code('curl')], { env })).stdout));
  await t.test('openid-client', async (t) => {
    isList((await run(process.execPath, [await program(t, code('openid-client'))], { env })).stdout);
  });
  await t.test('fetch', async (t) => {
    isList((await run(process.execPath, [await program(t, code('fetch'))], { env })).stdout);
  });
  await t.test('Python', PYTHON, async () =>
    isList((await run('python3', ['-c', code('python')], { env })).stdout),
  );
  for (const [name, file, option, installed] of [
    ['go', 'main.go', ['run'], GO],
    ['java', 'FirstRequest.java', [], JAVA],
  ] as const) {
    await t.test(name, installed, async () => {
      const cwd = temporaryDir(t);
      await writeFile(join(cwd, file), code(name));
      isList((await run(name, [...option, file], { cwd, env })).stdout);
    });
  }
});

t.test('the examples beside a new secret or key contain it, and run as they are', async (t) => {
  const browser = server.browser();
  const { client_id: id } = demo.machine;
  const path = `/dashboard/applications/${id}/credentials`;
  await signInTo(browser, path);
  const { CLIENT_SECRET: _, ...env } = process.env;
  const isList = (text: string) => t.match(text.trim(), /^\[[\s\S]*\]$/);
  for (const [form, fields] of [
    ['credentials/secrets', { expires_in: '2592000' }],
    ['credentials/keys', { name: 'try', scopes: 'read:data', key_expires_in: '2592000' }],
  ] as const) {
    const { html } = await browser.submit(await browser.get(path), fields, form);
    const { code } = examplesIn(html);
    await t.test(`curl, ${form}`, CURL, async () =>
      isList((await run('sh', ['-c', code('new-credential-curl')], { env })).stdout),
    );
    await t.test(`fetch, ${form}`, async (t) => {
      isList((await run(process.execPath, [await program(t, code('new-credential-fetch'))], { env })).stdout);
    });
    await t.test(`Python, ${form}`, PYTHON, async () =>
      isList((await run('python3', ['-c', code('new-credential-python')], { env })).stdout),
    );
    for (const [name, file, option, installed] of [
      ['go', 'main.go', ['run'], GO],
      ['java', 'FirstRequest.java', [], JAVA],
    ] as const) {
      await t.test(`${name}, ${form}`, installed, async () => {
        const cwd = temporaryDir(t);
        await writeFile(join(cwd, file), code(`new-credential-${name}`));
        isList((await run(name, [...option, file], { cwd, env })).stdout);
      });
    }
  }
});

t.test('the examples of a web application run as they are', async (t) => {
  const port = await freePort();
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const made = await server.createApplication({
    ...{ name: 'Quick', type: 'web', scopes: ['openid', 'profile'], redirect_uris: [redirectUri] },
  });
  const { code, text } = await examplesOf(made.client_id);
  const env = { ...process.env, CLIENT_SECRET: made.client_secret };
  const address = /http:\/\/[^\s"'<]+\/oauth2\/authorize\?[^\s"'<]+/.exec(text)?.[0] ?? '';
  const codeFrom = async (url: string) => {
    const callback = await signInAndAllow(server.browser(), url, demo.user);
    return callback.searchParams.get('code') ?? '';
  };

  await t.test('curl', CURL, async (t) => {
    // As pasted into a terminal: the commands and what is typed after them come from one input.
    const child = run('bash', ['-s'], { env });
    child.child.stdin?.end(`${code('curl')}\n${await codeFrom(address)}\n`);
    const lines = (await child).stdout.trim().split('\n');
    t.ok(lines.includes(address), 'it prints the URL to open');
    t.match(JSON.parse(lines.at(-1) ?? ''), { sub: demo.user.user_id });
  });
  await t.test('openid-client', async (t) => {
    const child = spawn(process.execPath, [await program(t, code('openid-client'))], {
      env,
      stdio: 'inherit',
    });
    t.teardown(() => child.kill());
    const open = () => fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' }).catch(() => undefined);
    await until(async () => (await open()) !== undefined, 10_000);
    const location = (await open())?.headers.get('location') ?? '';
    const callback = await signInAndAllow(server.browser(), location, demo.user);
    t.equal(await (await fetch(callback)).text(), 'Signed in: demo');
  });
  await t.test('Python', PYTHON, async (t) => {
    const child = run('python3', ['-c', code('python')], { env });
    child.child.stdin?.end(`${await codeFrom(address)}\n`);
    t.match((await child).stdout, demo.user.user_id);
  });
});

t.test('the example of a native application runs as it is', async (t) => {
  const { code } = await examplesOf(demo.native.client_id);
  const child = spawn(process.execPath, [await program(t, code('openid-client'))]);
  t.teardown(() => child.kill());
  let printed = '';
  child.stdout.on('data', (part) => {
    printed += String(part);
  });
  const ended = once(child, 'close');
  await until(() => printed.includes('\n'), 10_000);
  const callback = await signInAndAllow(server.browser(), printed.trim(), demo.user);
  t.equal(await (await fetch(callback)).text(), 'You can close this window.');
  await ended;
  t.match(printed, demo.user.user_id, 'it knows who has signed in, and ends');
});

t.test('the examples of an API run as they are', async (t) => {
  const made = await server.createApplication({ name: 'Quick API', type: 'resource', scopes: [] });
  const { code } = await examplesOf(made.client_id);
  const { client_id, client_secret, scope } = demo.machine;
  const issued = await fetch(`${issuer}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope }),
  });
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const env = { ...process.env, CLIENT_SECRET: made.client_secret, TOKEN: token };
  await t.test('curl', CURL, async (t) => {
    const { stdout } = await run('sh', ['-c', code('curl')], { env });
    t.match(JSON.parse(stdout), { active: true, client_id });
  });
  await t.test('openid-client', async (t) => {
    const file = await program(t, code('openid-client'));
    t.match((await run(process.execPath, [file], { env })).stdout, client_id);
    const invalid = { ...env, TOKEN: `${token.slice(0, -8)}AAAAAAAA` };
    t.match((await run(process.execPath, [file], { env: invalid })).stdout, 'This token is not valid.');
  });
});

/** What openid-client imports, and so what a bundler would put into the page. */
const IMPORTED = ['openid-client', 'oauth4webapi', 'jose/errors', 'jose/jwe/compact/decrypt'];
const chromium = findChromium();
const browserSkip = chromium === undefined ? { skip: NO_CHROMIUM } : {};
t.test('the examples of a single-page application run as they are', browserSkip, async (t) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const made = await server.createApplication({
    ...{
      name: 'Quick page',
      type: 'spa',
      scopes: ['openid', 'profile'],
      redirect_uris: [`${origin}/callback`],
    },
  });
  const { code } = await examplesOf(made.client_id);
  const imports = Object.fromEntries(
    IMPORTED.map((name) => [name, new URL(import.meta.resolve(name)).pathname]),
  );
  const page = `<!doctype html><html lang="en"><title>A page</title>
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">${code('openid-client')}
globalThis.app = { signIn, signedIn };
document.body.append('ready');</script>`;
  const files = createServer(async (request, response) => {
    const path = request.url ?? '';
    const isModule = path.includes('/node_modules/');
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html');
    response.end(isModule ? await readFile(path) : page);
  }).listen(port, '127.0.0.1');
  t.teardown(() => files.close());

  const browser = await startChromium(t, chromium ?? '');
  const tab = await browser.newPage();
  const printed: string[] = [];
  tab.on('console', (message) => printed.push(message.text()));
  const ready = () => tab.getByText('ready').waitFor();
  await tab.goto(origin);
  await ready();
  await tab.evaluate('void app.signIn()');
  await tab.fill('#username', demo.user.username);
  await tab.fill('#password', demo.user.password);
  await tab.click('button.primary');
  await tab.waitForURL('**/consent/**');
  await tab.locator('button').first().click();
  await tab.waitForURL(`${origin}/callback?*`);
  await ready();
  await tab.evaluate('app.signedIn().then((tokens) => { globalThis.tokens = tokens; })');
  const reply = await tab.evaluate<unknown>(
    `(async () => { const console = { log: (it) => { globalThis.answer = it; } };
${code('fetch')}
return globalThis.answer; })()`,
  );
  t.match(reply, { sub: demo.user.user_id }, printed.join('\n'));
});
