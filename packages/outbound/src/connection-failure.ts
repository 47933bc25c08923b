import { AddressRefusedError } from './connect.ts';

/**
 * The reason why a request to another server got no response, as a clause such as "the host has no address"; undefined for any other error.
 * It names no addresses and ports, with which strangers could explore networks; the log has those.
 */
export function connectionFailure(thrown: unknown): string | undefined {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { name, code = '' } = error as Error & { code?: string };
    if (error instanceof AddressRefusedError) return 'the host is not on the public internet';
    if (name === 'TimeoutError' || /^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|ERR_JWKS_TIMEOUT)$/.test(code))
      return 'the server did not respond in time';
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host has no address';
    if (code === 'ECONNREFUSED') return 'the server refused the connection';
    if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return `the TLS connection failed (${code})`;
    if (/^(?:E(?!RR_)[A-Z_]+|UND_ERR_\w+)$/.test(code)) return `the connection failed (${code})`;
  }
  return undefined;
}
