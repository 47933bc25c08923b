import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { html } from '@gatehouse/web/html';
import type { Account } from '../../core/accounts/account.ts';
import type { AccessSource } from '../../core/authority/standing-access.ts';
import type { PersonalDataSection } from '../../core/extensions.ts';
import { OPEN_REGISTRATIONS } from '../../core/limits/bounds.ts';
import type { ProviderExtension, RequestDetails } from '../../core/oidc/provider-options.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { localProgramWarning } from '../../pages/local-program-warning.ts';
import { t } from '../../texts/texts.ts';
import { endRegistrationRoutes } from './end-registration-routes.ts';
import { createRegistrationExpiry } from './expiry.ts';
import { REGISTRATION_ENDPOINT, registrationRoutes } from './registration-routes.ts';
import { createRegistrationStore } from './registration-store.ts';
import { registrationTokenRoutes } from './registration-token-routes.ts';
import { createRegistrationTokenStore } from './registration-token-store.ts';
import { createRegistrations } from './registrations.ts';
import type { registrationSettings } from './settings.ts';

const EXPIRY_EVERY_MS = 600_000;

/** Clients that register themselves (RFC 7591), and manage their registrations (RFC 7592). */
export function registration(
  core: Ports<'accounts' | 'applications'> & WithSettings<typeof registrationSettings>,
): IdentityModule {
  const { connection, logger } = core;
  const tokens = createRegistrationTokenStore(connection);
  const store = createRegistrationStore(connection);
  const expiry = createRegistrationExpiry({ ...core, registrations: store });
  const { openRegistrationsPerHour: quota = OPEN_REGISTRATIONS.quota } = core.config;
  const openRegistrationLimiter = createAddressLimiter({ ...OPEN_REGISTRATIONS, quota }, core.sharedLimits);
  const registrations = createRegistrations({
    ...core,
    tokens,
    expiry,
    openRegistrationLimiter,
    registrations: store,
  });
  const isOpen = core.config.openRegistration === 'on';
  const provider: ProviderExtension = {
    configure(configuration) {
      // A client that finds it here tries it without a token, and may give up when that fails.
      if (!isOpen) return;
      const registration_endpoint = core.issuer + REGISTRATION_ENDPOINT;
      configuration.discovery = { ...configuration.discovery, registration_endpoint };
    },
  };
  const listOf = (account: Account) =>
    tokens.list(account.id, core.authority.givenBy('registration_token', account).epoch);
  const access: AccessSource<Account> = {
    list: async (account) =>
      (await listOf(account)).map(({ id, name, createdAt }) => {
        return { id, kind: 'registration_token', name, clientId: null, createdAt, lastUsedAt: null };
      }),
    keep: (userId, ids, givenAs) => tokens.setEpoch(userId, [...ids], givenAs('registration_token').epoch),
  };
  const personalData: PersonalDataSection = {
    name: 'registration_tokens',
    rows: async function* (account) {
      for (const { name, scopes, usesLeft, createdAt, expiresAt } of await listOf(account)) {
        yield { name, scopes, uses_left: usesLeft, created_at: createdAt, expires_at: expiresAt };
      }
    },
  };
  const unverified: RequestDetails = async (_ctx, { params }) => {
    const clientId = String(params.client_id);
    // Known already, unlike its registration.
    if ((await core.applications.find(clientId))?.owner !== null) return undefined;
    const found = await store.find(clientId);
    if (found?.owner !== null) return undefined;
    return html`<p>${t('This application has registered itself. Nobody here has checked who is behind it.')}</p>
${localProgramWarning(params.redirect_uri)}`;
  };
  return {
    apis: [
      registrationTokenRoutes({ ...core, tokens }),
      endRegistrationRoutes({ ...core, registrations: store }),
      registrationRoutes({ ...core, registrations, isOpen }),
    ],
    collections: [tokens.collection],
    parts: [
      createPeriodicTask({
        run: expiry.run,
        everyMs: EXPIRY_EVERY_MS,
        immediately: true,
        onError: (error) => logger.warn({ err: error }, 'unused clients could not be removed; trying again'),
      }),
    ],
    extensions: {
      provider: [provider],
      access: [access],
      personalData: [personalData],
      requestDetails: [unverified],
      erasers: [tokens.removeAllOf, store.removeAllOf],
    },
  };
}
