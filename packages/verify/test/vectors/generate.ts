// `node packages/verify/test/vectors/generate.ts` writes packages/verify/vectors/*.json. ES256 signs with random numbers, so the files are
// committed, and every run changes them. `--keys` makes other keys first.
import { writeFileSync } from 'node:fs';
import { exportJWK, generateKeyPair } from 'jose';

const make = async (alg: string, kid?: string) => {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, ...(kid === undefined ? {} : { kid }) };
};

if (process.argv.includes('--keys')) {
  const issuer = { es: 'ES256', rs: 'RS256', ps: 'PS256', ed: 'EdDSA', es384: 'ES384' };
  const clients = ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256'];
  const keys = {
    issuer: await Promise.all(Object.entries(issuer).map(([kid, alg]) => make(alg, kid))),
    stranger: await make('ES256', 'stranger'),
    clients: Object.fromEntries([
      ...(await Promise.all(clients.map(async (alg) => [alg, await make(alg)]))),
      ['other', await make('ES256')],
    ]),
  };
  writeFileSync(new URL('./keys.json', import.meta.url), `${JSON.stringify(keys, undefined, 1)}\n`);
}

const { ISSUER, JWKS } = await import('./signing.ts');
const { jwtVectors } = await import('./jwt.ts');
const { scopeVectors, stepUpVectors } = await import('./needs.ts');
const { dpopVectors } = await import('./dpop.ts');
const { revocationVectors } = await import('./revocation.ts');
const { apiKeyVectors } = await import('./api-keys.ts');
const { headerVectors } = await import('./headers.ts');
const topics = {
  jwt: jwtVectors,
  scopes: scopeVectors,
  'step-up': stepUpVectors,
  dpop: dpopVectors,
  revocation: revocationVectors,
  'api-keys': apiKeyVectors,
  headers: headerVectors,
};
for (const [topic, vectorsOf] of Object.entries(topics)) {
  const vectors = await vectorsOf();
  const file = new URL(`../../vectors/${topic}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify({ issuer: ISSUER, jwks: JWKS, vectors }, undefined, 1)}\n`);
  process.stdout.write(`${topic}: ${vectors.length}\n`);
}
