import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import t from 'tap';
import { banner } from '../src/banner.ts';
import { readLocalSettings } from '../src/settings.ts';
import { settingsDocuments } from '../src/settings-documents.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

const CASES: [env: Record<string, string>, message: RegExp][] = [
  [{ PORT: 'abc' }, /^The setting PORT must be a whole number from 1 to 65535\.$/],
  [{ PUBLIC_URL: 'https://a.example/b' }, /^The setting PUBLIC_URL must be an origin/],
  [
    { USERS_V1_PROFILE: 'B1', USERS_V2_PROFILE: 'A', LEGACY_FILTERS_SUNSET: '2026-07-09' },
    /^The setting USERS_V1_PROFILE .* A, E, G\.\nThe setting USERS_V2_PROFILE .* B1, B2\.\n.*2026-07-10\.$/,
  ],
  [
    { IDENTITY_SMTP_URL: 'smtp://localhost', NOTIFICATIONS_SMS_FROM: '+15005550006' },
    /^IDENTITY_SMTP_URL and IDENTITY_MAIL_FROM .*\nNOTIFICATIONS_SMS_URL and NOTIFICATIONS_SMS_FROM must be set together\.$/,
  ],
];

t.test('wrong settings are named in a sentence each', async (t) => {
  for (const [env, message] of CASES)
    t.throws(() => readLocalSettings(env), { name: 'SettingsError', message }, Object.keys(env).join());
});

t.test('messages are sent with what is set, and kept otherwise, as the banner says', (t) => {
  const account = { IDENTITY_SMTP_URL: 'smtp://localhost:25', IDENTITY_MAIL_FROM: 'a@example.org' };
  const messages = {
    NOTIFICATIONS_SMTP_URL: 'smtp://localhost:26',
    NOTIFICATIONS_MAIL_FROM: 'n@example.org',
    NOTIFICATIONS_SMS_URL: 'http://localhost:27/Messages.json',
    NOTIFICATIONS_SMS_FROM: '+15005550006',
  };
  const push = {
    NOTIFICATIONS_VAPID_PRIVATE_KEY: 'a'.repeat(43),
    NOTIFICATIONS_VAPID_SUBJECT: 'mailto:a@example.org',
  };
  const shown = (env: Record<string, string>) => {
    const text = banner({ ...readLocalSettings({ ...env, DATA_DIR: '/data' }), database: 'x' });
    return text.slice(text.indexOf('/data/outbox:'), text.indexOf('Database')).replace(/\s+/g, ' ').trim();
  };
  t.same(readLocalSettings(account).accountMail, { smtpUrl: 'smtp://localhost:25', from: 'a@example.org' });
  t.same(readLocalSettings(messages).providers, {
    email: { smtpUrl: 'smtp://localhost:26', from: 'n@example.org' },
    sms: { url: 'http://localhost:27/Messages.json', from: '+15005550006' },
  });
  t.equal(
    shown({}),
    '/data/outbox: mails about accounts, mails of notifications, SMS and pushes are kept there instead of being sent; ' +
      'the links of mails about accounts are printed here, too',
  );
  t.equal(
    shown(messages),
    '/data/outbox: mails about accounts and pushes are kept there instead of being sent; ' +
      'mails of notifications and SMS are sent; the links of mails about accounts are printed here, too',
  );
  const all = banner({ ...readLocalSettings({ ...account, ...messages, ...push }), database: 'x' });
  t.match(all, /mails about accounts, mails of notifications, SMS and pushes are sent\n/);
  t.notMatch(all, /outbox/);
  t.end();
});

t.test('documents tell of the settings that there are; if not: npm run settings', async (t) => {
  for (const [path, text] of Object.entries(await settingsDocuments())) {
    t.equal(await readFile(join(ROOT, path), 'utf8').catch(() => ''), text, path);
  }
});
