import { randomBytes } from 'node:crypto';

import { formsOf } from '@gatehouse/testing/form-browser';
import t from 'tap';

import { build, signInAndAllow } from './build.ts';
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
