import type { ServiceError } from '@gatehouse/core/errors';
import { MULTI_FACTOR, PHISHING_RESISTANT, SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import { requireSignIn, type SignInNeed } from '@gatehouse/tokens/step-up';
import t from 'tap';
import { callerWith } from './callers.ts';

const NOW = Math.floor(Date.now() / 1000);
const STRONGER = 'This needs a stronger sign-in.';
const NEWER = 'This needs a more recent sign-in.';

const CASES: [label: string, caller: Parameters<typeof callerWith>[0], SignInNeed, missing?: string][] = [
  ['as strong', { acr: MULTI_FACTOR, authTime: NOW }, { acr: MULTI_FACTOR }],
  ['stronger', { acr: PHISHING_RESISTANT, authTime: NOW }, { acr: MULTI_FACTOR }],
  ['recent', { acr: SINGLE_FACTOR, authTime: NOW - 290 }, { maxAge: 300 }],
  ['strong and recent', { acr: MULTI_FACTOR, authTime: NOW }, { acr: MULTI_FACTOR, maxAge: 300 }],
  ['weaker', { acr: SINGLE_FACTOR, authTime: NOW }, { acr: MULTI_FACTOR, maxAge: 300 }, STRONGER],
  ['unknown', { acr: 'urn:example:strong', authTime: NOW }, { acr: SINGLE_FACTOR }, STRONGER],
  ['a substring', { acr: 'ph', authTime: NOW }, { acr: PHISHING_RESISTANT }, STRONGER],
  ['not said', { authTime: NOW }, { acr: SINGLE_FACTOR }, STRONGER],
  ['too old', { acr: PHISHING_RESISTANT, authTime: NOW - 310 }, { acr: MULTI_FACTOR, maxAge: 300 }, NEWER],
  ['a machine or an API key', {}, { maxAge: 300 }, NEWER],
  ['an application that acts for them', { authTime: NOW, actors: ['app_1'] }, { maxAge: 300 }, NEWER],
];

t.test('a sign-in as strong and as recent as a request needs', async (t) => {
  for (const [label, more, need, missing] of CASES) {
    for (const keyThumbprint of [undefined, 'thumb']) {
      try {
        requireSignIn(callerWith({ ...more, keyThumbprint }), need);
        t.equal(missing, undefined, label);
      } catch (error) {
        const { status, message, headers } = error as ServiceError;
        t.strictSame([status, message], [401, missing], label);
        const scheme = keyThumbprint === undefined ? 'Bearer' : 'DPoP';
        const challenge = [
          `${scheme} realm="gatehouse", error="insufficient_user_authentication"`,
          `error_description="${missing}"`,
          ...(need.acr === undefined ? [] : [`acr_values="${need.acr}"`]),
          ...(need.maxAge === undefined ? [] : [`max_age="${need.maxAge}"`]),
        ];
        t.equal(headers['www-authenticate'], challenge.join(', '), label);
      }
    }
  }
});
