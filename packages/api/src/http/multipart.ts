import { buffer } from 'node:stream/consumers';
import { Busboy } from '@fastify/busboy';
import { ServiceError } from '@gatehouse/core/errors';

export type SentFile = { name: string; content: Buffer };
/** The texts and the files of a form, by the names of their fields. */
export type FormParts = { values: URLSearchParams; files: ReadonlyMap<string, SentFile> };

/** More than any of our forms has. */
const MAX_PARTS = 20;

/** Reads the body of a form with files (RFC 7578). Throws `invalid`. */
export async function readMultipart(contentType: string, body: Buffer): Promise<FormParts> {
  const values = new URLSearchParams();
  const files = new Map<string, Promise<SentFile>>();
  try {
    await new Promise<void>((resolve, reject) => {
      const parser = new Busboy({ headers: { 'content-type': contentType }, limits: { parts: MAX_PARTS } });
      parser
        .on('field', (name, value) => values.append(name, value))
        .on('file', (field, stream, name) => {
          const content = buffer(stream).then((bytes) => ({ name, content: bytes }));
          // Awaited below; the parser has the same error.
          content.catch(() => {});
          files.set(field, content);
        })
        .on('partsLimit', () => reject(new Error('too many parts')))
        .on('finish', resolve)
        .on('error', reject)
        .end(body);
    });
    const contents = [...files].map(async ([name, content]) => [name, await content] as const);
    return { values, files: new Map(await Promise.all(contents)) };
  } catch (cause) {
    throw new ServiceError('invalid', 'The form cannot be read.', { cause });
  }
}
