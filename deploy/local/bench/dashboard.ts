// `npm run bench:dashboard [-- USERS]`: how long pages of the dashboard take to come, with so many users and entries of the
// audit log (1,000,000 unless told) behind them, in milliseconds.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createFormBrowser, type FormBrowser } from '@gatehouse/testing/form-browser';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { databaseUri } from '../src/database-uri.ts';
import { startGatehouse } from '../test/gatehouse.ts';

const total = Number(process.argv[2] ?? 1_000_000);
const BATCH = 2000;
const WARM_UP = 10;
const ROUNDS = 100;
const RARE_ROUNDS = 4;
const PAUSE_MS = 7000;
/** How many pages are walked to come deep into the list. */
const DEEP = 50;
const BEGIN = Date.parse('2024-01-01T00:00:00Z');

/** As services/users stores them. */
function userOf(i: number) {
  const id = newId('usr');
  const name = `${((i * 7919) % total).toString(36)}.${i.toString(36)}`;
  const at = new Date(BEGIN + i * 1000);
  return {
    ...{ _id: id, username: `User.${name}`, username_key: `user.${name}` },
    ...{ email: `user.${name}@example.org`, email_key: `user.${name}@example.org`, email_verified: true },
    ...{ name: null, first_name: 'User', last_name: `Number ${i}`, phone: null, picture: null },
    ...{ role: i % 200 === 0 ? 'editor' : 'user', status: i % 20 === 0 ? 'inactive' : 'active' },
    password_hash: null,
    ...{ epoch: 0, sign_in_epoch: 0, version: 1, created_at: at, updated_at: at, outbox: [] },
    search_text: `user.${name}\nuser number ${i}`,
    search_words: ['user', ...name.split('.'), 'number', `${i}`, 'example', 'org'],
  };
}

/** As services/identity stores them. */
function entryOf(i: number, subject: string) {
  return {
    ...{ _id: newId('aud'), action: i % 3 === 0 ? 'sign_in.succeeded' : 'account.changed', at: new Date() },
    ...{ actor: subject, subject, address: '192.0.2.1', user_agent: 'Mozilla/5.0 Firefox/140.0' },
    ...{ details: { method: 'password' }, expires_at: new Date(Date.now() + 90 * 86_400_000) },
  };
}

async function fill(uri: string): Promise<void> {
  const logger = createLogger({ name: 'bench', level: 'warn', readable: true });
  const open = (name: string) => createDatabase({ uri: databaseUri(uri, name), name, logger });
  const databases = { users: open('users'), identity: open('identity') };
  await Promise.all(Object.values(databases).map((it) => it.start()));
  const users = databases.users.connection.collection<{ _id: string }>('users');
  const log = databases.identity.connection.collection<{ _id: string }>('audit_log');
  for (let i = 0; i < total; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, total - i) }, (_, n) => userOf(i + n));
    const entries = batch.map(({ _id }, n) => entryOf(i + n, _id));
    await Promise.all([
      users.insertMany(batch, { ordered: false }),
      log.insertMany(entries, { ordered: false }),
    ]);
    if ((i / BATCH) % 100 === 99) process.stderr.write(`${i + BATCH} users\n`);
  }
  await Promise.all(Object.values(databases).map((it) => it.stop()));
}

async function measure(browser: FormBrowser, path: string): Promise<string> {
  const times: number[] = [];
  for (let i = -WARM_UP; i < ROUNDS; i += 1) {
    const begin = performance.now();
    const { status } = await browser.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    if (i >= 0) times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`;
}

/** The longest times of whoever looks now and then, and finds nothing that has been kept for some seconds, such as totals. */
async function measureRarely(browser: FormBrowser, paths: readonly string[]): Promise<number[]> {
  const longest = paths.map(() => 0);
  for (let round = 0; round < RARE_ROUNDS; round += 1) {
    await sleep(PAUSE_MS);
    for (const [i, path] of paths.entries()) {
      const begin = performance.now();
      await browser.get(path);
      longest[i] = Math.max(longest[i] ?? 0, performance.now() - begin);
    }
  }
  return longest;
}

/** The path of a page deep in the list. */
async function walk(browser: FormBrowser, path: string): Promise<string> {
  let next = path;
  for (let i = 0; i < DEEP; i += 1) {
    const { html } = await browser.get(next);
    const link = /href="([^"]+)">Next page/.exec(html)?.[1];
    if (link === undefined) break;
    next = link.replaceAll('&amp;', '&');
  }
  return next;
}

const cleanups: (() => unknown)[] = [];
const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
try {
  const mongo = await startTestMongo();
  scope.teardown(mongo.stop);
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  scope.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const { demo } = await startGatehouse(scope, dataDir, { MONGODB_URI: mongo.uri, LOG_LEVEL: 'warn' });
  await fill(mongo.uri);
  const { username, password } = demo.admin;
  const browser = createFormBrowser(demo.base_url);
  await browser.submit(await browser.get('/dashboard'), { username, password });
  const pages = {
    overview: '/dashboard',
    'users, first page': '/dashboard/users',
    'users, a search': '/dashboard/users?q=r.zz',
    'users, of a status': '/dashboard/users?status=inactive',
    'users, deep in the list': await walk(browser, '/dashboard/users'),
    'one user': `/dashboard/users/${demo.user.user_id}`,
    'audit log': '/dashboard/audit',
    'audit log, of an action': '/dashboard/audit?action=sign_in.succeeded',
    applications: '/dashboard/applications',
    items: '/dashboard/items',
    products: '/dashboard/products',
    orders: '/dashboard/orders',
    notifications: '/dashboard/notifications',
    queues: '/dashboard/queues',
  };
  process.stdout.write(`${total} users and entries of the audit log\n`);
  for (const [name, path] of Object.entries(pages)) {
    process.stdout.write(`${name.padEnd(28)} ${await measure(browser, path)}\n`);
  }
  const rarely = await measureRarely(browser, Object.values(pages));
  process.stdout.write(`at most, when nobody has looked for ${PAUSE_MS / 1000} s:\n`);
  for (const [i, name] of Object.keys(pages).entries()) {
    process.stdout.write(`${name.padEnd(28)} ${rarely[i]?.toFixed(1)} ms\n`);
  }
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
