import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build } from '../../build.ts';
import { heading, noticeOf, signedIn } from '../../pages.ts';
import { optionsOf } from './authenticator.ts';

// What reads our options and writes the credentials is nothing that we wrote: Yubico's fido2 (`pip install fido2`).
const PROGRAM = join(import.meta.dirname, 'fido2_authenticator.py');
const hasFido2 = spawnSync('python3', ['-c', 'import fido2']).status === 0;

t.test(
  'fido2 registers a passkey and signs in with it',
  hasFido2 ? {} : { skip: 'there is no fido2' },
  async (t) => {
    const built = await build(t, { host: 'localhost' });
    const keyFile = join(t.testdir(), 'key.json');
    const credential = (act: 'create' | 'get', page: Page, origin = built.base) => {
      const input = JSON.stringify(optionsOf(page));
      return execFileSync('python3', [PROGRAM, act, origin, keyFile], { input, encoding: 'utf8' });
    };
    await built.createPerson('yubi');
    const visitor = await signedIn(built, 'yubi');
    const add = await visitor.get('/account/passkeys/add');
    const fields = { name: 'fido2', passkey: credential('create', add) };
    t.match(noticeOf(await visitor.submit(add, fields, 'name="passkey"')), /The passkey is added/);
    for (const [origin, expected] of [
      [built.base, 'Profile'],
      [built.base, 'Profile'],
      ['http://localhost:1', 'Sign in'],
    ] as const) {
      const guest = built.browser();
      const page = await guest.get('/account');
      const signedInPage = await guest.submit(
        page,
        { passkey: credential('get', page, origin) },
        'name="passkey"',
      );
      t.equal(heading(signedInPage), expected, origin);
    }
  },
);
