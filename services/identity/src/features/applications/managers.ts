import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import type { Manager } from '../../core/applications/ownership.ts';
import { originOf } from '../../core/audit/audit.ts';
import { createManagedApi } from '../../http/api.ts';
import { requireFirstParty } from '../../http/first-party.ts';

export const APPLICATIONS = '/api/v1/applications';

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
