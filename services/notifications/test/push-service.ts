import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { listen } from '@gatehouse/testing/listen';
import { selfSigned } from '@gatehouse/testing/self-signed';

type Teardown = { teardown(fn: () => unknown): void };
type Pushed = { path: string; message: unknown; headers: Record<string, string | string[] | undefined> };

/** A push service with browsers that decrypt what they get, as RFC 8291 says. */
export async function startPushService(t: Teardown) {
  const received: Pushed[] = [];
  /** By path: the status that it answers instead of 201. */
  const responses = new Map<string, number>();
  const browsers = new Map<string, { ecdh: ReturnType<typeof createECDH>; auth: Buffer }>();
  const { cert, key } = selfSigned();
  setDefaultCACertificates([...getCACertificates(), cert]);

  const server = createServer({ cert, key }, async (request, response) => {
    const path = request.url ?? '';
    const body = await buffer(request);
    const browser = browsers.get(path);
    const status = responses.get(path) ?? (browser === undefined ? 404 : 201);
    if (status === 201 && browser !== undefined) {
      checkVapid(String(request.headers.authorization), origin);
      received.push({ path, message: JSON.parse(decrypt(body, browser)), headers: request.headers });
    }
    response
      .writeHead(status, status === 201 ? { location: `${origin}/message/${received.length}` } : {})
      .end();
  });
  const origin = `https://localhost:${await listen(t, server)}`;

  /** A new subscription, as a browser hands it to its page. */
  function subscribe() {
    const ecdh = createECDH('prime256v1');
    const p256dh = ecdh.generateKeys().toString('base64url');
    const auth = randomBytes(16);
    const path = `/send/${randomBytes(8).toString('hex')}`;
    browsers.set(path, { ecdh, auth });
    return {
      path,
      subscription: { endpoint: origin + path, keys: { p256dh, auth: auth.toString('base64url') } },
    };
  }
  return { received, responses, subscribe };
}

/** RFC 8291 §3.4 and RFC 8188 §2.1, for a message of one record. */
function decrypt(
  body: Buffer,
  { ecdh, auth }: { ecdh: ReturnType<typeof createECDH>; auth: Buffer },
): string {
  const salt = body.subarray(0, 16);
  const keyLength = body.readUInt8(20);
  const serverKey = body.subarray(21, 21 + keyLength);
  const record = body.subarray(21 + keyLength);
  if (body.length > body.readUInt32BE(16) + 21 + keyLength) throw new Error('more than one record');
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), serverKey]);
  const secret = Buffer.from(hkdfSync('sha256', ecdh.computeSecret(serverKey), auth, info, 32));
  const derive = (what: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, `Content-Encoding: ${what}\0`, length));
  const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  return padded.subarray(0, end).toString();
}

/** RFC 8292 §2: throws unless the token is signed by the key beside it, and for this origin. */
function checkVapid(authorization: string, origin: string): void {
  const [, token = '', publicKey = ''] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  const point = Buffer.from(publicKey, 'base64url');
  const jwk = {
    ...{ kty: 'EC', crv: 'P-256' },
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  };
  const [head = '', claims = '', signature = ''] = token.split('.');
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const };
  const isValid = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    key,
    Buffer.from(signature, 'base64url'),
  );
  const { aud, sub, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
  if (!isValid || aud !== origin || !/^mailto:/.test(sub) || !(exp > Date.now() / 1000)) {
    throw new Error(`not a valid VAPID token: ${claims}`);
  }
}
