import { v2Body } from '@gatehouse/api/http/error-bodies';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import { createApi } from '../../http/api.ts';
import { requireFirstParty } from '../../http/first-party.ts';
import { isListed, type Resource, type ResourceStore } from './registered-resource.ts';
import type { createResourceServerAuthentication, ResourceServer } from './resource-server.ts';

export const PREFIX = '/api/v1/resources';
/** The requests that resource servers may make, too. */
const FOR_SERVERS: Readonly<Record<string, RegExp>> = {
  GET: /^\/api\/v1\/resources(\/[^/]+\/revocations)?$/,
  POST: /^\/api\/v1\/resources\/[^/]+\/verifiers\/[^/]+\/report$/,
};

/** The person who makes a request, or the owner of the resource server that does. */
export type Manager = {
  person: NonNullable<Caller['person']>;
  epoch: number;
  server: ResourceServer | undefined;
};
/** The person or the resource server that reads a resource. */
type Reader = Pick<Manager, 'person'> & { server?: ResourceServer | undefined };
export type ResourceApi = ReturnType<typeof createResourceApi>;

/** The API below /api/v1/resources without its endpoints, and what these share. */
export function createResourceApi(options: {
  store: Pick<ResourceStore, 'find'>;
  authenticate(ctx: Context): Promise<Caller>;
  identifyServer: ReturnType<typeof createResourceServerAuthentication>;
}) {
  const api = createApi({
    prefix: PREFIX,
    errors: { body: v2Body },
    scopes: [MANAGE_APPS],
    /** A resource server reads what its owner has, and nothing else. */
    async identify(ctx): Promise<Manager> {
      const found = FOR_SERVERS[ctx.method]?.test(ctx.path)
        ? await options.identifyServer(ctx)
        : { server: undefined, caller: await options.authenticate(ctx) };
      const { server } = found;
      if (server !== undefined) return { server, person: { id: server.owner, role: 'user' }, epoch: 0 };
      const { caller } = found;
      return { server, person: requireFirstParty(caller, 'Resources'), epoch: caller.epoch.subject };
    },
  });
  return {
    api,
    /** One that the manager may see. The error does not reveal whether somebody else's exists. */
    async findManaged(id: string, manager: Reader): Promise<Resource> {
      const found = await options.store.find(id);
      if (found !== undefined && maySee(found, manager)) return found;
      throw new ServiceError('not_found', 'There is no such resource.');
    },
  };
}

/** A member's secret reads the resources that list the application, and the owner's secret all of the owner's. */
export function maySee(resource: Resource, { person, server }: Reader): boolean {
  if (person.role !== 'admin' && resource.owner !== person.id) return false;
  return server?.isOfMember !== true || isListed(resource, { ...server, id: server.clientId });
}
