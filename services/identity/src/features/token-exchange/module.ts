import { findMcpResource } from '../../core/oidc/mcp-resource.ts';
import type { ProviderExtension } from '../../core/oidc/provider-options.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { ID_JAG } from './exchange-request.ts';
import { createTokenExchange } from './token-exchange.ts';

/** Applications that act for people, here (RFC 8693) and at other authorization servers (ID-JAG). */
export function tokenExchange(core: Ports<'accounts' | 'applications' | 'tokens'>): IdentityModule {
  const { verifyForAnyResource: verify } = core.authentication;
  const provider: ProviderExtension = {
    configure(configuration) {
      // draft-ietf-oauth-identity-assertion-authz-grant-03 §7.1.
      const issued = { identity_chaining_requested_token_types_supported: [ID_JAG] };
      configuration.discovery = { ...configuration.discovery, ...issued };
    },
    attach: createTokenExchange({ ...core, verify }),
  };
  return { extensions: { provider: [provider], resources: [findMcpResource(core.issuer)] } };
}
