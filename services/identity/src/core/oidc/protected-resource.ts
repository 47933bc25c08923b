import type { DescribedResource } from '../../pages/scope-descriptions.ts';

/** An API or MCP server of somebody else, that access tokens can be for (RFC 8707): its identifier is their audience. */
export type ProtectedResource = DescribedResource & { id: string; owner: string; updatedAt: Date };

/** Finds the resource with this identifier; with a `clientId`, only if that application may ask for it. */
export type FindResource = (identifier: string, clientId?: string) => Promise<ProtectedResource | undefined>;
