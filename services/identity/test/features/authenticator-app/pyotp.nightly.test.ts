import { execFileSync, spawnSync } from 'node:child_process';
import t from 'tap';
import { build } from '../../build.ts';
import { heading, signedIn } from '../../pages.ts';
import { enterCode, enterPassword, forgetCodes, keyOn } from './app.ts';

// An app that nobody here wrote: pyotp (`pip install pyotp`).
const PROGRAM = 'import pyotp, sys; print(pyotp.parse_uri(sys.argv[1]).now())';
const hasPyotp = spawnSync('python3', ['-c', 'import pyotp']).status === 0;

t.test('pyotp sets up an app and signs in', hasPyotp ? {} : { skip: 'there is no pyotp' }, async (t) => {
  const built = await build(t);
  const id = await built.createPerson('snake');
  const visitor = await signedIn(built, 'snake');
  const page = await visitor.get('/account/authenticator-app/set-up');
  const uri = `otpauth://totp/Gatehouse:snake?secret=${keyOn(page)}&issuer=Gatehouse&algorithm=SHA1&digits=6&period=30`;
  const now = () => execFileSync('python3', ['-c', PROGRAM, uri], { encoding: 'utf8' }).trim();
  t.equal(heading(await visitor.submit(page, { code: now() }, 'name="code"')), 'Your recovery codes');
  await forgetCodes(built, id);
  const guest = built.browser();
  t.equal(heading(await enterCode(guest, await enterPassword(guest, 'snake'), now())), 'Profile');
});
