import { API_SCOPES, OIDC_SCOPES, ROLES } from '@gatehouse/tokens/scopes';
import { inAppearance, readAppearance } from '@gatehouse/web/appearance';
import { ago, dateAndTime, dateAndTimeText, day, duration, moment } from '@gatehouse/web/formatting';
import { html, render } from '@gatehouse/web/html';
import { createLanguage, inLanguage } from '@gatehouse/web/language';
import { describeProgram, describeUserAgent } from '@gatehouse/web/user-agent';
import t from 'tap';
import { permissionGroups } from '../../src/features/sign-in/consent-page.ts';
import { requestingApplication } from '../../src/pages/requesting-application.ts';
import { describeScopes } from '../../src/pages/scope-descriptions.ts';

const DURATIONS: [seconds: number, words: string][] = [
  [-1, '1 second'],
  [0, '1 second'],
  [1, '1 second'],
  [1.2, '2 seconds'],
  [59, '59 seconds'],
  [60, '1 minute'],
  [90, '1 minute 30 seconds'],
  [1800, '30 minutes'],
  [3600, '1 hour'],
  [3661, '1 hour 2 minutes'],
  [7199, '2 hours'],
  [7200, '2 hours'],
];

t.test('durations are never shorter than they are', async (t) => {
  for (const [seconds, words] of DURATIONS) t.equal(duration(seconds), words, String(seconds));
});

t.test('moments are in UTC and say so', async (t) => {
  const date = new Date('2026-03-05T23:59:59.999Z');
  const tag = '<time datetime="2026-03-05T23:59:59.999Z">';
  t.equal(render(dateAndTime(date)), `${tag}5 March 2026 at 23:59 UTC</time>`);
  t.equal(render(day(date)), `${tag}5 March 2026 UTC</time>`);
});

t.test(
  'times on pages are in the chosen zone, else in that of the browser, and say so; those of mails are in UTC',
  async (t) => {
    const date = new Date('2026-03-05T23:59:59.999Z');
    const shown = () => [dateAndTime(date), day(date), moment(date), ago(date)].map(render).join();
    for (const [cookies, time, name, short] of [
      ['gatehouse_time_zone=Asia/Tokyo', '6 March 2026 at 08:59', 'GMT+9', '6 Mar 2026, 08:59'],
      ['gatehouse_browser_zone=Asia/Calcutta', '6 March 2026 at 05:29', 'GMT+5:30', '6 Mar 2026, 05:29'],
      [
        'gatehouse_browser_zone=Asia/Tokyo; gatehouse_time_zone=UTC',
        '5 March 2026 at 23:59',
        'UTC',
        '5 Mar 2026, 23:59',
      ],
      ['gatehouse_browser_zone=<script>', '5 March 2026 at 23:59', 'UTC', '5 Mar 2026, 23:59'],
    ] as const) {
      inAppearance(readAppearance(cookies), () => {
        for (const text of [`>${time} ${name}<`, `title="${time} ${name}"`, `>${short}<`])
          t.ok(shown().includes(text), text);
        t.match(render(day(date)), `>${time.split(' at ')[0]} ${name}<`);
        t.match(render(moment(date, 'day')), '>5 Mar 2026<', 'analytics have days of UTC');
        t.equal(dateAndTimeText(date), '5 March 2026 at 23:59 UTC');
      });
    }
    const german = createLanguage('de', {});
    const inBerlin = () => inLanguage(german, () => render(dateAndTime(date)));
    t.match(inAppearance({ timeZone: 'Europe/Berlin' }, inBerlin), '>6. März 2026 um 00:59 MEZ<');
  },
);

t.test('a program on the same device is distinguished from a site', async (t) => {
  for (const host of ['127.0.0.1:49152', '[::1]:1', 'localhost']) {
    t.match(render(requestingApplication({ name: 'x', host })), /a program on this device, at/, host);
  }
  for (const host of ['localhost.evil.example', '127.0.0.1.evil.example', 'x.example:127']) {
    t.notMatch(render(requestingApplication({ name: 'x', host })), /this device/, host);
  }
});

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const AGENTS: [userAgent: string | undefined, words: string][] = [
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on Windows'],
  [`Mozilla/5.0 (Windows NT 10.0) ${WEBKIT} Chrome/120.0.0.0 Safari/537.36 Edg/120.0`, 'Edge on Windows'],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Chrome/120.0.0.0 Safari/537.36`,
    'Chrome on Mac',
  ],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/17.0 Safari/605.1.15`, 'Safari on Mac'],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) ${WEBKIT} Version/17.0 Mobile/15E148 Safari/604.1`,
    'Safari on iPhone',
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) ${WEBKIT} CriOS/120.0 Mobile/15E148 Safari/604.1`,
    'Chrome on iPhone',
  ],
  [
    `Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) ${WEBKIT} FxiOS/120.0 Mobile Safari/605.1`,
    'Firefox on iPad',
  ],
  [`Mozilla/5.0 (Linux; Android 14; K) ${WEBKIT} Chrome/120.0.0.0 Mobile Safari/537.36`, 'Chrome on Android'],
  [
    `Mozilla/5.0 (Linux; Android 14) ${WEBKIT} SamsungBrowser/23.0 Chrome/115.0 Mobile Safari/537.36`,
    'Samsung Internet on Android',
  ],
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/120.0.0.0 Safari/537.36 OPR/106.0`, 'Opera on Linux'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/120.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/120.0.0.0 Safari/537.36`, 'Chrome on ChromeOS'],
  ['Something/1.0 (Linux)', 'Unknown browser on Linux'],
  ['curl/8.5.0', 'Unknown device'],
  ['<script>', 'Unknown device'],
  ['', 'Unknown device'],
  [undefined, 'Unknown device'],
];

t.test('browser and system in words', async (t) => {
  for (const [userAgent, words] of AGENTS) t.equal(describeUserAgent(userAgent), words, String(userAgent));
  const started = performance.now();
  describeUserAgent('Version/1.0 '.repeat(100_000));
  t.ok(performance.now() - started < 100, 'a long header costs nothing');
});

const SCOPES = [...OIDC_SCOPES, ...API_SCOPES];

t.test('every scope has words, for every role', async (t) => {
  for (const role of ROLES) {
    for (const scope of SCOPES) {
      const [group, ...others] = describeScopes([scope], role);
      t.strictSame(
        group?.sentences.map(({ scopes }) => scopes),
        [[scope]],
      );
      t.notMatch(group?.title, 'Other permissions');
      t.notMatch(group?.sentences[0]?.sentence, /scope|OAuth|token|:\w/i, `${scope} in plain words`);
      t.equal(others.length, 0);
    }
  }
});

t.test('groups and their order do not depend on the order of the scopes', async (t) => {
  const groups = describeScopes(SCOPES, 'user');
  t.strictSame(describeScopes(SCOPES.toReversed(), 'user'), groups);
  t.strictSame(
    groups.map(({ title }) => title),
    ['Your identity', 'Reading data', 'Changing data'],
  );
});

t.test('for ordinary people the scopes about users concern their own record', async (t) => {
  const sentences = (scope: string, role: 'user' | 'editor' | 'admin') =>
    describeScopes([scope], role)[0]?.sentences[0]?.sentence;
  t.match(sentences('read:users', 'user'), /your own account/);
  t.match(sentences('read:users', 'editor'), /all users/);
  t.match(sentences('write:users', 'user'), /your own account .* delete your account/);
  t.match(sentences('write:users', 'editor'), /your own account/);
  t.match(sentences('write:users', 'admin'), /all users/);
});

t.test('for everybody the scopes about data concern the messages to them', async (t) => {
  for (const role of ROLES) {
    const sentences = (scope: string) => describeScopes([scope], role)[0]?.sentences[0]?.sentence;
    t.match(sentences('read:data'), /messages/, role);
    t.match(sentences('write:data'), /receive your push messages/, role);
  }
});

t.test('scopes for queues and usage figures are described', async (t) => {
  const sentence = (scope: string, role: 'user' | 'editor' | 'admin') =>
    describeScopes([scope], role)[0]?.sentences[0]?.sentence;
  for (const role of ROLES) {
    t.match(sentence('read:data', role), role === 'user' ? /usage figures of your/ : /usage figures/, role);
    t.equal(/queues/.test(sentence('read:all', role) ?? ''), role === 'admin', role);
    t.equal(/pause/.test(sentence('write:data', role) ?? ''), role === 'admin', role);
  }
  t.match(sentence('write:data', 'admin'), /failed/);
});

t.test('equal descriptions are shown once; scopes without one are named', async (t) => {
  const [read] = describeScopes(['read:users', 'read:profile'], 'user');
  t.strictSame(
    read?.sentences.map(({ scopes }) => scopes),
    [['read:profile', 'read:users']],
  );
  const [other] = describeScopes(['toString'], 'user');
  t.equal(other?.title, 'Other permissions');
  t.match(other?.sentences[0]?.sentence, /“toString”/);
});

t.test('new is only what lets the application do more than before', async (t) => {
  const groups = describeScopes(['read:users', 'read:profile'], 'user');
  const told = (newScopes: string[]) => render(html`${permissionGroups(groups, newScopes)}`);
  t.notMatch(told(['read:users']), /New/);
  t.match(told(['read:users', 'read:profile']), /New/);
});

t.test('programs are described by their first product', (t) => {
  for (const [userAgent, words] of [
    ['curl/8.5.0', 'curl/8.5.0'],
    ['my-script', 'my-script'],
    ['python-requests/2.31 (a comment)', 'python-requests/2.31'],
    ['Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0', 'Firefox on Windows'],
    ['(nothing first)', 'Unknown program'],
    ['', 'Unknown program'],
    [undefined, 'Unknown program'],
  ]) {
    t.equal(describeProgram(userAgent), words, String(userAgent));
  }
  t.end();
});
