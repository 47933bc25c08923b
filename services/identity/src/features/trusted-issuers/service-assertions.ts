import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { decodeJwt } from 'jose';
import type { ServiceClient } from '../../core/tokens/service-tokens.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { onlyOf } from './rule.ts';
import type { WorkloadIssuer } from './trusted-issuer.ts';
import { TokenProblem, verifyWorkloadToken } from './workload-token.ts';

/** The longest that a token of a service may live, in seconds: nothing but its time ends a stolen one. */
const MAX_SECONDS = 3600;

/** Returns the secret of a service for its token; undefined for another client, or a service that has a secret. Throws `unauthenticated`. */
export type ServiceAssertions = (clientId: string, token: string) => Promise<string | undefined>;

/**
 * Authenticates our own services by tokens that the platform on which they run has signed, as the operator's settings say. Refused tokens with a
 * genuine signature are logged: somebody on the platform may be posing as a service.
 */
export function createServiceAssertions(options: {
  /** Our own, the only audience of the tokens. */
  issuer: string;
  /** The issuer of the tokens; undefined where services have secrets. */
  platform: WorkloadIssuer | undefined;
  services: readonly ServiceClient[];
  keys: IssuerKeys;
  logger: Logger;
}): ServiceAssertions {
  const { issuer, platform, services, keys, logger } = options;

  /** Throws a TokenProblem. */
  async function verify(token: string, platform: WorkloadIssuer, subject: string | undefined) {
    const { sub, aud, exp, iat } = await verifyWorkloadToken(token, platform, keys);
    if (sub !== subject) throw new TokenProblem('has another subject than the service');
    if (onlyOf(aud) !== issuer) throw new TokenProblem('is not for this issuer alone');
    if (exp - (iat ?? 0) > MAX_SECONDS) throw new TokenProblem(`lives longer than ${MAX_SECONDS} seconds`);
  }

  return async (clientId, token) => {
    const service = services.find(({ id, subject }) => id === clientId && subject !== undefined);
    if (service === undefined || platform === undefined) return undefined;
    await verify(token, platform, service.subject).catch((error: unknown) => {
      if (!(error instanceof TokenProblem)) throw error;
      if (!error.isForged) {
        const { sub, aud } = decodeJwt(token);
        logger.warn({ client: clientId, sub, aud, problem: error.message }, 'refused the token of a service');
      }
      throw new ServiceError('unauthenticated', `The token ${error.message}.`);
    });
    return service.secret;
  };
}
