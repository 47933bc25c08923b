import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { listen } from '@gatehouse/testing/listen';
import { recordingLogger, logger as silent } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createBreachedPasswords } from '../src/breached-passwords.ts';
import { build, PASSWORD } from './build.ts';

const sha1 = (password: string) => createHash('sha1').update(password).digest('hex').toUpperCase();
const BREACHED = 'a breached horse';
const PADDED = 'a horse of padding';

/** A range service with these two passwords; `respond` replaces its response. */
const requests: { url: string | undefined; padding: string | string[] | undefined }[] = [];
let respond: http.RequestListener | undefined;
const port = await listen(
  t,
  http.createServer((request, response) => {
    requests.push({ url: request.url, padding: request.headers['add-padding'] });
    if (respond !== undefined) return respond(request, response);
    const lines = [[BREACHED, 12] as const, [PADDED, 0] as const]
      .map(([password, count]) => [sha1(password), count] as const)
      .filter(([hash]) => request.url === `/range/${hash.slice(0, 5)}`)
      .map(([hash, count]) => `${hash.slice(5)}:${count}`);
    response.end([`${'0'.repeat(35)}:3`, ...lines, `${'F'.repeat(35)}:0`].join('\r\n'));
  }),
);
const url = `http://127.0.0.1:${port}/range/`;

t.test('a range service gets five digits of the hash, and its padding counts for nothing', async (t) => {
  for (const base of [url, url.slice(0, -1)]) {
    const breached = createBreachedPasswords({ url: base, logger: silent });
    requests.length = 0;
    t.equal(await breached.includes(BREACHED), true);
    t.equal(await breached.includes(PADDED), false);
    t.equal(await breached.includes('another horse'), false);
    t.strictSame(
      requests,
      [BREACHED, PADDED, 'another horse'].map((it) => ({
        url: `/range/${sha1(it).slice(0, 5)}`,
        padding: 'true',
      })),
    );
  }
});

t.test('a password is accepted, logged and counted when it cannot be looked for', async (t) => {
  const { logger, lines, text } = recordingLogger();
  const directory = t.testdir({ empty: '', other: 'these are\nother lines\n' });
  const fileUrl = (name: string) => pathToFileURL(join(directory, name)).href;
  const responses: Record<string, http.RequestListener> = {
    'an error': (_, response) => response.writeHead(503).end(`${sha1(BREACHED).slice(5)}:1`),
    'no response': () => {},
    'a broken connection': (request) => request.destroy(),
  };
  const services = Object.entries(responses).map(([name, it]) => [name, url, it] as const);
  const files = ['missing', 'empty', 'other'].map((name) => [name, fileUrl(name), undefined] as const);
  for (const [name, at, response] of [...services, ...files]) {
    respond = response;
    const breached = createBreachedPasswords({ url: at, logger });
    const start = performance.now();
    t.equal(await breached.includes(BREACHED), false, name);
    t.ok(performance.now() - start < 3000, `${name}, soon`);
    const [{ samples } = { samples: [] }] = breached.metrics();
    t.same(Object.fromEntries(samples.map(({ labels, value }) => [labels?.outcome, value])), {
      ...{ clear: 0, breached: 0, failed: 1 },
    });
  }
  respond = undefined;
  t.equal(lines.length, 6);
  for (const secret of [BREACHED, sha1(BREACHED).slice(5)])
    t.notMatch(text().toUpperCase(), secret.toUpperCase());
});

t.test('a file as the official downloader writes it is searched by offset', async (t) => {
  const known = Array.from({ length: 300 }, (_, i) => `horse number ${i}`);
  const lines = known.map((it, i) => `${sha1(it)}:${(i * 7919) % 10_000_000}`).sort();
  for (const [name, end, last] of [
    ['unix', '\n', '\n'],
    ['windows', '\r\n', '\r\n'],
    ['no last newline', '\n', ''],
  ] as const) {
    const path = join(t.testdir(), 'pwned.txt');
    for (const some of [lines, lines.slice(0, 1), lines.slice(0, 2), lines.slice(0, 3)]) {
      await writeFile(path, some.join(end) + last);
      const breached = createBreachedPasswords({ url: pathToFileURL(path).href, logger: silent });
      const hashes = new Set(some.map((line) => line.slice(0, 40)));
      const wrong: string[] = [];
      for (const password of [...known, ...known.map((it) => `${it}!`)]) {
        if ((await breached.includes(password)) !== hashes.has(sha1(password))) wrong.push(password);
      }
      t.strictSame(wrong, [], `${name}, ${some.length} lines`);
      const [{ samples } = { samples: [] }] = breached.metrics();
      t.equal(samples.find(({ labels }) => labels?.outcome === 'failed')?.value, 0);
    }
  }
});

t.test('a breached password is refused wherever one is set', async (t) => {
  const { call, machine, identityToken, created } = await build(t, { breachedPasswordsUrl: url });
  const message = 'is known from a data breach, and would be guessed: choose another';
  const person = await created();
  const inner = `/internal/users/accounts/${person.id}`;
  const draft = { username: 'horseless', email: 'horseless@example.org' };
  const change = { new_password: BREACHED };
  const uses = [
    ['POST', '/v1/users', machine, { ...draft, password: BREACHED }, 'password'],
    ['PUT', `/v2/users/${person.id}`, machine, { password: BREACHED }, 'password'],
    ['PUT', `${person.path}/password`, machine, { new_password: BREACHED }, 'password'],
    ['POST', '/internal/users/accounts', identityToken, { ...draft, password: BREACHED }, 'password'],
    ['PUT', `${inner}/password`, identityToken, change, 'new_password'],
    ['PUT', `${inner}/password`, identityToken, { ...change, is_recovery: true }, 'new_password'],
    ['PUT', `${inner}/password`, identityToken, { ...change, is_set_up: true }, 'new_password'],
    ['PUT', `${inner}/password`, identityToken, { ...change, current_password: PASSWORD }, 'new_password'],
  ] as const;
  for (const [method, path, token, body, field] of uses) {
    const { status, body: sent } = await call(method, path, token, body);
    t.equal(status, 400, `${method} ${path}`);
    t.match(JSON.stringify(sent), message);
    t.match(JSON.stringify(sent), field);
  }
  const accepted = await call('PUT', `${inner}/password`, identityToken, { new_password: PADDED });
  t.equal(accepted.status, 200);
  const check = async (password: string) =>
    (await call('POST', '/internal/users/password-checks/breached', identityToken, { password })).body;
  t.strictSame([await check(BREACHED), await check(PADDED)] as unknown[], [
    { breached: true },
    { breached: false },
  ]);
});
