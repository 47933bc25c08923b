import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Page } from '@gatehouse/testing/form-browser';

/** What an authenticator says otherwise than it should. */
export type Deviation = {
  origin?: string;
  crossOrigin?: boolean;
  topOrigin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  isUserPresent?: boolean;
  isUserVerified?: boolean;
  counter?: number;
  userHandle?: string;
  /** Spoils the signature. */
  isForged?: boolean;
};

const FLAGS = { present: 0x01, verified: 0x04, syncable: 0x08, synced: 0x10, attested: 0x40 };
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();
const length = (bytes: number) => Buffer.from([bytes >> 8, bytes & 0xff]);

/** The options that a page has for the browser. */
export function optionsOf({ html }: Page) {
  const [, text = ''] = /data-options="([^"]*)"/.exec(html) ?? [];
  return JSON.parse(text.replaceAll('&quot;', '"').replaceAll('&amp;', '&')) as {
    challenge: string;
    rpId?: string;
    rp?: { id: string };
    user?: { id: string; name: string };
    excludeCredentials?: { id: string }[];
  };
}

/** An authenticator (WebAuthn Level 3 §6) with one ES256 key, which says whatever a test wants of it. */
export function createAuthenticator(origin: string, options: { isSynced?: boolean; counts?: boolean } = {}) {
  const { isSynced = false, counts = true } = options;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(16);
  let userHandle = '';
  let counter = 0;

  function clientData(challenge: string, type: string, deviation: Deviation): Buffer {
    const said = { type, challenge, origin, crossOrigin: false };
    const { origin: other, type: otherType, challenge: otherChallenge, crossOrigin, topOrigin } = deviation;
    return Buffer.from(
      JSON.stringify({
        ...said,
        ...(other && { origin: other }),
        ...(otherType && { type: otherType }),
        ...(otherChallenge && { challenge: otherChallenge }),
        ...(crossOrigin && { crossOrigin }),
        ...(topOrigin && { topOrigin }),
      }),
    );
  }

  function authenticatorData(rpId: string, deviation: Deviation, attested = Buffer.alloc(0)): Buffer {
    if (counts) counter += 1;
    const { isUserPresent = true, isUserVerified = true } = deviation;
    const flags =
      (isUserPresent ? FLAGS.present : 0) |
      (isUserVerified ? FLAGS.verified : 0) |
      (isSynced ? FLAGS.syncable | FLAGS.synced : 0) |
      (attested.length > 0 ? FLAGS.attested : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(deviation.counter ?? counter);
    return Buffer.concat([sha256(deviation.rpId ?? rpId), Buffer.from([flags]), count, attested]);
  }

  const described = { id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' };
  return {
    id: described.id,

    /** What navigator.credentials.create() resolves to, as JSON. */
    create(page: Page, deviation: Deviation = {}): string {
      const { challenge, rp, user } = optionsOf(page);
      userHandle = user?.id ?? '';
      // COSE_Key (RFC 9052 §7): EC2, ES256, P-256, and the coordinates.
      const key = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ]);
      const attested = Buffer.concat([Buffer.alloc(16), length(id.length), id, key]);
      const data = authenticatorData(rp?.id ?? '', deviation, attested);
      // {"fmt": "none", "attStmt": {}, "authData": data} in CBOR (RFC 8949).
      const attestationObject = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex'),
        length(data.length),
        data,
      ]);
      const response = {
        clientDataJSON: clientData(challenge, 'webauthn.create', deviation).toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      };
      return JSON.stringify({ ...described, response, clientExtensionResults: {} });
    },

    /** What navigator.credentials.get() resolves to, as JSON. */
    get(page: Page, deviation: Deviation = {}): string {
      const { challenge, rpId = '' } = optionsOf(page);
      const client = clientData(challenge, 'webauthn.get', deviation);
      const data = authenticatorData(rpId, deviation);
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
      if (deviation.isForged) signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: deviation.userHandle ?? userHandle,
      };
      return JSON.stringify({ ...described, response, clientExtensionResults: {} });
    },
  };
}
