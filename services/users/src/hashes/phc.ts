import { ServiceError } from '@gatehouse/core/errors';

/**
 * A password hash in the PHC string format
 * (https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md). The version is a parameter here: `v`.
 */
export type Phc = { id: string; params: Readonly<Record<string, number>>; salt: Buffer; hash: Buffer };

const B64 = '[A-Za-z0-9+/]';
const PARAMS = /[a-z]+=\d{1,15}(?:,[a-z]+=\d{1,15})*/.source;
const PHC = new RegExp(
  `^\\$(?<id>[a-z0-9-]{1,32})(?:\\$(?<version>v=\\d{1,15}))?(?:\\$(?<params>${PARAMS}))?\\$(?<salt>${B64}*={0,2})\\$(?<hash>${B64}+={0,2})$`,
);
/** How texts encode bytes. Base64 has either alphabet (RFC 4648 §4, §5), or Passlib's dot for the plus. */
const ENCODINGS: ReadonlyMap<string, { name: string; pattern: RegExp }> = new Map([
  ['utf8', { name: 'UTF-8', pattern: /^/ }],
  ['hex', { name: 'hexadecimal', pattern: /^(?:[0-9a-f]{2})*$/i }],
  ['base64', { name: 'Base64', pattern: /^[\w+/.-]*={0,2}$/ }],
]);

/** Undefined for a text that has another form. */
export function readPhc(text: string): Phc | undefined {
  const { id, version = '', params = '', salt = '', hash = '' } = PHC.exec(text)?.groups ?? {};
  if (id === undefined) return undefined;
  const pairs = [version, ...params.split(',')].filter(Boolean).map((pair) => pair.split('='));
  return {
    id,
    params: Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)])),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

export function writePhc({ id, params: { v, ...params }, salt, hash }: Phc): string {
  const pairs = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  const parts = [id, v === undefined ? [] : `v=${v}`, pairs.join() || [], base64(salt), base64(hash)];
  return `$${parts.flat().join('$')}`;
}

/** The bytes of a text in `utf8`, `hex` or `base64`. Throws `invalid` for what Buffer would skip, and for another encoding. */
export function bytesOf(text: string, encoding: string): Buffer {
  const { name, pattern } = ENCODINGS.get(encoding) ?? {};
  if (pattern === undefined) throw badHash('has an encoding that is not supported');
  if (!pattern.test(text)) throw badHash(`is not valid ${name}`);
  return Buffer.from(text.replaceAll('.', encoding === 'base64' ? '+' : '.'), encoding as BufferEncoding);
}

/** The error for a hash; `problem` follows "The password hash", and repeats none of its content. */
export function badHash(problem: string): ServiceError {
  return new ServiceError('invalid', `The password hash ${problem}.`);
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
