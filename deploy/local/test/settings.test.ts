import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import t from 'tap';
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
];

t.test('wrong settings are named in a sentence each', async (t) => {
  for (const [env, message] of CASES)
    t.throws(() => readLocalSettings(env), { name: 'SettingsError', message }, Object.keys(env).join());
});

t.test('documents tell of the settings that there are; if not: npm run settings', async (t) => {
  for (const [path, text] of Object.entries(await settingsDocuments())) {
    t.equal(await readFile(join(ROOT, path), 'utf8').catch(() => ''), text, path);
  }
});
