import { readSettings } from '@gatehouse/core/config';
import t from 'tap';
import { passkeySettings } from '../../../src/features/passkeys/settings.ts';
import { build } from '../../build.ts';
import { alertOf, heading, signedIn } from '../../pages.ts';
import { createAuthenticator } from './authenticator.ts';

const RELATED = 'https://shop.example.co.uk';

t.test(
  'related origins are published where they are set (WebAuthn Level 3 §5.11), and sign nobody in here',
  async (t) => {
    const built = await build(t, { host: 'localhost', config: { relatedOrigins: [RELATED] } });
    const response = await fetch(`${built.base}/.well-known/webauthn`);
    t.match(response.headers.get('content-type'), /^application\/json/);
    t.strictSame([response.status, await response.json()], [200, { origins: [RELATED] }]);

    const authenticator = createAuthenticator(built.base);
    const visitor = await signedIn(built, 'ann');
    const add = await visitor.get('/account/passkeys/add');
    await visitor.submit(add, { name: 'Phone', passkey: authenticator.create(add) }, 'name="passkey"');
    for (const [origin, end] of [
      [RELATED, 'Sign in'],
      [built.base, 'Profile'],
    ] as const) {
      const other = built.browser();
      const page = await other.get('/account');
      const next = await other.submit(
        page,
        { passkey: authenticator.get(page, { origin }) },
        'name="passkey"',
      );
      t.equal(heading(next), end, origin);
      if (origin === RELATED) t.match(alertOf(next), /This passkey did not work/);
    }

    const without = await build(t, { host: 'localhost' });
    t.equal((await fetch(`${without.base}/.well-known/webauthn`)).status, 404);
  },
);

t.test('the setting takes origins only', (t) => {
  const read = (value: string) =>
    readSettings(passkeySettings, { IDENTITY_RELATED_ORIGINS: value }).relatedOrigins;
  t.strictSame(read(''), []);
  t.strictSame(read(`${RELATED}/, https://shop.example.com`), [RELATED, 'https://shop.example.com']);
  for (const wrong of ['shop.example.com', `${RELATED}/path`, `${RELATED},*`]) t.throws(() => read(wrong));
  t.end();
});
