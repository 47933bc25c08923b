import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServiceAccountIssuer } from '@gatehouse/testing/service-account-issuer';
import t from 'tap';
import { build, PASSWORD } from './build.ts';

const cluster = await createServiceAccountIssuer();
const file = join(t.testdir(), 'token');
const built = await build(t, {
  ...{ cluster, clientSecret: undefined, clientAssertionFile: file },
});

async function signIn() {
  const browser = built.browser();
  return browser.submit(await browser.get('/dashboard'), { username: 'ann', password: PASSWORD });
}

t.test('people sign in with a dashboard that has a token in place of a secret', async (t) => {
  t.match(await signIn(), { status: 503 }, 'without the file');
  writeFileSync(file, await cluster.sign('dashboard', built.base, { age: 3720 }));
  t.notMatch(await signIn(), { status: 200 }, 'with an expired token');
  writeFileSync(file, await cluster.sign('dashboard', built.base));
  t.match(await signIn(), { status: 200, html: /Applications/ }, 'with the next one');
});
