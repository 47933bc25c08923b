import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { buildApi, MACHINE, WEB } from '../../applications-api.ts';

const { call, make, revoked } = await buildApi(t);

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const jwks = { keys: [ec] };
const FAPI2 = { ...WEB, jwks, security_profile: 'fapi2' };

t.test('the fields that standards have for applications, with their defaults', async (t) => {
  const { body } = await call('POST', '', WEB);
  t.match(body, {
    id_token_signed_response_alg: 'RS256',
    require_pushed_authorization_requests: false,
    security_profile: null,
  });
  const set = { id_token_signed_response_alg: 'ES256', require_pushed_authorization_requests: true };
  const changed = await call('PATCH', `/${body.client_id}`, set);
  t.match(changed, { status: 200, body: set });
  t.match((await call('GET', `/${body.client_id}`)).body, set, 'stored');
});

t.test('security_profile fapi2 requires what it consists of', async (t) => {
  const required = {
    security_profile: 'fapi2',
    token_endpoint_auth_method: 'private_key_jwt',
    dpop_bound_access_tokens: true,
    require_pushed_authorization_requests: true,
    id_token_signed_response_alg: 'ES256',
  };
  const made = await call('POST', '', FAPI2);
  t.match(made, { status: 201, body: required });
  t.notOk('client_secret' in made.body);
  t.match(
    await call('POST', '', { ...FAPI2, jwks: { keys: [rsa] } }),
    { status: 201 },
    'an RSA key, for PS256',
  );
  const machine = await call('POST', '', { ...MACHINE, jwks, security_profile: 'fapi2' });
  t.match(machine, { status: 201, body: { ...required, require_pushed_authorization_requests: false } });

  const { id } = await make({ ...WEB, jwks });
  t.match(await call('PATCH', `/${id}`, { security_profile: 'fapi2' }), { status: 200, body: required });
  t.match(await revoked(id), [{ kind: 'client', epoch: 1 }], 'tokens that are bound to no key end');
  const left = await call('PATCH', `/${id}`, { security_profile: null });
  t.match(left.body, { ...required, security_profile: null }, 'it can be left, and the settings stay');
  t.match(await call('PATCH', `/${id}`, { dpop_bound_access_tokens: false }), { status: 200 });
});

t.test('conflicting settings are refused by the name of the field', async (t) => {
  const { id } = await make(FAPI2);
  const secret = await make(WEB);
  for (const [name, wrong, field] of [
    ['an unknown profile', { ...FAPI2, security_profile: 'fapi1' }, 'security_profile'],
    ['a public client', { ...WEB, type: 'spa', security_profile: 'fapi2' }, 'security_profile'],
    ['a native application', { ...WEB, type: 'native', security_profile: 'fapi2' }, 'security_profile'],
    [
      'a resource',
      { ...MACHINE, type: 'resource', scopes: [], jwks, security_profile: 'fapi2' },
      'security_profile',
    ],
    ['no key (5.3.2.1, 6)', { ...WEB, security_profile: 'fapi2' }, 'jwks'],
    ['a key for RS256 (5.4.1, 1)', { ...FAPI2, jwks: { keys: [{ ...rsa, alg: 'RS256' }] } }, 'jwks'],
    [
      'ID tokens with RS256',
      { ...FAPI2, id_token_signed_response_alg: 'RS256' },
      'id_token_signed_response_alg',
    ],
    [
      'unbound tokens (5.3.2.1, 4)',
      { ...FAPI2, dpop_bound_access_tokens: false },
      'dpop_bound_access_tokens',
    ],
    [
      'no PAR (5.3.2.2, 3)',
      { ...FAPI2, require_pushed_authorization_requests: false },
      'require_pushed_authorization_requests',
    ],
    ['the implicit flow (5.3.2.2, 1)', { ...FAPI2, legacy_implicit: true }, 'legacy_implicit'],
    ['http (5.3.2.2, 8)', { ...FAPI2, redirect_uris: ['http://127.0.0.1:8080/cb'] }, 'redirect_uris.0'],
    ['another algorithm', { ...WEB, id_token_signed_response_alg: 'HS256' }, 'id_token_signed_response_alg'],
    ['none', { ...WEB, id_token_signed_response_alg: 'none' }, 'id_token_signed_response_alg'],
    [
      'PAR of a machine',
      { ...MACHINE, require_pushed_authorization_requests: true },
      'require_pushed_authorization_requests',
    ],
    [
      'PAR and the implicit flow',
      { ...WEB, legacy_implicit: true, require_pushed_authorization_requests: true },
      'require_pushed_authorization_requests',
    ],
  ] as [string, object, string][]) {
    const { status, body } = await call('POST', '', wrong);
    t.equal(status, 400, name);
    const { details } = body.error as { details: { field: string }[] };
    t.ok(
      details.some((it) => it.field === field),
      `${name}: ${JSON.stringify(details)}`,
    );
  }
  for (const [name, which, change, field] of [
    ['the keys of one that has the profile', id, { jwks: null }, 'jwks'],
    ['DPoP', id, { dpop_bound_access_tokens: false }, 'dpop_bound_access_tokens'],
    ['a redirect URI', id, { redirect_uris: ['http://localhost:1/cb'] }, 'redirect_uris.0'],
    ['the profile, without keys', secret.id, { security_profile: 'fapi2' }, 'jwks'],
  ] as [string, string, object, string][]) {
    const changed = await call('PATCH', `/${which}`, change);
    t.match(changed, { status: 400, body: { error: { details: [{ field }] } } }, name);
  }
});
