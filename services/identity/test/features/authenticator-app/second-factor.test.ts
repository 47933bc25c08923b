import { MULTI_FACTOR, SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, PASSWORD, signInAndAllow, WEB } from '../../build.ts';
import { alertOf, heading, isSignIn, linkTo, newPerson } from '../../pages.ts';
import {
  codeOf,
  enterCode,
  enterPassword,
  enterRecoveryCode,
  forgetCodes,
  setUpApp,
  withApp,
  wrongCode,
} from './app.ts';

const built = await build(t);
type Person = Awaited<ReturnType<typeof withApp>>;
type Visitor = Person['visitor'];

/** Whether somebody is signed in to the account pages in the browser. */
const isSignedIn = async (visitor: Visitor) => !isSignIn(await visitor.get('/account/security'));

/** How the ID token says that somebody signed in, which the browser gets without being asked for anything. */
async function signInOf(visitor: Visitor) {
  const page = await signInAndAllow(visitor, authorizeUrl());
  const { body } = await built.form({
    ...{ grant_type: 'authorization_code', code: String(page.url.searchParams.get('code')) },
    ...{ redirect_uri: WEB.redirect_uri, client_id: WEB.client_id, client_secret: WEB.client_secret },
  });
  const { acr, amr } = decodeJwt(String(body.id_token));
  return [acr, amr];
}

t.test('a password and a code sign in, and the ID token says so', async (t) => {
  const person = await withApp(built, 'both');
  const visitor = built.browser();
  const page = await enterPassword(visitor, 'both');
  t.equal(heading(page), 'Enter a code');
  t.match(page.headers.get('cache-control'), 'no-store');
  t.equal(heading(await enterCode(visitor, page, codeOf(person.secret))), 'Profile');
  t.strictSame(await signInOf(visitor), [MULTI_FACTOR, ['pwd', 'otp', 'mfa']]);
  const other = built.browser();
  const again = await enterPassword(other, 'both');
  t.equal(heading(await enterRecoveryCode(other, again, (person.codes[0] ?? '').toLowerCase())), 'Profile');
  t.strictSame(await signInOf(other), [MULTI_FACTOR, ['pwd', 'mfa']]);
});

/**
 * Ways past the second factor: each begins on its page, in the attacker's browser, which knows the password. It is given a code
 * that would be right, where one is needed to show that something else is refused.
 */
const ATTACKS: Record<string, (it: { person: Person; visitor: Visitor; path: string }) => Promise<unknown>> =
  {
    'the end of the sign-in, by its URL': ({ visitor, path }) =>
      visitor.get(path.replace(/^\/sign-in\/([^/]+).*/, '/oauth2/authorize/$1')),
    'the consent page, by its URL': ({ visitor, path }) =>
      visitor.get(path.replace(/^\/sign-in\/([^/]+).*/, '/consent/$1')),
    'another tab': ({ visitor }) => visitor.get('/account/security'),
    'a second sign-in in the same browser': async ({ person, visitor, path }) => {
      const first = await visitor.get(path);
      const second = (await visitor.get('/account')).url.pathname;
      const html = first.html.replaceAll(path, `${second}/second-factor`);
      return enterCode(visitor, { ...first, html }, codeOf(person.secret));
    },
    'the page for the code of a second sign-in': async ({ visitor }) => {
      const page = await visitor.get(`${(await visitor.get('/account')).url.pathname}/second-factor`);
      if (heading(page) !== 'Sign in') throw new Error(`it shows ${heading(page)}`);
    },
    'a request that must not ask anything': ({ visitor }) => visitor.get(authorizeUrl({ prompt: 'none' })),
    'the form of the sign-in page without a password': async ({ person, visitor, path }) =>
      visitor.submit(await visitor.get(path.replace('/second-factor', '')), {
        ...{ username: person.username, password: '', authenticator_app: codeOf(person.secret) },
      }),
    'the form of creating an account': async ({ person, visitor, path }) =>
      visitor.submit(await visitor.get(path.replace('second-factor', 'create-account')), {
        ...{ username: person.username, email: `${person.username}@example.org`, password: PASSWORD },
      }),
    'a code that was used': async ({ person, visitor, path }) => {
      const code = codeOf(person.secret);
      const owner = built.browser();
      await enterCode(owner, await enterPassword(owner, person.username), code);
      if (!(await isSignedIn(owner))) throw new Error('the owner cannot sign in');
      return enterCode(visitor, await visitor.get(path), code);
    },
    'the code of the step before a code that was used': async ({ person, visitor, path }) => {
      const owner = built.browser();
      await enterCode(owner, await enterPassword(owner, person.username), codeOf(person.secret, 1));
      return enterCode(visitor, await visitor.get(path), codeOf(person.secret));
    },
    'codes of other times': async ({ person, visitor, path }) => {
      for (const steps of [-3, 3]) {
        await enterCode(visitor, await visitor.get(path), codeOf(person.secret, steps));
      }
    },
    'a code of another account': async ({ visitor, path }) => {
      const other = await withApp(built, `other${Date.now()}`);
      await enterCode(visitor, await visitor.get(path), codeOf(other.secret));
      return enterRecoveryCode(visitor, await visitor.get(path), other.codes[0] ?? '');
    },
    'a recovery code that was used': async ({ person, visitor, path }) => {
      const owner = built.browser();
      const code = person.codes[0] ?? '';
      await enterRecoveryCode(owner, await enterPassword(owner, person.username), code);
      if (!(await isSignedIn(owner))) throw new Error('the owner cannot sign in');
      return enterRecoveryCode(visitor, await visitor.get(path), code);
    },
    'values that are no codes': async ({ visitor, path }) => {
      for (const code of ['', ' ', '------', '000000000000', '१२३४५६', '{"$gt":""}', 'A'.repeat(300)]) {
        await enterCode(visitor, await visitor.get(path), code);
      }
    },
    'a first factor of eleven minutes ago': async ({ person, visitor, path }) => {
      const page = await visitor.get(path);
      const { db } = await built.database();
      const interactions = db?.collection<{ _id: string; payload: string }>('oidc_interactions');
      const _id = path.split('/')[2] ?? '';
      const { payload = '' } = (await interactions?.findOne({ _id })) ?? {};
      const stored = JSON.parse(payload) as { firstFactor: { until: number } };
      stored.firstFactor.until = Date.now() - 60_000;
      await interactions?.updateOne({ _id }, { $set: { payload: JSON.stringify(stored) } });
      return enterCode(visitor, page, codeOf(person.secret));
    },
    'a first factor from before the end of all sessions': async ({ person, visitor, path }) => {
      const page = await visitor.get(path);
      const admin = await built.login('admin');
      await built.call('DELETE', `/api/v1/sessions?user_id=${person.id}`, admin);
      return enterCode(visitor, page, codeOf(person.secret));
    },
    'a password that has been changed since': async ({ person, visitor, path }) => {
      const page = await visitor.get(path);
      const form = await person.visitor.get('/account/password');
      const passwords = { current_password: PASSWORD, new_password: 'another horse battery' };
      await person.visitor.submit(form, passwords, 'current_password');
      return enterCode(visitor, page, codeOf(person.secret));
    },
    'another account in between, whose password is known as well': async ({ person, visitor, path }) => {
      const page = await visitor.get(path);
      await built.createPerson(`second_${person.username}`);
      const other = await withApp(built, `third_${person.username}`);
      await visitor.submit(await visitor.get(path.replace('/second-factor', '')), {
        ...{ username: other.username, password: PASSWORD },
      });
      return enterCode(visitor, page, codeOf(person.secret));
    },
  };

t.test('nothing gets past the second factor', async (t) => {
  for (const [i, [name, attack]] of Object.entries(ATTACKS).entries()) {
    const person = await withApp(built, `victim${i}`);
    const visitor = built.browser();
    const page = await enterPassword(visitor, person.username);
    t.equal(heading(page), 'Enter a code', name);
    await attack({ person, visitor, path: page.url.pathname });
    t.notOk(await isSignedIn(visitor), name);
  }
});

t.test(
  'the steps belong to one browser: cookies of a sign-in that are planted elsewhere end it',
  async (t) => {
    const person = await withApp(built, 'planted');
    const visitor = built.browser();
    const page = await enterPassword(visitor, 'planted');
    const victim = built.browser();
    await victim.get('/account');
    // A sibling of our domain can plant all cookies but those that have the prefix __Host- over HTTPS.
    const planted = [...visitor.cookies(page.url.pathname)].filter(([name]) => name !== 'gatehouse_browser');
    const own = ['gatehouse_browser', victim.cookies('/').get('gatehouse_browser')];
    const cookie = [...planted, own].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(page.url, { headers: { cookie, accept: 'text/html' } });
    const html = await response.text();
    t.equal(response.status, 400);
    t.match(alertOf({ ...page, html }), /Please sign in again/);
    t.notMatch(html, 'planted');
    t.equal(
      heading(await enterCode(visitor, page, codeOf(person.secret))),
      'Profile',
      'it goes on where it began',
    );
  },
);

t.test('a new password by mail leaves the second factor, and does not sign in', async (t) => {
  const owner = await newPerson(built, 'forgetful');
  const confirm = await owner.get(await linkTo(built, 'forgetful@example.org'));
  await owner.submit(confirm, {}, 'name="token"');
  const id = String((await built.logIn('forgetful')).body.user_id);
  const { secret } = await setUpApp(owner);
  const visitor = built.browser();
  await visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'forgetful' });
  const form = await visitor.get(await linkTo(built, 'forgetful@example.org'));
  const done = await visitor.submit(form, { new_password: 'another horse battery' });
  t.equal(heading(done), 'Your new password is saved');
  t.notOk(await isSignedIn(visitor));
  const page = await enterPassword(visitor, 'forgetful', '/account', 'another horse battery');
  t.equal(heading(page), 'Enter a code');
  await forgetCodes(built, id);
  t.equal(heading(await enterCode(visitor, page, codeOf(secret))), 'Profile');
});

t.test('of several uses of a code at once, one signs in', async (t) => {
  const person = await withApp(built, 'race');
  for (const [enter, code] of [
    [enterCode, codeOf(person.secret)],
    [enterRecoveryCode, person.codes[3] ?? ''],
  ] as const) {
    const asked = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const visitor = built.browser();
        return { visitor, page: await enterPassword(visitor, 'race') };
      }),
    );
    const pages = await Promise.all(asked.map(({ visitor, page }) => enter(visitor, page, code)));
    t.equal(pages.filter((page) => heading(page) === 'Profile').length, 1);
  }
});

t.test('whoever has to sign in again proves both', async (t) => {
  const person = await withApp(built, 'again');
  const visitor = built.browser();
  const page = await enterPassword(visitor, 'again');
  await enterCode(visitor, page, codeOf(person.secret), { remember_browser: 'yes' });
  await forgetCodes(built, person.id);
  const requests: Record<string, string>[] = [
    ...[{ prompt: 'login' }, { max_age: '0' }, { prompt: 'login', another_account: 'yes' }],
    ...[{ prompt: 'login select_account' }, { prompt: 'select_account', max_age: '60' }],
  ];
  for (const more of requests) {
    const asked = await enterPassword(visitor, 'again', authorizeUrl(more));
    t.equal(heading(asked), 'Enter a code', JSON.stringify(more));
    const wrong = await enterCode(visitor, asked, wrongCode(person.secret));
    t.equal(wrong.status, 401);
    t.match(alertOf(wrong), /That code is not right/);
  }
});

t.test('a remembered browser is not asked, until something ends that', async (t) => {
  const ENDS: Record<string, (person: Person, visitor: Visitor) => Promise<unknown>> = {
    'the page': async (_person, visitor) =>
      visitor.submit(await visitor.get('/account/security'), {}, '/forget'),
    'the end of all sessions': async ({ id }) =>
      built.call('DELETE', `/api/v1/sessions?user_id=${id}`, await built.login('admin')),
    'a new password': async (_person, visitor) =>
      visitor.submit(
        await visitor.get('/account/password'),
        { current_password: PASSWORD, new_password: PASSWORD },
        'current_password',
      ),
    'thirty days': async ({ id }) =>
      (await built.database())
        .collection('remembered_browsers')
        .updateOne({ user_id: id }, { $set: { expires_at: new Date() } }),
    'another app': async ({ id, visitor: owner }) => {
      const list = await built.call('GET', `/api/v1/factors?user_id=${id}`, await built.login('admin'));
      const [{ id: app } = { id: '' }] = list.body.data as { id: string }[];
      await built.call('DELETE', `/api/v1/factors/${app}?user_id=${id}`, await built.login('admin'));
      await setUpApp(owner);
    },
  };
  for (const [i, [name, end]] of Object.entries(ENDS).entries()) {
    const person = await withApp(built, `remember${i}`);
    const visitor = built.browser();
    const page = await enterPassword(visitor, person.username);
    await enterCode(visitor, page, codeOf(person.secret), { remember_browser: 'yes' });
    const signOut = async () => visitor.submit(await visitor.get('/account'), {}, 'sign-out');
    await signOut();
    t.equal(heading(await enterPassword(visitor, person.username)), 'Profile', name);
    t.strictSame(await signInOf(visitor), [SINGLE_FACTOR, ['pwd']], name);
    // Such a sign-in is not enough for what gives lasting access.
    t.ok(isSignIn(await visitor.get('/account/authenticator-app/remove')), name);
    t.equal(heading(await enterPassword(built.browser(), person.username)), 'Enter a code', name);
    const browsers = (await built.database()).collection('remembered_browsers');
    const remembered = await browsers.find({ user_id: person.id }).toArray();
    await end(person, visitor);
    // As if it had been remembered while the app was replaced.
    if (name === 'another app') await browsers.insertMany(remembered);
    await signOut().catch(() => {});
    t.equal(heading(await enterPassword(visitor, person.username)), 'Enter a code', name);
  }
});
