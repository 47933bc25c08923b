import { createHash, randomBytes, webcrypto } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { build } from '../../build.ts';
import { alertOf, signedIn } from '../../pages.ts';
import { optionsOf } from './authenticator.ts';

// What the library needs to verify attestations, which nobody else here needs.
const ofLibrary = createRequire(createRequire(import.meta.url).resolve('@simplewebauthn/server'));
ofLibrary('reflect-metadata');
const x509 = ofLibrary('@peculiar/x509');
const android = ofLibrary('@peculiar/asn1-android');
const { AsnConvert, OctetString } = ofLibrary('@peculiar/asn1-schema');
x509.cryptoProvider.set(webcrypto);

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY = 86_400_000;
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();
const newKeys = () =>
  webcrypto.subtle.generateKey(ES256, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

/** The head of a value in CBOR (RFC 8949 §3). */
function head(major: number, n: number): Buffer {
  if (n < 24) return Buffer.from([(major << 5) | n]);
  return n < 256 ? Buffer.from([(major << 5) | 24, n]) : Buffer.from([(major << 5) | 25, n >> 8, n & 0xff]);
}
const text = (value: string) => Buffer.concat([head(3, value.length), Buffer.from(value)]);
const bytes = (value: Buffer) => Buffer.concat([head(2, value.length), value]);

t.test('no server is asked that a certificate of the sender names', async (t) => {
  const built = await build(t, { host: 'localhost' });
  let requests = 0;
  const port = await listen(
    t,
    createServer((_request, response) => {
      requests += 1;
      response.end();
    }),
  );
  const visitor = await signedIn(built, 'ann');
  const page = await visitor.get('/account/passkeys/add');
  const { challenge } = optionsOf(page);
  const client = Buffer.from(JSON.stringify({ type: 'webauthn.create', challenge, origin: built.base }));

  const [root, leaf] = [await newKeys(), await newKeys()];
  const dates = { notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + DAY) };
  const signed = { ...dates, signingAlgorithm: ES256 };
  const rootCertificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...{ ...signed, serialNumber: '01', name: 'CN=root', keys: root },
  });
  const description = new android.KeyDescription({
    ...{ attestationVersion: 1, attestationSecurityLevel: 0, keymasterVersion: 1, keymasterSecurityLevel: 0 },
    attestationChallenge: new OctetString(sha256(client)),
    uniqueId: new OctetString(Buffer.alloc(1)),
    softwareEnforced: new android.AuthorizationList({}),
    teeEnforced: new android.AuthorizationList({}),
  });
  const leafCertificate = await x509.X509CertificateGenerator.create({
    ...{ ...signed, serialNumber: '02', subject: 'CN=leaf', issuer: 'CN=root' },
    ...{ publicKey: leaf.publicKey, signingKey: root.privateKey },
    extensions: [
      new x509.Extension('1.3.6.1.4.1.11129.2.1.17', false, AsnConvert.serialize(description)),
      new x509.CRLDistributionPointsExtension([`http://127.0.0.1:${port}/revoked`]),
    ],
  });
  const { x = '', y = '' } = await webcrypto.subtle.exportKey('jwk', leaf.publicKey);
  const coordinates = [x, y].map((it) => Buffer.from(it, 'base64url')) as [Buffer, Buffer];
  const id = randomBytes(16);
  const data = Buffer.concat([
    ...[sha256('localhost'), Buffer.from([0x45]), Buffer.alloc(20), Buffer.from([0, id.length]), id],
    ...[
      Buffer.from('a5010203262001215820', 'hex'),
      coordinates[0],
      Buffer.from('225820', 'hex'),
      coordinates[1],
    ],
  ]);
  const attestationObject = Buffer.concat([
    ...[head(5, 3), text('fmt'), text('android-key'), text('attStmt'), head(5, 3)],
    ...[text('alg'), Buffer.from([0x26]), text('sig'), bytes(Buffer.alloc(64, 1)), text('x5c'), head(4, 2)],
    ...[bytes(Buffer.from(leafCertificate.rawData)), bytes(Buffer.from(rootCertificate.rawData))],
    ...[text('authData'), bytes(data)],
  ]);
  const passkey = JSON.stringify({
    ...{ id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' },
    response: {
      clientDataJSON: client.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
    },
  });
  const refused = await visitor.submit(page, { name: 'x', passkey }, 'name="passkey"');
  t.match(alertOf(refused), /could not be verified/);
  t.equal(requests, 0);
});
