import t from 'tap';
import { build, PASSWORD, signInAndAllow } from '../../build.ts';
import { alertOf, heading, linkTo } from '../../pages.ts';
import { stranger } from '../../stranger.ts';

const built = await build(t, { checkResponses: true, rateLimit: 'on' });
const { browser, logIn } = built;
const send = stranger(built.base);
const counters = (await built.database()).collection('sign_in_counters');
const ANN = 'ann@example.org';

async function signIn(visitor: ReturnType<typeof browser>, username: string, password: string) {
  return visitor.submit(await visitor.get('/account'), { username, password });
}

/** As if somebody had failed a hundred times in a row. */
async function guessAHundredTimes(username: string, address = '127.0.0.1') {
  await counters.deleteMany({});
  const guess = JSON.stringify({ username, password: 'a guess' });
  const headers = { 'content-type': 'application/json' };
  t.equal((await send(address, 'POST', '/api/v1/auth/login', guess, headers)).status, 401);
  const inAYear = { expires_at: { $gt: new Date(Date.now() + 300 * 86_400_000) } };
  const { modifiedCount } = await counters.updateMany(inAYear, {
    $set: { count: 100, settled: 100 },
  });
  // The row of the name, and that of the account.
  t.equal(modifiedCount, 2);
}

t.test('after 100 failures only known browsers and a mailed link open the account', async (t) => {
  const known = browser();
  await signInAndAllow(known, '/account', 'ann', PASSWORD);
  await known.submit(await known.get('/account'), {}, 'sign-out');

  await guessAHundredTimes('ann');
  const page = await signIn(browser(), 'ann', PASSWORD);
  t.equal(page.status, 429);
  t.match(alertOf(page), /^Too many wrong passwords in a row/);
  t.equal((await logIn('ann', PASSWORD)).status, 429);
  t.equal(
    (await signIn(browser(), ANN, PASSWORD)).status,
    401,
    'closed by its other name, too, which is not said',
  );
  t.equal((await logIn(ANN, PASSWORD)).status, 401);
  t.equal((await signIn(known, ANN, PASSWORD)).url.pathname, '/account', 'a known browser, by any name');

  await guessAHundredTimes('ann');
  const visitor = browser();
  await visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'ann' });
  const chosen = await visitor.submit(await visitor.get(await linkTo(built, ANN)), {
    new_password: 'a new one',
  });
  t.equal(heading(chosen), 'Your new password is saved');
  await guessAHundredTimes('ann');
  t.equal((await signIn(browser(), 'ann', 'a new one')).status, 429, 'guessed at again');
  t.equal(
    (await signIn(visitor, ANN, 'a new one')).url.pathname,
    '/account',
    'the browser of the link is known',
  );
});

t.test('programs at an address that the account was signed in from get in, others learn how', async (t) => {
  await counters.deleteMany({});
  t.equal((await logIn('admin')).status, 200);
  await guessAHundredTimes('admin', '127.0.3.1');
  const program = { 'content-type': 'application/json' };
  const body = JSON.stringify({ username: 'admin', password: PASSWORD });
  const refused = await send('127.0.3.2', 'POST', '/api/v1/auth/login', body, program);
  t.match([refused.status, refused.headers['retry-after']], [429, '3600']);
  for (const way of ['sign-in page', 'passkey', '/account/forgotten-password']) t.match(refused.text, way);
  t.equal((await logIn('admin')).status, 200, 'where it was signed in from');
  const welcome = await send('127.0.3.2', 'POST', '/api/v1/auth/login', body, program);
  t.equal(welcome.status, 200, 'which opens it to all');
  for (let i = 0; i < 5; i += 1) await logIn('admin', 'a guess');
  const soon = await logIn('admin', 'a guess');
  t.match([soon.status, Number(soon.headers.get('retry-after')) > 0], [429, true]);
  t.match(JSON.stringify(soon.body), 'passkey');
});

t.test('neighbours behind a shared address do not hinder a known browser', async (t) => {
  await counters.deleteMany({});
  const known = browser();
  await signInAndAllow(known, '/account', 'admin', PASSWORD);
  await known.submit(await known.get('/account'), {}, 'sign-out');
  let { status } = await logIn('somebody', 'a guess');
  for (let i = 0; i < 70; i += 1) ({ status } = await logIn(`somebody${i % 3}`, 'a guess'));
  t.equal(status, 429);
  t.equal(
    (await signIn(browser(), 'admin', PASSWORD)).status,
    429,
    'a browser that nobody has signed in with',
  );
  for (let i = 0; i < 3; i += 1) {
    t.equal((await signIn(known, 'admin', PASSWORD)).url.pathname, '/account');
    await known.submit(await known.get('/account'), {}, 'sign-out');
  }
});
