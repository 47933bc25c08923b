import type { Logger } from '@gatehouse/core/logger';
import { type JobHandler, PermanentError, RetryLaterError } from '@gatehouse/events/job';
import type Provider from 'oidc-provider';
import { consentEpochOf, isOfConsentEpoch } from '../../core/oidc/epochs/consent-epochs.ts';
import type { LogoutDocument } from './logout-jobs.ts';
import { sendLogoutToken } from './provider-logout.ts';

/** How long is waited before each further attempt, in milliseconds. */
const RETRY_MS = [1000, 5000, 30_000];
export const MAX_ATTEMPTS = RETRY_MS.length + 1;
const REFUSED = 'The application has not accepted the token.';

/**
 * Tells an application of a sign-out (OpenID Connect Back-Channel Logout 1.0 §2.5). Each attempt has a token of its own, since
 * they are valid for two minutes.
 */
export function createLogoutHandler(options: {
  provider(): Provider;
  logger: Logger;
}): JobHandler<LogoutDocument> {
  return async ({ attempt, document }) => {
    const { client_id: id, account_id: accountId, sid, consent_epoch: consentEpoch } = document;
    const client = await options.provider().Client.find(id);
    if (client?.backchannelLogoutUri === undefined) return;
    // An earlier owner's people are no business of the present owner's.
    if (!isOfConsentEpoch({ consentEpoch }, consentEpochOf(client))) return;
    try {
      await sendLogoutToken(client, accountId, sid);
    } catch (error) {
      const about = { err: error, client: id, attempt };
      const retryInMs = RETRY_MS[attempt - 1];
      if (retryInMs !== undefined) {
        options.logger.debug(about, 'an application could not be notified of a sign-out yet');
        throw new RetryLaterError(REFUSED, retryInMs);
      }
      options.logger.warn(about, 'an application could not be notified of a sign-out');
      // Nobody could do anything about a dead letter.
      throw new PermanentError(REFUSED);
    }
  };
}
