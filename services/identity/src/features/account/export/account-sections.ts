import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { Application } from '../../../core/applications/application.ts';
import type { PersonalDataSection } from '../../../core/extensions.ts';
import type { AuthorizedApplications } from '../../../core/oidc/authorized-applications.ts';
import type { BrowserSessions } from '../../../core/sessions/browser-sessions.ts';
import type { FactorList } from '../../../core/sessions/listed-factors.ts';
import {
  type ListedSession,
  listPrograms,
  type ProgramSessions,
} from '../../../core/sessions/program-sessions.ts';

/** The sections of an export with the data that identity shows on the pages of an account. */
export function accountSections(options: {
  factors: readonly Pick<FactorList, 'list'>[];
  sessions: Pick<BrowserSessions, 'list'>;
  programs: readonly Pick<ProgramSessions, 'list'>[];
  authorized: Pick<AuthorizedApplications, 'list'>;
  applications: { ownedBy(userId: string): Promise<readonly Application[]> };
}): PersonalDataSection[] {
  const { factors, sessions, programs, authorized, applications } = options;
  // Programs have more fields than these, which are not for people.
  const sessionRow = ({ address, userAgent, createdAt, lastUsedAt }: ListedSession) =>
    inSnakeCase({ address, userAgent, createdAt, lastUsedAt });
  return [
    {
      name: 'passkeys_and_second_factors',
      rows: async function* ({ id }) {
        for (const { list } of factors) yield* (await list(id)).map(inSnakeCase);
      },
    },
    {
      name: 'sessions',
      rows: async function* (account) {
        yield* (await sessions.list(account.id)).map(sessionRow);
        yield* (await listPrograms(programs, account)).map(sessionRow);
      },
    },
    {
      name: 'authorized_applications',
      rows: async function* ({ id }) {
        yield* (await authorized.list(id)).map(({ resources, ...it }) =>
          inSnakeCase({ ...it, resources: resources.map(({ name }) => name) }),
        );
      },
    },
    {
      name: 'own_applications',
      rows: async function* ({ id }) {
        for (const {
          id: clientId,
          name,
          type,
          redirectUris,
          scopes,
          createdAt,
        } of await applications.ownedBy(id)) {
          yield inSnakeCase({ clientId, name, type, redirectUris, scopes, createdAt });
        }
      },
    },
  ];
}

/** With the names that fields have in the API. */
function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const entries = Object.entries(omitUndefined(value as Record<string, unknown>));
  return Object.fromEntries(
    entries.map(([name, it]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      inSnakeCase(it),
    ]),
  );
}
