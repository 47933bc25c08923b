import { generateKeyPairSync, sign } from 'node:crypto';

const SEQUENCE = 0x30;
const ECDSA_WITH_SHA256 = '06082a8648ce3d040302';
const COMMON_NAME = '0603550403';
const SUBJECT_ALT_NAME = '0603551d11';
const BASIC_CONSTRAINTS = '0603551d13';

/** An element of DER (X.690 §8.1). */
function der(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)),
  );
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

function utcTime(date: Date): Buffer {
  return der(0x17, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
}

/** A certificate of `localhost` for an hour, signed by itself (RFC 5280 §4.1), and its key, both in PEM. */
export function selfSigned(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = der(SEQUENCE, ECDSA_WITH_SHA256);
  const name = der(SEQUENCE, der(0x31, der(SEQUENCE, COMMON_NAME, der(0x0c, Buffer.from('localhost')))));
  const validity = der(
    SEQUENCE,
    utcTime(new Date(Date.now() - 60_000)),
    utcTime(new Date(Date.now() + 3_600_000)),
  );
  const names = der(SEQUENCE, der(0x82, Buffer.from('localhost')), der(0x87, '7f000001'));
  const extensions = der(
    SEQUENCE,
    der(SEQUENCE, SUBJECT_ALT_NAME, der(0x04, names)),
    der(SEQUENCE, BASIC_CONSTRAINTS, der(0x01, 'ff'), der(0x04, der(SEQUENCE, der(0x01, 'ff')))),
  );
  const tbs = der(
    SEQUENCE,
    der(0xa0, der(0x02, '02')),
    der(0x02, '01'),
    ...[algorithm, name, validity, name],
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, '00', sign('sha256', tbs, privateKey));
  const base64 = der(SEQUENCE, tbs, algorithm, signature).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
