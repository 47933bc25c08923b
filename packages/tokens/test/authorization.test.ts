import { bearerToken } from '@gatehouse/tokens/authorization';
import t from 'tap';

const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AZaz09-_';

const GOOD: [header: string, token: string][] = [
  [`Bearer ${TOKEN}`, TOKEN],
  [`bearer ${TOKEN}`, TOKEN],
  [`BEARER   ${TOKEN}  `, TOKEN],
  ['Bearer a', 'a'],
  ['Bearer a-b._~+/c==', 'a-b._~+/c=='],
];

t.test('the token in the header', async (t) => {
  for (const [header, token] of GOOD) t.equal(bearerToken(header), token, header);
});

t.test('no header: a challenge without an error code (RFC 6750 §3.1)', async (t) => {
  t.throws(() => bearerToken(undefined), {
    name: 'ServiceError',
    kind: 'unauthenticated',
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="gatehouse"' },
  });
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
];

t.test('another form: invalid_request', async (t) => {
  for (const header of BAD) {
    t.throws(
      () => bearerToken(header),
      {
        name: 'ServiceError',
        kind: 'unauthenticated',
        headers: { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_request"' },
      },
      JSON.stringify(header),
    );
  }
});
