import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createTokenExchange } from './token-exchange.ts';

/** Applications that act for people (RFC 8693). */
export function tokenExchange(core: Ports<'accounts' | 'applications' | 'tokens'>): IdentityModule {
  const { verifyForAnyResource: verify } = core.authentication;
  return { extensions: { provider: [{ attach: createTokenExchange({ ...core, verify }) }] } };
}
