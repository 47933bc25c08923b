import { randomBytes } from 'node:crypto';

import { formsOf } from '@gatehouse/testing/form-browser';
import { decodeJwt } from 'jose';
import t from 'tap';

import { build, MACHINE, signInAndAllow } from './build.ts';
import { openDatabase } from './oidc/actions.ts';
import { send } from './sign-in/pages.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const built = await build(t, { masterKey: oldKey });

t.test('the master key is replaced: browsers stay signed in, and forms on their pages work', async (t) => {
  const person = built.browser();
  const page = await signInAndAllow(person, '/account');
  const form = formsOf(page.html).find(({ fields }) => 'username' in fields);
  const replicas = {
    'accepts the new one': await built.replica({ masterKeys: [oldKey, newKey] }),
    'uses the new one': await built.replica({ masterKeys: [newKey, oldKey] }),
  };
  for (const [label, base] of Object.entries(replicas)) {
    const at = { ...built, base };
    const account = await send(at, 'GET', '/account', { browser: person });
    t.equal(account.status, 200, label);
    const fields = { ...form?.fields, name: label };
    const saved = await send(at, 'POST', form?.action ?? '', { browser: person, fields });
    t.equal(saved.status, 303, label);
  }
  await t.rejects(built.replica({ masterKeys: [newKey] }), /sealed under another master key/);
});

t.test(
  'a revocation lives until what it ends has expired, also after the lifetime was lowered',
  async (t) => {
    const lower = { ...built.config.lifetimes, accessToken: 60 };
    const base = await built.replica({ masterKeys: [oldKey], lifetimes: lower });
    const { body } = await built.json({ grant_type: 'client_credentials', ...MACHINE });
    const token = String(body.access_token);
    const { jti, exp = 0 } = decodeJwt(token);
    const revoked = await fetch(`${base}/oauth2/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token, ...MACHINE }),
    });
    t.equal(revoked.status, 200);
    const database = await openDatabase(t, built.config.mongodbUri);
    const entry = await database.collection('revocations').findOne({ ref: jti });
    t.ok(entry?.expires_at.getTime() >= exp * 1000, `${entry?.expires_at.toISOString()}`);
  },
);
