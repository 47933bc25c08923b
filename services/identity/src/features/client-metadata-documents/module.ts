import { setTimeout as delay } from 'node:timers/promises';
import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { ServiceError } from '@gatehouse/core/errors';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { requestInfo } from '@gatehouse/server/requests';
import { html } from '@gatehouse/web/html';
import Provider, { errors } from 'oidc-provider';
import { type Application, newApplication } from '../../core/applications/application.ts';
import type { ApplicationSource } from '../../core/extensions.ts';
import { METADATA_DOCUMENTS } from '../../core/limits/bounds.ts';
import { isMetadataDocumentId } from '../../core/oidc/clients/metadata-document-id.ts';
import { grantSeconds } from '../../core/oidc/grants.ts';
import type { ProviderExtension, RequestDetails } from '../../core/oidc/provider-options.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { localProgramWarning } from '../../pages/local-program-warning.ts';
import { t } from '../../texts/texts.ts';
import { createKeptDocuments } from './kept-documents.ts';
import { clientIdProblem } from './metadata-document.ts';
import { createMetadataDocuments, DOCUMENT_TIMEOUT_MS, MAX_DOCUMENT } from './metadata-documents.ts';
import type { metadataDocumentSettings } from './settings.ts';

/** The routes of oidc-provider that need the document as it is now, since people are asked by it. */
const REQUEST_ROUTES = ['authorization', 'resume', 'pushed_authorization_request'];
/** How long a token request waits for the document of a client that is known without it, in milliseconds. */
const KNOWN_WAIT_MS = 1000;

/**
 * Clients that nobody has registered, and that describe themselves in a document at the URL which is their client_id
 * (draft-ietf-oauth-client-id-metadata-document). Each is a public application without an owner.
 */
export function clientMetadataDocuments(
  core: Ports<'tokens'> & WithSettings<typeof metadataDocumentSettings>,
): IdentityModule {
  const { config, connection, logger, store } = core;
  const { clientMetadataScopes: scopes = [], clientMetadataNetworks: networks = [] } = config;
  if (config.clientMetadata !== 'on') return {};
  const outbound = createOutbound({
    ...{ to: 'public', networks, timeoutMs: DOCUMENT_TIMEOUT_MS, maxBytes: MAX_DOCUMENT },
  });
  const kept = createKeptDocuments(connection, { seconds: grantSeconds(config.lifetimes) });
  const documents = createMetadataDocuments({
    ...{ outbound, scopes, logger, kept },
    count: createAddressLimiter(METADATA_DOCUMENTS, core.sharedLimits).count,
    async isAllowed(url) {
      for await (const _ of store.grantsOfClient(url)) return true;
      return false;
    },
  });

  /** The client of a stored document; for an unknown document a public client without metadata, which is enough to end its access. */
  async function withoutFetching(id: string): Promise<Application | undefined> {
    if (clientIdProblem(id) !== undefined) return undefined;
    const nameless = { id, name: id, type: 'native', owner: null, scopes: [...scopes] } as const;
    return (await documents.known(id)) ?? newApplication(nameless);
  }

  /** Consents that exist work without the document. A newer document counts if it arrives in time. */
  async function forTokens(id: string, requester: string): Promise<Application> {
    const known = await documents.known(id);
    const found = documents.find(id, requester);
    if (known === undefined) return found;
    return Promise.race([found.catch(() => known), delay(KNOWN_WAIT_MS, known, { ref: false })]);
  }

  const applications: ApplicationSource = {
    has: isMetadataDocumentId,
    async find(id, requester) {
      const { ctx } = Provider;
      // A person is asked on our own pages.
      if (ctx === undefined && requester !== undefined)
        return documents.find(id, requester).catch(() => withoutFetching(id));
      const route = String(ctx?.oidc?.route);
      const isToken = route === 'token';
      if (ctx === undefined || !(isToken || REQUEST_ROUTES.includes(route))) return withoutFetching(id);
      const { address } = requestInfo(ctx.req);
      try {
        return await (isToken ? forTokens(id, address) : documents.find(id, address));
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { kind, message, status } = error;
        if (kind === 'rate_limited') throw error;
        const code = kind === 'invalid' ? 'invalid_client' : 'temporarily_unavailable';
        throw Object.assign(new errors.CustomOIDCProviderError(code, message), {
          status,
          statusCode: status,
        });
      }
    },
  };
  const provider: ProviderExtension = {
    configure(configuration) {
      configuration.discovery = { ...configuration.discovery, client_id_metadata_document_supported: true };
    },
    attach(provider) {
      // Before the code is sent, which is exchanged also when the document is away.
      provider.use(async (ctx, next) => {
        await next();
        const { route, entities } = ctx.oidc ?? {};
        const clientId = REQUEST_ROUTES.includes(route) ? entities?.AuthorizationCode?.clientId : undefined;
        if (clientId !== undefined && isMetadataDocumentId(clientId)) await documents.keep(clientId);
      });
    },
  };
  const unverified: RequestDetails = async (_ctx, { params }) => {
    const clientId = String(params.client_id);
    if (!isMetadataDocumentId(clientId)) return undefined;
    const host = html`<strong><bdi>${new URL(clientId).host}</bdi></strong>`;
    return html`<p>${t('This application describes itself at {host}. Nobody here has checked who is behind it.', { host })}</p>
${localProgramWarning(params.redirect_uri)}`;
  };
  return {
    collections: [kept.collection],
    extensions: {
      applicationSources: [applications],
      provider: [provider],
      requestDetails: [unverified],
    },
  };
}
