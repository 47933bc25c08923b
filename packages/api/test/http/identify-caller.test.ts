import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { type CallLimits, createCallLimits, identifyCaller } from '@gatehouse/api/http/identify-caller';
import { createAddressLimiter, createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { unavailable } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { type Caller, unauthenticated } from '@gatehouse/tokens/caller';
import type { CredentialVerifier } from '@gatehouse/tokens/credentials';
import t from 'tap';

const PERSON: Caller = {
  subject: 'usr_1',
  clientId: 'app_1',
  scopes: new Set(),
  person: { id: 'usr_1', role: 'user' },
  expiresAt: 0,
  issuedAt: 0,
  tokenId: 'jti_1',
  grantId: undefined,
  keyId: undefined,
  actor: undefined,
  keyThumbprint: undefined,
  profiles: {},
  epoch: { client: 0, subject: 0 },
  authTime: undefined,
};

function requestFrom(address: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method: 'PUT', url: '/v1/users/a?b=c' });
  request.headers = { authorization: 'DPoP token', dpop: 'proof' };
  requestInfo(request, address);
  return request;
}

function limitsOf(authenticated: number, unauthenticated: number): CallLimits {
  return {
    authenticated: createRateLimiter({ name: 'credential', quota: authenticated, seconds: 60 }),
    person: createRateLimiter({ name: 'person', quota: authenticated * 2, seconds: 60 }),
    unauthenticated: createAddressLimiter({ name: 'address', quota: unauthenticated, seconds: 60 }),
  };
}

/** The caller or the error, and the headers that were set. */
async function identify(verify: CredentialVerifier['verify'], limits?: CallLimits, address = '192.0.2.1') {
  const headers: Record<string, string> = {};
  const request = requestFrom(address);
  const setHeaders = (more: Record<string, string>) => void Object.assign(headers, more);
  const credentials = { verify, recheck: async () => {} };
  const result = await identifyCaller(request, { credentials, limits, setHeaders }).catch(
    (error: unknown) => error,
  );
  const { client, subject } = requestInfo(request);
  return { result, headers, client, subject };
}

const refuse = async () => {
  throw unauthenticated('No.', 'invalid_token');
};

t.test('the verifier gets what the request shows, and the log its caller', async (t) => {
  const shown: unknown[] = [];
  const { result, ...rest } = await identify(async (request) => {
    shown.push(request);
    return PERSON;
  });
  t.equal(result, PERSON);
  t.strictSame(rest, { headers: {}, client: 'app_1', subject: 'usr_1' });
  t.strictSame(shown, [
    {
      authorization: 'DPoP token',
      dpop: 'proof',
      method: 'PUT',
      path: '/v1/users/a?b=c',
      address: '192.0.2.1',
    },
  ]);
  t.match(await identify(async () => ({ ...PERSON, subject: 'app_1', person: undefined })), {
    client: 'app_1',
    subject: undefined,
  });
  t.match(await identify(refuse), { result: { kind: 'unauthenticated' }, headers: {}, client: undefined });
});

t.test('authenticated requests are counted by client and subject', async (t) => {
  const limits = limitsOf(1, 1);
  const verify = async () => PERSON;
  const first = await identify(verify, limits);
  t.strictSame(first.headers, {
    'ratelimit-policy': '"credential";q=1;w=60',
    ratelimit: '"credential";r=0;t=60',
  });
  t.match(await identify(verify, limits, '192.0.2.2'), { result: { kind: 'rate_limited' }, client: 'app_1' });
  for (const others of [{ subject: 'usr_2' }, { actors: ['app_1'] }]) {
    const named = async () => ({ ...PERSON, ...others });
    t.match(await identify(named, limits), { result: others });
    t.match(await identify(named, limits), { result: { kind: 'rate_limited' } });
  }
  const service = async () => ({ ...PERSON, actor: 'notifications' });
  t.strictSame((await identify(service, limits)).headers, {});
});

t.test('a person with many applications has the quota of two, and is shown the tightest', async (t) => {
  const limits = limitsOf(3, 1);
  const ask = (client: number, more: Partial<typeof PERSON> = {}) =>
    identify(
      async () => ({ ...PERSON, clientId: `app_${client}`, subject: `app_${client}`, ...more }),
      limits,
    );
  const headersOf = (name: string, quota: number, left: number) => ({
    'ratelimit-policy': `"${name}";q=${quota};w=60`,
    ratelimit: `"${name}";r=${left};t=60`,
  });
  t.strictSame((await ask(1)).headers, headersOf('credential', 3, 2));
  t.strictSame((await ask(1)).headers, headersOf('credential', 3, 1));
  t.strictSame((await ask(2)).headers, headersOf('credential', 3, 2));
  t.strictSame((await ask(2)).headers, headersOf('credential', 3, 1));
  t.strictSame((await ask(3)).headers, headersOf('person', 6, 1));
  t.strictSame((await ask(1)).headers, headersOf('credential', 3, 0), 'of equals, that of the credential');
  for (const client of [1, 4, 5]) {
    t.match(await ask(client), { result: { kind: 'rate_limited' } }, `app_${client}`);
  }
  t.match(
    await limits.authenticated.count('app_4 app_4'),
    headersOf('credential', 3, 2),
    'what was refused counts nowhere',
  );
  t.match(await ask(6, { person: { id: 'usr_2', role: 'user' } }), { result: { clientId: 'app_6' } });
  t.match(await ask(7, { person: undefined }), { result: { clientId: 'app_7' } }, 'a trusted machine');
});

t.test('only invalid credentials count against an address', async (t) => {
  const limits = limitsOf(9, 1);
  const errors = [unavailable('Away.'), new Error('a fault')];
  for (const error of errors) {
    t.match(await identify(() => Promise.reject(error), limits), { result: error, headers: {} });
  }
  t.match(await identify(refuse, limits), {
    result: { kind: 'unauthenticated' },
    headers: { ratelimit: '"address";r=0;t=60' },
  });
  t.match(await identify(refuse, limits), { result: { kind: 'rate_limited' } }, 'instead of the 401');
  t.match(await identify(refuse, limits, '192.0.2.2'), { result: { kind: 'unauthenticated' } });
});

t.test('an address over its quota may use cached credentials only', async (t) => {
  const limits = limitsOf(9, 1);
  await identify(refuse, limits, '2001:db8::1');
  const uncached: CredentialVerifier['verify'] = async (_request, beforeVerification) => {
    await beforeVerification?.();
    return PERSON;
  };
  t.match(await identify(uncached, limits, '2001:db8::2'), { result: { kind: 'rate_limited' } });
  t.match(await identify(uncached, limits, '192.0.2.1'), { result: PERSON }, 'from elsewhere');
  t.match(await identify(async () => PERSON, limits, '2001:db8::2'), { result: PERSON }, 'a cached one');
  t.match(await identify(uncached, undefined, '2001:db8::2'), { result: PERSON }, 'without limits');
});

t.test('the quotas of a service', async (t) => {
  const limits = createCallLimits();
  t.match(await limits.authenticated.count('a'), { 'ratelimit-policy': '"credential";q=6000;w=60' });
  t.match(await limits.person.count('a'), { 'ratelimit-policy': '"person";q=12000;w=60' });
  t.match(await limits.unauthenticated.count('a'), { 'ratelimit-policy': '"address";q=300;w=60' });
});

t.test(
  'a deployer asks for the requests of a configuration file alone, and each of its requests counts',
  async (t) => {
    const deployer = { ...PERSON, actors: ['app_1'], scopes: new Set(['manage:apps']) };
    const limits = limitsOf(1, 1);
    t.match((await identify(async () => deployer, limits)).result, { kind: 'forbidden' });
    t.match((await identify(async () => deployer, limits)).result, { kind: 'rate_limited' });
  },
);
