import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Manager } from '../../core/applications/ownership.ts';
import { originOf } from '../../core/audit/audit.ts';
import { createManagedApi } from '../../http/api.ts';
import { requireFirstParty } from '../../http/first-party.ts';

export const APPLICATIONS = '/api/v1/applications';

/** The owner of something new, where an admin creates it for somebody else. */
export const OwnerParameter = Type.Optional(
  Type.String({
    description: 'The id of its owner, by default the caller. Only admins may name another user.',
  }),
);

/** An API for the person who manages applications. Its endpoints throw `unauthenticated` and `forbidden`. */
export function createManagerApi(prefix: string, authenticate: (ctx: Context) => Promise<Caller>) {
  return createManagedApi(prefix, async (ctx) => {
    const caller = await authenticate(ctx);
    const person = requireFirstParty(caller, 'Applications');
    const { clientId, epoch } = caller;
    const manager: Manager = { ...person, epoch: epoch.subject, clientId, origin: originOf(ctx) };
    return { caller, manager };
  });
}
