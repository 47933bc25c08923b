import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase } from '@gatehouse/data/database';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { databaseUri } from '../src/database-uri.ts';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

t.setTimeout(120_000);

const IMPORT = new URL('../src/import-users.ts', import.meta.url).pathname;
const KEYCLOAK = new URL('../../../services/users/test/import/fixtures/keycloak.json', import.meta.url)
  .pathname;
const ADA = { id: '8f2a6c1e-0b3d-4e57-a9c4-000000000001', username: 'ada', password: 'Ada says "27,500"' };

const dataDir = temporaryDir(t);
async function importUsers(...args: string[]) {
  const { child, ended, output } = spawnNode([IMPORT, ...args], {
    DATA_DIR: dataDir,
    MONGODB_URI: undefined,
  });
  await ended;
  return { status: child.exitCode, output: output() };
}

t.test('before the first start', async (t) => {
  t.match(await importUsers('--from', 'keycloak', KEYCLOAK), {
    status: 1,
    output: /^npm start has not run on /,
  });
});

t.test('accounts of an export, imported while everything runs', async (t) => {
  const { base, demo } = await startGatehouse(t, dataDir);
  const login = (username: string, password: string) =>
    jsonRequest<{ token: string; user_id: string }>('POST', `${base}/api/v1/auth/login`, {
      body: { username, password },
    });
  t.match(await importUsers('--from', 'keycloak', KEYCLOAK), {
    status: 2,
    output: /8 accounts: 5 created, 0 already there, 3 refused\.\n$/,
  });
  // Somebody takes the id of another one as a username.
  const lines = join(dataDir, 'users.ndjson');
  writeFileSync(lines, JSON.stringify({ username: ADA.id, email: 'eve@example.org' }));
  t.match(await importUsers('--from', 'ndjson', lines), { status: 0 });

  const uri = databaseUri(readFileSync(join(dataDir, 'mongodb.uri'), 'utf8').trim(), 'users');
  const database = createDatabase({ uri, name: 'users', logger });
  t.teardown(() => database.stop());
  await database.start();
  const stored = () => database.connection.collection('users').findOne({ _id: ADA.id as never });

  await t.test('they sign in at the API, and the first sign-in ends nothing', async (t) => {
    t.match((await stored())?.password_hash, /^\$pbkdf2-sha256\$i=27500\$/);
    const wrong = await login(ADA.username, 'a wrong password');
    t.same([wrong.status, wrong.body], [401, (await login('nobody', 'a wrong password')).body]);
    const first = await login(ADA.username, ADA.password);
    t.match(first, { status: 200, body: { user_id: ADA.id } });
    t.match(await stored(), {
      password_hash: /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/,
      epoch: 0,
      sign_in_epoch: 0,
      version: 1,
    });
    t.match(await login(ADA.username, ADA.password), { status: 200 });
    const own = await jsonRequest('GET', `${base}/v1/users/${ADA.id}`, { token: first.body.token });
    t.match(own, { status: 200, body: { id: ADA.id, username: 'ada' } });
    t.equal((await login('chandra', 'chandra of sha-512')).status, 401, 'an inactive account');
    t.match(await importUsers('--from', 'keycloak', KEYCLOAK), { output: /Nothing has changed/ });
  });

  await t.test('they sign in on the pages, and admins find them in the dashboard', async (t) => {
    const browser = createFormBrowser(demo.base_url);
    const page = await browser.submit(await browser.get('/account'), {
      username: 'bela@example.org',
      password: "Béla's argon2",
    });
    t.match(page.html, /Béla/);
    const admin = createFormBrowser(demo.base_url);
    await admin.submit(await admin.get('/dashboard'), demo.admin);
    t.match(await admin.get(`/dashboard/users/${ADA.id}`), { status: 200, html: /ada@example\.org/ });
    const found = await admin.get(`/dashboard/users?q=${ADA.id}`);
    t.match(found.html, /ada@example\.org/);
    t.notMatch(found.html, /eve@example\.org/, 'and not who has the id as a username');
    t.match(await admin.get(`/dashboard/notifications?user=${ADA.id}`), { status: 200 });
  });

  await t.test('subscribers get the event of each account', async () => {
    await until(async () => (await stored())?.outbox?.length === 0, 60_000);
  });
});
