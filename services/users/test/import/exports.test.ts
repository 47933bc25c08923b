import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUserId } from '@gatehouse/core/ids';
import t from 'tap';
import { FIXTURES, setUp } from './import-set-up.ts';

/** What is expected of an account that signs in with this password, if it can, and with no other. */
type Expected = {
  id: string;
  username: string;
  password: string | null;
  email?: string | null;
  email_verified?: boolean;
  first_name?: string;
  last_name?: string;
  name?: string;
  status?: string;
  created_at?: Date;
};

const keycloakId = (n: number) => `8f2a6c1e-0b3d-4e57-a9c4-${String(n).padStart(12, '0')}`;

/** For each export, its options, its accounts, and what the report says. */
const EXPORTS: Record<string, { args: string[]; accounts: Expected[]; report: object[] }> = {
  keycloak: {
    args: [join(FIXTURES, 'keycloak.json')],
    accounts: [
      {
        ...{ id: keycloakId(1), username: 'ada', password: 'Ada says "27,500"', email: 'ada@example.org' },
        ...{ email_verified: true, first_name: 'Ada', last_name: 'Lovelace', status: 'active' },
        created_at: new Date(1688000000001),
      },
      { id: keycloakId(2), username: 'bela', password: "Béla's argon2", email: 'bela@example.org' },
      {
        id: keycloakId(3),
        username: 'chandra',
        password: 'chandra of sha-512',
        status: 'inactive',
        email_verified: false,
      },
      { id: keycloakId(4), username: 'dmitri', password: 'dmitri of sha-1' },
      { id: keycloakId(7), username: 'federico', password: null },
    ],
    report: [
      {
        index: 4,
        status: 'refused',
        username: 'service-account-shop',
        reason: /service account of a client/,
      },
      { index: 5, status: 'refused', username: 'erika', reason: /i of pbkdf2-sha256 of 2147483647/ },
      { index: 7, status: 'refused', username: 'Ada', reason: 'This username is already taken.' },
    ],
  },
  auth0: {
    args: [join(FIXTURES, 'auth0.ndjson')],
    accounts: [
      { id: '60425dc43519d90068f82973', username: 'jana', password: 'jana of auth0', email_verified: true },
      {
        ...{ id: '60425dc43519d90068f82974', username: 'karl', password: 'karl of ldap', status: 'inactive' },
        ...{ first_name: 'Karl', last_name: 'Weiß', email: 'karl@example.org', email_verified: false },
        created_at: new Date('2021-03-05T16:34:12.775Z'),
      },
      { id: '60425dc43519d90068f82975', username: 'mei', password: 'mei of scrypt' },
      { id: '60425dc43519d90068f82976', username: 'nils', password: 'nils of argon2' },
      { id: '60425dc43519d90068f82977', username: 'olga', password: 'olga of pbkdf2' },
    ],
    report: [
      { line: 6, status: 'created', source_id: 'google-oauth2|103547991597142817347', id: /^usr_/ },
      {
        line: 7,
        status: 'refused',
        source_id: 'auth0|60425dc43519d90068f82978',
        reason: /algorithm that is not supported/,
      },
    ],
  },
  firebase: {
    args: ['--hash-config', join(FIXTURES, 'firebase-parameters.txt'), join(FIXTURES, 'firebase.json')],
    accounts: [
      {
        ...{ id: 'nOGWKkHV1ETZvqGIMvqo7bHAiVh1', username: 'user1', password: 'user1password' },
        ...{ name: 'User One', email_verified: true, created_at: new Date(1650000000000) },
      },
      { id: '4bX9sQpTz0Zk2mR7uYc1LwVeJ3h8', username: 'gül', password: "gül's firebase", name: 'Gül Şahin' },
      {
        id: 'Qm3vT8rYb6Jk1xNpW5cZ0aHdE2f9',
        username: 'hiro',
        password: 'hiro of firebase',
        status: 'inactive',
      },
    ],
    report: [
      {
        index: 3,
        status: 'refused',
        source_id: /^Zk7/,
        reason: /username or an email or a name is required/,
      },
      { index: 4, status: 'created', source_id: 'custom', id: /^usr_/ },
    ],
  },
};

for (const [from, { args, accounts, report }] of Object.entries(EXPORTS)) {
  t.test(from, async (t) => {
    const { run, stored, users, collection } = await setUp(t);
    const first = await run(['--from', from, ...args]);
    t.equal(first.status, 2, first.log);
    t.match(first.outcomes, report);
    t.equal(first.outcomes.length, report.length);

    const before = await collection.find({}, { sort: { _id: 1 } }).toArray();
    t.ok(before.every(({ _id }) => isUserId(String(_id))));
    const again = await run(['--from', from, ...args]);
    t.match(again.log, /: 0 created, \d+ already there, \d+ refused\. Nothing has changed\.\n$/);
    t.same(await collection.find({}, { sort: { _id: 1 } }).toArray(), before, 'a second run changes nothing');
    const ofRepeat = again.outcomes.map((it) => ({
      ...it,
      status: it.status.replace('unchanged', 'created'),
    }));
    t.same(ofRepeat, first.outcomes, 'and reports the same ids and errors');

    for (const { id, password, ...fields } of accounts) {
      t.match(await stored(id), fields, id);
      t.match((await stored(id))?.outbox, [
        { subject: 'users.user.created', data: { user_id: id, version: 1 } },
      ]);
      t.equal(await users.checkPassword(fields.username, 'wrong password'), undefined);
      if (password === null) continue;
      if (fields.status === 'inactive') await users.changeStatus(id, 'active');
      t.match(await users.checkPassword(fields.username, password), { id }, fields.username);
      t.match((await stored(id))?.password_hash, /^\$argon2id\$v=19\$m=64,t=2,p=1\$/);
      t.match(await users.checkPassword(fields.username, password), { id }, `${fields.username} again`);
    }
    t.match(
      await run(['--from', from, ...args]),
      { log: /Nothing has changed/ },
      'also after they have signed in',
    );
  });
}

t.test('nothing of a hash, a salt or a signer key is written', async (t) => {
  const { run } = await setUp(t);
  for (const [from, { args }] of Object.entries(EXPORTS)) {
    const { output, log } = await run(['--from', from, ...args]);
    const file = args.map((path) => (path.startsWith('/') ? readFileSync(path, 'utf8') : '')).join('');
    const secrets = file.match(/[A-Za-z0-9+/]{20,}={0,2}/g)?.filter((text) => /[+/=]|\$/.test(text)) ?? [];
    t.ok(secrets.length > 0);
    for (const secret of secrets) t.notOk(`${output}${log}`.includes(secret), secret.slice(0, 12));
  }
});
