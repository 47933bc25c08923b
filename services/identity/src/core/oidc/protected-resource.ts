import type { DescribedResource } from '../../pages/scope-descriptions.ts';
import type { Application } from '../applications/application.ts';

/** An API or MCP server of somebody else, that access tokens can be for (RFC 8707): its identifier is their audience. */
export type ProtectedResource = DescribedResource & {
  id: string;
  owner: string;
  createdAt: Date;
  updatedAt: Date;
};

/**
 * An application that asks for tokens for a resource; with `isMachine`, for itself and not for a person. `isOfMember`: with a credential
 * that somebody else than its owner gave.
 */
export type ResourceRequester = Pick<
  Application,
  'id' | 'owner' | 'consentEpoch' | 'scopes' | 'registrableScopes'
> & {
  isMachine: boolean;
  isOfMember?: boolean;
};

/** Finds the resource with this identifier; with a `requester`, only if that may ask for it. */
export type FindResource = (
  identifier: string,
  requester?: ResourceRequester,
) => Promise<ProtectedResource | undefined>;
