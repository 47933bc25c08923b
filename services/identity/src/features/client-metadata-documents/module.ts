import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { ServiceError } from '@gatehouse/core/errors';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { requestInfo } from '@gatehouse/server/requests';
import { html } from '@gatehouse/web/html';
import Provider, { errors } from 'oidc-provider';
import { newApplication } from '../../core/applications/application.ts';
import type { Core } from '../../core/core.ts';
import { METADATA_DOCUMENTS } from '../../core/limits/bounds.ts';
import { isMetadataDocumentId } from '../../core/oidc/clients/metadata-document-id.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { loopbackWarning } from '../../pages/loopback-warning.ts';
import { t } from '../../texts/texts.ts';
import { createMetadataDocuments, DOCUMENT_TIMEOUT_MS, MAX_DOCUMENT } from './metadata-documents.ts';

/**
 * Clients that nobody has registered, and that describe themselves in a document at the URL which is their client_id
 * (draft-ietf-oauth-client-id-metadata-document). Each is a public application without an owner.
 */
export function clientMetadataDocuments(core: Core): IdentityModule {
  const { config, extensions, logger } = core;
  if (config.clientMetadata?.enabled !== true) return {};
  const { scopes, networks } = config.clientMetadata;
  const outbound = createOutbound({
    ...{ to: 'public', networks, timeoutMs: DOCUMENT_TIMEOUT_MS, maxBytes: MAX_DOCUMENT },
  });
  const documents = createMetadataDocuments({ outbound, scopes, logger });
  const { count } = createAddressLimiter(METADATA_DOCUMENTS, core.sharedLimits);

  extensions.applicationSources.push({
    has: isMetadataDocumentId,
    async find(id) {
      const { ctx } = Provider;
      try {
        return await documents.find(id, async () => ctx && count(requestInfo(ctx.req).address));
      } catch (error) {
        // Its tokens and what people have allowed it are there all the same.
        if (ctx === undefined)
          return newApplication({ id, name: id, type: 'native', owner: null, scopes: [...scopes] });
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
  });
  extensions.provider.push({
    configure(configuration) {
      configuration.discovery = { ...configuration.discovery, client_id_metadata_document_supported: true };
    },
  });
  extensions.requestDetails.push(async (_ctx, { params }) => {
    const clientId = String(params.client_id);
    if (!isMetadataDocumentId(clientId)) return undefined;
    const host = html`<strong><bdi>${new URL(clientId).host}</bdi></strong>`;
    return html`<p>${t('This application describes itself at {host}. Nobody here has checked who is behind it.', { host })}</p>
${loopbackWarning(params.redirect_uri)}`;
  });
  return {};
}
