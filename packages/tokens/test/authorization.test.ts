import type { ServiceError } from '@gatehouse/core/errors';
import { credentialIn } from '@gatehouse/tokens/authorization';
import type { Credential } from '@gatehouse/verify/authorization';
import t from 'tap';

const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AZaz09-_';

const GOOD: [header: string, scheme: Credential['scheme'], value: string][] = [
  [`Bearer ${TOKEN}`, 'bearer', TOKEN],
  [`bearer ${TOKEN}`, 'bearer', TOKEN],
  [`BEARER   ${TOKEN}  `, 'bearer', TOKEN],
  ['Bearer a', 'bearer', 'a'],
  ['Bearer a-b._~+/c==', 'bearer', 'a-b._~+/c=='],
  [`DPoP ${TOKEN}`, 'dpop', TOKEN],
  [`dpop  ${TOKEN} `, 'dpop', TOKEN],
  ['ApiKey gatehouse_1aZ', 'apikey', 'gatehouse_1aZ'],
  ['apikey gatehouse_1aZ', 'apikey', 'gatehouse_1aZ'],
];

t.test('the credential in the header', async (t) => {
  for (const [header, scheme, value] of GOOD) t.strictSame(credentialIn(header), { scheme, value }, header);
});

/** The status and the challenge that a header is refused with. */
function failure(header: string | undefined): unknown[] {
  try {
    return [credentialIn(header)];
  } catch (error) {
    const { kind, status, headers } = error as ServiceError;
    return [kind, status, headers];
  }
}

t.test('no header: a challenge without an error code (RFC 6750 §3.1)', async (t) => {
  const challenge = { 'www-authenticate': 'Bearer realm="gatehouse"' };
  t.strictSame(failure(undefined), ['unauthenticated', 401, challenge]);
});

const BAD = [
  '',
  'Bearer',
  'Bearer ',
  TOKEN,
  `Bearer${TOKEN}`,
  `Basic ${TOKEN}`,
  `xBearer ${TOKEN}`,
  ` Bearer ${TOKEN}`,
  `Bearer\t${TOKEN}`,
  `Bearer ${TOKEN} ${TOKEN}`,
  `Bearer ${TOKEN}, Bearer ${TOKEN}`,
  `Bearer ${TOKEN}\n`,
  'Bearer a=b',
  'Bearer =',
  'Bearer "a"',
  'Bearer ä',
  'Bearer a;b',
  'DPoP',
  `DPoP Bearer ${TOKEN}`,
  'ApiKey',
  'ApiKey: gatehouse_1aZ',
  'Api-Key gatehouse_1aZ',
];

t.test('another form: invalid_request', async (t) => {
  const challenge = { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_request"' };
  for (const header of BAD) {
    t.strictSame(failure(header), ['unauthenticated', 401, challenge], JSON.stringify(header));
  }
});
