import { existsSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createProfiles, type Profile } from '../src/profiles.ts';

const home = t.testdir({});
const profiles = createProfiles({ XDG_CONFIG_HOME: home, GATEHOUSE_KEYRING: 'off' }, 'linux');
const credentials = { accessToken: 'a', refreshToken: 'r', expiresAt: 0, key: {} };
const profile: Profile = { urls: ['https://a.example'], userId: 'usr_a', username: 'ann', credentials };

t.test('concurrent commands keep each other’s changes', async (t) => {
  const names = Array.from({ length: 20 }, (_, at) => `profile ${at}`);
  await Promise.all(names.map((name) => profiles.exclusively(() => profiles.write(name, profile))));
  t.strictSame((await profiles.names()).sort(), names.sort());
  t.strictSame(await profiles.read('profile 7'), profile);
  await profiles.exclusively(() => profiles.remove(names.slice(1)));
  t.strictSame(await profiles.names(), names.slice(0, 1));
});

t.test('the lock of a killed command is broken', async (t) => {
  const lock = join(home, 'gatehouse/profiles.lock');
  mkdirSync(join(home, 'gatehouse'), { recursive: true });
  writeFileSync(lock, '');
  const past = new Date(Date.now() - 60_000);
  utimesSync(lock, past, past);
  t.equal(await profiles.exclusively(async () => 'done'), 'done');
});

t.test('an error names a broken file', async (t) => {
  writeFileSync(join(home, 'gatehouse/profiles.json'), '{');
  await t.rejects(profiles.read('default'), { message: /profiles\.json is not JSON\. Delete it/ });
});

t.test('the lock of a slow command is renewed, so that no other one takes it', async (t) => {
  const lock = join(home, 'gatehouse/profiles.lock');
  const past = new Date(Date.now() - 60_000);
  await profiles.exclusively(async () => {
    utimesSync(lock, past, past);
    await until(() => statSync(lock).mtimeMs > Date.now() - 5000, 5000);
  });
  t.notOk(existsSync(lock));
});
