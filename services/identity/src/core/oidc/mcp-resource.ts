import { MCP_READ, MCP_WRITE, mcpAudience, scopesOfTools } from '@gatehouse/tokens/scopes';
import type { Text } from '../../texts/texts.ts';
import type { Application } from '../applications/application.ts';
import type { FindResource, ProtectedResource } from './protected-resource.ts';

/** The MCP server in `act` of the tokens with which its tools call the API. No application has such an id. */
export const MCP_ACTOR = 'gatehouse-mcp';

const DESCRIPTIONS = {
  [MCP_READ]: 'Read everything that you can read here, with the role that you have',
  [MCP_WRITE]:
    'Create and change everything that you can change here. Steps that cannot be undone are left to you, on a separate page',
} satisfies Record<string, Text>;

/**
 * The scopes at the API that an application may have for these scopes of the MCP server. An application that describes or registers itself
 * gets only scopes that it could ask for at the API, so that tools are no way around its limits.
 */
export function toolScopes(
  scopes: ReadonlySet<string>,
  { owner, scopes: own, registrableScopes }: Pick<Application, 'owner' | 'scopes' | 'registrableScopes'>,
): string[] {
  const bound = registrableScopes ?? (owner === null ? own : undefined);
  return scopesOfTools(scopes).filter((scope) => bound?.includes(scope) ?? true);
}

/** Finds the MCP server of this deployment: for applications that people use, since a machine can call the API itself. */
export function findMcpResource(issuer: string): FindResource {
  const resource: ProtectedResource = {
    id: 'mcp',
    identifier: mcpAudience(issuer),
    name: 'Gatehouse MCP',
    owner: MCP_ACTOR,
    scopes: Object.entries(DESCRIPTIONS).map(([name, description]) => ({ name, description })),
    createdAt: new Date(0),
    updatedAt: new Date(0),
  };
  return async (identifier, requester) => {
    if (identifier !== resource.identifier || requester?.isMachine === true) return undefined;
    if (requester === undefined) return resource;
    const scopes = resource.scopes.filter(({ name }) => toolScopes(new Set([name]), requester).length > 0);
    return scopes.length === 0 ? undefined : { ...resource, scopes };
  };
}
