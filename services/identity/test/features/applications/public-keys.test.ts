import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import t from 'tap';
import { publicKeyIds, signingKeyId } from '../../../src/core/applications/public-keys.ts';
import { buildApi, MACHINE } from '../../applications-api.ts';

const { call, people, applications } = await buildApi(t);

t.test('keys of its own in the place of a secret', async (t) => {
  const jwkOf = (type: 'ec' | 'rsa', options: object) => {
    const { publicKey, privateKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string });
    return {
      publicJwk: publicKey.export({ format: 'jwk' }),
      privateJwk: privateKey.export({ format: 'jwk' }),
    };
  };
  const { publicJwk, privateJwk } = jwkOf('ec', { namedCurve: 'P-256' });
  const more = { kid: 'k1', x5t: 'dropped', key_ops: ['verify'] };
  const made = await call('POST', '', { ...MACHINE, jwks: { keys: [{ ...publicJwk, ...more }] } });
  t.match(made, {
    status: 201,
    body: { token_endpoint_auth_method: 'private_key_jwt', client_secret: undefined },
  });
  t.same(made.body.jwks, { keys: [{ ...publicJwk, kid: 'k1' }] });
  const back = await call('PATCH', `/${made.body.client_id}`, { jwks: null });
  t.match(back.body, { token_endpoint_auth_method: 'client_secret_basic', jwks: null });

  const curve = jwkOf('ec', { namedCurve: 'secp256k1' }).publicJwk;
  const short = jwkOf('rsa', { modulusLength: 1024 }).publicJwk;
  const named = (kid: string) => ({ ...publicJwk, kid });
  const refused: [string, unknown, RegExp][] = [
    ['a private key', { keys: [privateJwk] }, /public keys only/],
    ['one among others', { keys: [named('a'), { ...privateJwk, kid: 'b' }] }, /public keys only/],
    ['a shared secret', { keys: [{ kty: 'oct', k: 'AAAA' }] }, /public keys only/],
    ['no list', {}, /JWK set/],
    ['no keys', { keys: [] }, /from 1 to 5/],
    ['many', { keys: Array.from({ length: 6 }, (_, i) => named(`${i}`)) }, /from 1 to 5/],
    ['without kid', { keys: [publicJwk, publicJwk] }, /kid/],
    ['the same kid', { keys: [named('a'), named('a')] }, /kid/],
    ['another curve', { keys: [curve] }, /P-256/],
    ['a short RSA key', { keys: [short] }, /2048/],
    ['another alg', { keys: [{ ...publicJwk, alg: 'RS256' }] }, /ES256/],
    ['for encryption', { keys: [{ ...publicJwk, use: 'enc' }] }, /signing/],
    ['no point', { keys: [{ ...publicJwk, x: 'AAAA' }] }, /not valid/],
    ['numbers', { keys: [{ kty: 'EC', crv: 'P-256', x: 1, y: 2 }] }, /not a string/],
    ['nothing', { keys: [null] }, /P-256/],
  ];
  for (const [name, jwks, problem] of refused) {
    const response = await call('POST', '', { ...MACHINE, jwks });
    const error = { message: problem, details: [{ field: 'jwks' }] };
    t.match(response, { status: 400, body: { error } }, name);
    t.notMatch(JSON.stringify(response.body), new RegExp(String(privateJwk.d)), name);
  }
});

t.test('the key that has signed, or all of them where its name is not the name of one', async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { publicKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [first, second] = [publicKey, other].map((it) => ({ ...it.export({ format: 'jwk' }), kty: 'EC' }));
  for (const [name, kids, kid, index] of [
    ['its name', ['a', 'b'], 'b', 1],
    ['the only key', ['a'], undefined, 0],
    ['no name', ['a', 'b'], undefined, -1],
    ['another name', ['a', 'b'], 'c', -1],
    ['the name of two', ['a', 'a'], 'a', -1],
  ] as const) {
    const keys = kids.map((it, i) => ({ kty: 'EC', ...[first, second][i], kid: it }));
    const header = { alg: 'ES256', ...(kid === undefined ? {} : { kid }) };
    const assertion = await new SignJWT().setProtectedHeader(header).sign(privateKey);
    const expected = (await publicKeyIds('app', { keys })).at(index);
    t.equal(await signingKeyId('app', { keys }, assertion), expected, name);
  }
});

t.test('the URL of the keys in the place of the keys', async (t) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwks = { keys: [publicKey.export({ format: 'jwk' })] };
  const jwks_uri = 'https://app.example.org/jwks.json';
  const { body } = await call('POST', '', { ...MACHINE, jwks_uri });
  t.match(body, { token_endpoint_auth_method: 'private_key_jwt', jwks: null, jwks_uri });
  const path = `/${body.client_id}`;
  t.match((await call('PATCH', path, { jwks, jwks_uri: null })).body, { jwks, jwks_uri: null });
  t.match((await call('PATCH', path, { jwks: null, jwks_uri })).body, { jwks: null, jwks_uri });
  t.match((await call('PATCH', path, { name: 'Renamed' })).body, { jwks_uri });
  t.match((await call('PATCH', path, { jwks_uri: null })).body, {
    ...{ jwks: null, jwks_uri: null, token_endpoint_auth_method: 'client_secret_basic' },
  });
  for (const refused of [
    { jwks, jwks_uri },
    { jwks_uri: 'http://app.example.org/jwks.json' },
    { jwks_uri: 'jwks.json' },
    { jwks_uri: 'https://user:secret@app.example.org/' },
  ]) {
    const response = await call('PATCH', path, refused);
    t.match(response, { status: 400, body: { error: { details: [{ field: 'jwks_uri' }] } } });
  }
});

t.test('an admin who saves the keys unchanged does not become their giver', async (t) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'k1' };
  for (const [about, isChanged] of [
    ['unchanged', false],
    ['changed', true],
  ] as const) {
    people.set('usr_helper', { role: 'admin', status: 'active', epoch: 1 });
    const { body } = await call('POST', '', { ...MACHINE, jwks: { keys: [key] } });
    const path = `/${body.client_id}`;
    const jwks = { keys: [isChanged ? { ...key, kid: 'another' } : key] };
    t.equal((await call('PATCH', path, { jwks }, 'usr_helper')).status, 200);
    people.set('usr_helper', { role: 'user', status: 'active', epoch: 2 });
    await applications.giverChanged('usr_helper', 2);
    t.equal((await call('GET', path)).body.jwks === null, isChanged, about);
  }
});
