import t, { type Test } from 'tap';
import { build } from '../../build.ts';
import { type JsonResponse, stranger } from '../../stranger.ts';

const built = await build(t);
const counters = (await built.database()).collection('sign_in_counters');
const send = stranger(built.base);

/** Of the same length, so that what is answered differs in the name only. */
const KNOWN = 'ann';
const UNKNOWN = 'zoe';
/** Each finds the account, and so is counted as its name. */
const SPELLINGS: [string, (name: string) => string][] = [
  ['as it is', (name) => name],
  ['spaces around it', (name) => ` ${name}\t`],
  ['capitals', (name) => name.toUpperCase()],
  [
    'full width',
    (name) => name.replace(/[a-z]/g, (it) => String.fromCodePoint((it.codePointAt(0) ?? 0) + 0xfee0)),
  ],
  ['zero width characters after it', (name) => `${name}\u200b\u200d\u2060`],
  ['a soft hyphen within', (name) => `${name[0]}\u00ad${name.slice(1)}`],
  ['spaces inside zero width characters', (name) => `\u200b \u200b${name}\u00a0\u200b`],
  ['a variation selector', (name) => `${name}\ufe0f`],
];

type Way = (address: string, login: string, password: string) => Promise<JsonResponse>;
type Ways = Record<string, Way>;
const WAYS: Ways = {
  'the API': (address, username, password) =>
    send(address, 'POST', '/api/v1/auth/login', JSON.stringify({ username, password }), {
      'content-type': 'application/json',
    }),
  async 'the page'(address, username, password) {
    const cookies = new Map<string, string>();
    const keep = (response: JsonResponse) => {
      for (const it of response.cookies) {
        const [pair = ''] = it.split(';');
        cookies.set(pair.split('=')[0] ?? '', pair);
      }
      return { cookie: [...cookies.values()].join('; ') };
    };
    const asked = await send(address, 'GET', '/account');
    const begun = await send(address, 'GET', String(asked.headers.location), '', keep(asked));
    const path = new URL(String(begun.headers.location), built.base).pathname;
    const page = await send(address, 'GET', path, '', keep(begun));
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const body = new URLSearchParams({ csrf, username, password }).toString();
    const headers = { ...keep(page), 'content-type': 'application/x-www-form-urlencoded' };
    const response = await send(address, 'POST', path, body, headers);
    const text = response.text.replaceAll(csrf, 'CSRF').replaceAll(path, 'PATH');
    return { ...response, text };
  },
};

/** A response without what differs between any two: times, ids, and the name that was typed. */
function comparable({ status, text, headers }: JsonResponse, login: string) {
  const { date: _, 'x-request-id': __, 'retry-after': retryAfter, ...others } = headers;
  const seconds = (given: string) => given.replaceAll(/\b\d+ (?:s|seconds?|minutes?)\b/g, 'SOME TIME');
  const named = [login, login.trim()].reduce((it, name) => it.replaceAll(name, 'NAME'), text);
  return { status, text: seconds(named), headers: others, refused: retryAfter !== undefined };
}

for (const [where, attempt] of Object.entries(WAYS)) {
  for (const isUsed of [false, true]) {
    const from = isUsed ? ' from an address that the account was signed in from' : '';
    t.test(`nothing tells a known login from an unknown one at ${where}${from}`, (t) =>
      compare(t, attempt, isUsed),
    );
  }
}

async function compare(t: Test, attempt: Way, isUsed: boolean): Promise<void> {
  const sequences = [];
  for (const [i, name] of [KNOWN, UNKNOWN].entries()) {
    const address = `127.0.${isUsed ? 2 : 1}.${i + 1}`;
    if (isUsed) await attempt(address, KNOWN, 'correct horse battery');
    await counters.deleteMany({});
    const responses: [string, object][] = [];
    const fail = async (spelling: string, login: string) => {
      responses.push([spelling, comparable(await attempt(address, login, 'a guess'), login)]);
    };
    for (let j = 0; j < 5; j += 1) await fail('first', name);
    // As if there had been so many that the next has to wait for minutes, however slow this machine is.
    await counters.updateMany({ count: 5 }, { $set: { count: 14, settled: 14 } });
    for (const [spelling, write] of SPELLINGS) await fail(spelling, write(name));
    await fail('another name', `${name}@example.org`);
    await counters.updateMany(
      { expires_at: { $gt: new Date(Date.now() + 300 * 86_400_000) } },
      { $set: { count: 100, settled: 100 } },
    );
    await counters.deleteMany({ count: 14 });
    await fail('a full row', name);
    sequences.push(responses);
  }
  t.same(sequences[0], sequences[1]);
  const statuses = sequences[0]?.map(([, it]) => (it as { status: number }).status);
  t.same(statuses, [...Array(5).fill(401), ...SPELLINGS.map(() => 429), 401, 429]);
}

t.test('each spelling signs in', async (t) => {
  await counters.deleteMany({});
  for (const [spelling, write] of SPELLINGS) {
    for (const name of [KNOWN, `${KNOWN}@example.org`]) {
      const { status } = (await WAYS['the API']?.('127.0.1.3', write(name), 'correct horse battery')) ?? {};
      t.equal(status, 200, `${spelling} ${name}`);
    }
  }
});
