import { readFile } from 'node:fs/promises';
import { unavailable } from '@gatehouse/core/errors';

/** RFC 7523 §2.2. */
export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * The parameters by which a client authenticates with the token in a file (RFC 7521 §4.2). Platforms replace the file before the token expires, so it is
 * read each time. Throws `unavailable`.
 */
export async function readClientAssertion(file: string): Promise<Record<string, string>> {
  try {
    return { client_assertion_type: JWT_BEARER, client_assertion: (await readFile(file, 'utf8')).trim() };
  } catch (error) {
    throw unavailable('The token of this service cannot be read.', error);
  }
}
