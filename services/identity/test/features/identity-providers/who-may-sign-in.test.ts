import t from 'tap';
import { build } from '../../build.ts';
import { alertOf, heading, signedIn, valueIn } from '../../pages.ts';
import { leave, type Person, respond, signInBy, startUpstream, verified } from './upstream.ts';

const upstream = await startUpstream(t);

const REFUSED: [string, object, Person, RegExp][] = [
  ['a foreign domain', { domains: ['acme.example'] }, verified('eve'), /cannot use this Acme account/],
  [
    'an address of the domain that is not verified',
    { domains: ['acme.example'] },
    { sub: 'fay', email: 'fay@acme.example', email_verified: false },
    /cannot use this Acme account/,
  ],
  [
    'the domain as a part',
    { domains: ['acme.example'] },
    verified('gus', { email: 'gus@acme.example.evil.example' }),
    /cannot use this Acme account/,
  ],
  ['no new accounts', { sign_up: 'off' }, verified('hal'), /There is no account for your Acme account/],
  [
    'new accounts for a domain only',
    { sign_up: 'domains', domains: ['acme.example'] },
    verified('ivo'),
    /There is no account for your Acme account/,
  ],
];
t.test('who may not come is told why, and gets no account', async (t) => {
  for (const [name, settings, person, message] of REFUSED) {
    const strict = await build(t, { config: { identityProviders: upstream.settings(settings) } });
    upstream.start(strict.base);
    const visitor = strict.browser();
    const page = await signInBy(upstream, visitor, person);
    t.match([page.status, alertOf(page)], [401, message], name);
    const again = new URL(await leave(visitor, page));
    t.equal(again.searchParams.get('prompt'), 'login', 'they can choose another account');
    const welcome = await signInBy(
      upstream,
      strict.browser(),
      verified('ian', { email: 'ian@ACME.example' }),
    );
    t.equal(heading(welcome), name === 'no new accounts' ? 'Sign in' : 'Profile', name);
  }
  const open = await build(t, {
    config: { signUp: 'off', identityProviders: upstream.settings({ sign_up: 'open' }) },
  });
  upstream.start(open.base);
  t.equal(
    heading(await signInBy(upstream, open.browser(), verified('jan'))),
    'Profile',
    'by this provider alone',
  );
});

t.test(
  'where domains are for new accounts alone, others connect it to an account that they have',
  async (t) => {
    const settings = { sign_up: 'domains', domains: ['acme.example'] };
    const partly = await build(t, { config: { identityProviders: upstream.settings(settings) } });
    upstream.start(partly.base);
    const visitor = await signedIn(partly, 'ann');
    upstream.state.person = verified('jo');
    const url = await leave(visitor, await visitor.get('/account/connected-accounts'), '/connect"');
    await visitor.get((await respond(upstream, url)).href);
    const page = await signInBy(upstream, partly.browser(), verified('jo'));
    t.equal(valueIn(page, 'username'), 'ann', page.html);
  },
);
