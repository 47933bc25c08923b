import type { Application } from '../../core/applications/application.ts';
import {
  ACCOUNT_CLIENT,
  CLI_CLIENT,
  CLI_NAME,
  DASHBOARD_CLIENT,
  managesApplications,
} from '../../core/oidc/clients/client-metadata.ts';
import { MCP_ACTOR } from '../../core/oidc/mcp-resource.ts';
import type { ProgramSessions } from '../../core/sessions/program-sessions.ts';
import type { Delegation } from './delegations.ts';

/** The names of the first-party clients that sign people in, or act for them. */
const OUR_NAMES: Readonly<Record<string, string>> = {
  [DASHBOARD_CLIENT]: 'Gatehouse dashboard',
  [ACCOUNT_CLIENT]: 'Account pages',
  [CLI_CLIENT]: CLI_NAME,
  [MCP_ACTOR]: 'Gatehouse MCP',
};

export type ApplicationNames = (
  reader: Delegation,
  ids: readonly string[],
) => Promise<Record<string, string>>;

/**
 * The names of applications by their ids, if the reader sees the applications at /api/v1/applications. With a login, the dashboard or the
 * command line, people see their own, and admins see all. Other ids, and ids that do not exist, have no name.
 */
export function createApplicationNames(
  find: (id: string) => Promise<Pick<Application, 'name' | 'owner'> | undefined>,
  programs: readonly Pick<ProgramSessions, 'clientId' | 'clientName'>[],
): ApplicationNames {
  return async ({ clientId, person, subject, keyId }, ids) => {
    const isFirstParty = managesApplications(clientId) || programs.some((it) => it.clientId === clientId);
    const manager = isFirstParty && person?.id === subject && keyId === undefined ? person : undefined;

    async function nameOf(id: string): Promise<[id: string, name: string][]> {
      const program = programs.find((it) => it.clientId === id);
      const ours = program?.clientName ?? (Object.hasOwn(OUR_NAMES, id) ? OUR_NAMES[id] : undefined);
      if (ours !== undefined) return [[id, ours]];
      const application = manager && (await find(id));
      const isSeen = application && (manager.role === 'admin' || application.owner === manager.id);
      return isSeen ? [[id, application.name]] : [];
    }
    return Object.fromEntries((await Promise.all(ids.map(nameOf))).flat());
  };
}
