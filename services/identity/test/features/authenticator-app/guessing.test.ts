import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { alertOf, heading, linkTo, mailsOf, newPerson } from '../../pages.ts';
import { codeOf, enterCode, enterPassword, forgetCodes, setUpApp, withApp, wrongCode } from './app.ts';

const built = await build(t, { checkResponses: true });
const replica = await built.replica();

/** A login at the API, at one of the replicas. */
async function logIn(at: string, username: string, more: Record<string, string>) {
  const response = await fetch(`${at}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD, ...more }),
  });
  return response.status;
}

const countOf = (statuses: number[]) =>
  Object.fromEntries(
    [...new Set(statuses)].sort().map((it) => [it, statuses.filter((s) => s === it).length]),
  );

t.test(
  'at most ten codes are checked in 15 minutes, whatever asks which replica at the same time',
  async (t) => {
    const owner = await newPerson(built, 'guessed');
    await owner.submit(await owner.get(await linkTo(built, 'guessed@example.org')), {}, 'name="token"');
    const id = String((await built.logIn('guessed')).body.user_id);
    const { secret, codes } = await setUpApp(owner);
    await forgetCodes(built, id);
    const home = built.browser();
    await enterCode(home, await enterPassword(home, 'guessed'), codeOf(secret));
    const stranger = built.browser();
    const page = await enterPassword(stranger, 'guessed');
    const guesses = Array.from({ length: 28 }, (_, i) => {
      const code = i % 3 === 0 ? `AAAA-BBBB-CCCC-DDD${'ABCDEFGHIJ'[i % 10]}` : wrongCode(secret, i % 5);
      return i % 4 === 0
        ? enterCode(stranger, page, code).then(({ status }) => status)
        : logIn(i % 2 === 0 ? built.base : replica, 'guessed', { code });
    });
    t.strictSame(countOf(await Promise.all(guesses)), { 401: 10, 429: 18 });
    await forgetCodes(built, id);
    t.equal(await logIn(replica, 'guessed', { code: codeOf(secret) }), 429, 'not even the right one');
    t.equal(await logIn(replica, 'guessed', { code: codes[0] ?? '' }), 429, 'nor a recovery code');
    const refused = await enterCode(stranger, page, codeOf(secret));
    t.equal(refused.status, 429);
    t.match(alertOf(refused), /Too many codes Please wait (?:14|15) minutes/);
    await until(
      async () => (await mailsOf(built)).some((mail) => /Somebody has your password/.test(mail)),
      2000,
    );

    const entries = async () => {
      const log = (await built.database()).collection('audit_log');
      return (await log.find({ subject: id, 'details.second_factor': /wrong|locked/ }).toArray()).map(
        ({ action, details }) => `${action} ${details.second_factor}`,
      );
    };
    await until(async () => (await entries()).length === 10, 5000);
    t.equal(
      (await entries()).filter((it) => it === 'sign_in.failed locked').length,
      1,
      'the log says once that the limit is reached',
    );

    await home.submit(await home.get('/account'), {}, 'sign-out');
    const back = await enterCode(home, await enterPassword(home, 'guessed'), codeOf(secret));
    t.equal(heading(back), 'Profile', 'and can sign in in a browser that has been signed in to with a code');

    const counters = (await built.database()).collection('sign_in_counters');
    await counters.updateMany({}, { $set: { expires_at: new Date() } });
    await forgetCodes(built, id);
    t.equal(await logIn(replica, 'guessed', { code: codeOf(secret) }), 200, 'later, the right one works');
  },
);

t.test(
  'after a hundred wrong codes in a row only known browsers are left, until there is a new password',
  async (t) => {
    const person = await withApp(built, 'besieged');
    const home = built.browser();
    await enterCode(home, await enterPassword(home, 'besieged'), codeOf(person.secret));
    const counters = (await built.database()).collection('sign_in_counters');
    const before = new Set((await counters.find().toArray()).map(({ _id }) => String(_id)));
    t.equal(await logIn(built.base, 'besieged', { code: wrongCode(person.secret) }), 401);
    // The two that are new count codes: of the last minutes, and in a row for a year.
    const year = new Date(Date.now() + 300 * 86_400_000);
    for (const { _id, expires_at } of await counters.find().toArray()) {
      if (!before.has(String(_id)) && expires_at > year)
        await counters.updateOne({ _id }, { $set: { count: 100 } });
    }
    await forgetCodes(built, person.id);
    t.equal(await logIn(built.base, 'besieged', { code: codeOf(person.secret) }), 429);
    const stranger = built.browser();
    const page = await enterCode(stranger, await enterPassword(stranger, 'besieged'), codeOf(person.secret));
    t.match(alertOf(page), /Too many wrong codes in a row/);
    await home.submit(await home.get('/account'), {}, 'sign-out');
    const back = await enterCode(home, await enterPassword(home, 'besieged'), codeOf(person.secret));
    t.equal(alertOf(back), undefined);
    t.equal(heading(back), 'Profile');
    const passwords = { current_password: PASSWORD, new_password: 'another horse battery' };
    await home.submit(await home.get('/account/password'), passwords, 'current_password');
    await forgetCodes(built, person.id);
    const code = { code: codeOf(person.secret), password: 'another horse battery' };
    t.equal(await logIn(built.base, 'besieged', code), 200);
  },
);
