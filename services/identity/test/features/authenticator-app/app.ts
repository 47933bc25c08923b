import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import { TOTP } from 'otpauth';
import { type Built, PASSWORD, signInAndAllow } from '../../build.ts';

/** The key that the set-up page shows as text. */
export function keyOn({ html }: Page): string {
  const key = /<code class="secret-key">([A-Z2-7 ]+)<\/code>/.exec(html)?.[1];
  if (key === undefined) throw new Error(`there is no key on:\n${html}`);
  return key.replaceAll(' ', '');
}

/** The recovery codes that the page shows. */
export const codesOn = ({ html }: Page) =>
  [...html.matchAll(/<li><code>([A-Z2-7-]+)<\/code><\/li>/g)].map(([, code = '']) => code);

/** The code that an app with this key shows `steps` steps of 30 seconds from now. */
export const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 });

/** A code that the key does not have about now. */
export function wrongCode(secret: string, nth = 0): string {
  const right = [-2, -1, 0, 1, 2].map((steps) => codeOf(secret, steps));
  return (
    Array.from({ length: 10 + nth }, (_, i) => String(i).repeat(6).slice(0, 6))
      .filter((code) => !right.includes(code))
      .at(nth) ?? ''
  );
}

/** Makes the codes of now usable again, as time would, of an app that was set up ten minutes earlier. */
export async function forgetCodes(built: Built, userId: string): Promise<void> {
  const apps = (await built.database()).collection<{ _id: string; created_at: Date }>('authenticator_apps');
  await apps.updateOne({ _id: userId }, [
    { $set: { last_step: 0, created_at: { $subtract: ['$created_at', 600_000] } } },
  ]);
}

/** Sets up an app for somebody who has just signed in. */
export async function setUpApp(visitor: FormBrowser) {
  const page = await visitor.get('/account/authenticator-app/set-up');
  const secret = keyOn(page);
  const done = await visitor.submit(page, { code: codeOf(secret) }, 'name="code"');
  return { secret, page: done, codes: codesOn(done) };
}

/** A new person with an authenticator app, whose codes of now can be used. */
export async function withApp(built: Built, username: string) {
  const id = await built.createPerson(username);
  const visitor = built.browser();
  await signInAndAllow(visitor, '/account', username);
  const { secret, codes } = await setUpApp(visitor);
  if (codes.length !== 10) throw new Error('the app could not be set up');
  await forgetCodes(built, id);
  return { id, username, visitor, secret, codes };
}

/** Enters the password; the result is the page for the second factor. */
export async function enterPassword(
  visitor: FormBrowser,
  username: string,
  path = '/account',
  password = PASSWORD,
): Promise<Page> {
  return visitor.submit(await visitor.get(path), { username, password });
}

export const enterCode = (
  visitor: FormBrowser,
  page: Page,
  code: string,
  more: Record<string, string> = {},
) => visitor.submit(page, { authenticator_app: code, ...more }, 'name="authenticator_app"');

export const enterRecoveryCode = (visitor: FormBrowser, page: Page, code: string) =>
  visitor.submit(page, { recovery_code: code }, 'name="recovery_code"');
