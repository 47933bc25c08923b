import { readFileSync } from 'node:fs';
import { type ApiClient, createApiClient } from '../api-client.ts';
import { CliError } from '../errors.ts';

/** A token is replaced when it has less than this left, in milliseconds. */
const MARGIN_MS = 60_000;
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * A client for an application that an admin has marked as a deployer: its client_id is in GATEHOUSE_CLIENT_ID, and its secret in
 * GATEHOUSE_CLIENT_SECRET, or the token of a trusted issuer (RFC 7523) in the file that GATEHOUSE_CLIENT_ASSERTION_FILE names.
 */
export function connectDeployer(options: {
  url: string;
  userAgent: string;
  env: Readonly<Record<string, string | undefined>>;
}): ApiClient {
  const { url, userAgent, env } = options;
  const { GATEHOUSE_CLIENT_ID: clientId, GATEHOUSE_CLIENT_SECRET: secret } = env;
  const file = env.GATEHOUSE_CLIENT_ASSERTION_FILE;
  if (secret === undefined && file === undefined)
    throw new CliError(
      'With GATEHOUSE_CLIENT_ID, set GATEHOUSE_CLIENT_SECRET or GATEHOUSE_CLIENT_ASSERTION_FILE.',
    );
  let current: { token: string; until: number } | undefined;

  async function renew(): Promise<{ token: string; until: number }> {
    const proof =
      secret === undefined
        ? { client_assertion_type: JWT_BEARER, client_assertion: readFileSync(file ?? '', 'utf8').trim() }
        : { client_secret: secret };
    const body = { grant_type: 'client_credentials', client_id: clientId, ...proof };
    const { body: own } = await createApiClient({ url, userAgent }).request('POST', '/oauth/token', { body });
    const machine = createApiClient({ url, userAgent, token: async () => own.access_token });
    const { body: issued } = await machine.request('POST', '/api/v1/configuration/tokens');
    return { token: issued.access_token, until: performance.now() + issued.expires_in * 1000 };
  }

  return createApiClient({
    ...{ url, userAgent },
    async token() {
      if (current === undefined || current.until - performance.now() < MARGIN_MS) current = await renew();
      return current.token;
    },
  });
}
