import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readSettings, text } from '@gatehouse/core/config';
import { createLogger } from '@gatehouse/core/logger';
import type { KeyList } from '@gatehouse/core/sealing';
import t from 'tap';
import { banner } from '../src/banner.ts';
import { prepareDemo } from '../src/demo.ts';
import { readDeployedServices } from '../src/deployment/services.ts';
import { prepareServices } from '../src/services.ts';
import { readLocalSettings } from '../src/settings.ts';
import { generatedDocuments } from '../src/settings-documents.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

const CASES: [env: Record<string, string>, message: RegExp][] = [
  [{ PORT: 'abc' }, /^The setting PORT must be a whole number from 1 to 65535\.$/],
  [{ PUBLIC_URL: 'https://a.example/b' }, /^The setting PUBLIC_URL must be an origin/],
];
const SERVICE_CASES: typeof CASES = [
  [
    { USERS_V1_PROFILE: 'B1', USERS_V2_PROFILE: 'A', LEGACY_FILTERS_SUNSET: '2026-07-09' },
    /^.*2026-07-10\.\nThe setting USERS_V1_PROFILE .* A, E, G\.\nThe setting USERS_V2_PROFILE .* B1, B2\.$/,
  ],
  [
    { IDENTITY_SMTP_URL: 'smtp://localhost', NOTIFICATIONS_SMS_FROM: '+15005550006' },
    /^IDENTITY_SMTP_URL and IDENTITY_MAIL_FROM .*\nNOTIFICATIONS_SMS_URL and NOTIFICATIONS_SMS_FROM must be set together\.$/,
  ],
];

/** The services of npm start with these settings, as far as they are made without a database. */
async function prepare(env: Record<string, string>) {
  const settings = { ...readLocalSettings({}), dataDir: '/data' };
  const { demo } = await prepareDemo(t.testdir(), settings.publicUrl);
  const logger = createLogger({ name: 'test', level: 'silent', readable: false });
  const masterKeys: KeyList = [Buffer.alloc(32)];
  return prepareServices({ settings, env, ownUrl: settings.publicUrl, masterKeys, demo, logger });
}

t.test('wrong settings are named in a sentence each', async (t) => {
  for (const [env, message] of CASES)
    t.throws(() => readLocalSettings(env), { name: 'SettingsError', message }, Object.keys(env).join());
  for (const [env, message] of SERVICE_CASES)
    await t.rejects(prepare(env), { name: 'SettingsError', message }, Object.keys(env).join());
});

t.test('every secret of a service can be in a file, and nothing else', async (t) => {
  const file = join(t.testdir({ secret: 'from a file\n' }), 'secret');
  const names = new Set<string>();
  for (const { name: service, settings } of await readDeployedServices()) {
    for (const { name } of settings) names.add(name);
    for (const { name, isSecret = false } of settings) {
      const setting = { ...text(name, ''), isSecret };
      const { value } = readSettings({ value: setting }, { [`${name}_FILE`]: file });
      t.equal(value, isSecret ? 'from a file' : '', `${service}: ${name}`);
    }
  }
  t.same(
    [...names].filter((name) => names.has(`${name}_FILE`)),
    [],
    'no setting has the name of the file of another',
  );
  await t.resolves(prepare({ IDENTITY_MASTER_KEY_FILE: file }), 'npm start has its own');
});

t.test('messages are sent with what is set, and kept otherwise, as the banner says', async (t) => {
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
  const shown = async (env: Record<string, string>) => {
    const { isSent } = await prepare(env);
    return banner({ publicUrl: 'http://localhost:1', dataDir: '/data', database: 'x', isSent });
  };
  const messagesIn = (text: string) =>
    text.slice(text.indexOf('/data/outbox:'), text.indexOf('Database')).replace(/\s+/g, ' ').trim();
  t.equal(
    messagesIn(await shown({})),
    '/data/outbox: mails about accounts, mails of notifications, SMS and pushes are kept there instead of being sent; ' +
      'the links of mails about accounts are printed here, too',
  );
  t.equal(
    messagesIn(await shown(messages)),
    '/data/outbox: mails about accounts and pushes are kept there instead of being sent; ' +
      'mails of notifications and SMS are sent; the links of mails about accounts are printed here, too',
  );
  const all = await shown({ ...account, ...messages, ...push });
  t.match(all, /mails about accounts, mails of notifications, SMS and pushes are sent\n/);
  t.notMatch(all, /outbox/);
});

t.test('documents say what the code says; if not: npm run settings', async (t) => {
  for (const [path, text] of Object.entries(await generatedDocuments())) {
    t.equal(await readFile(join(ROOT, path), 'utf8').catch(() => ''), text, path);
  }
});
