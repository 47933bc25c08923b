import { invalidFields } from '@gatehouse/api/http/schema';
import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { requireUnprotected } from '@gatehouse/core/protection';
import { isLoopback } from '@gatehouse/core/web-uris';
import { MANAGE_APPS, REVOCATIONS_READ } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { ApplicationStore } from '../../core/applications/application.ts';
import { nameProblems } from '../../core/applications/application-rules.ts';
import { isOnHostOf } from '../../core/applications/hosts.ts';
import { type FindOwner, mayOwn } from '../../core/applications/ownership.ts';
import { type Audit, actedBy } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import { ALL_SCOPES, OFFLINE_ACCESS } from '../../core/oidc/claims/scope-rules.ts';
import { changeAtVersion } from '../../core/optimistic-writes.ts';
import { OwnerParameter } from '../applications/managers.ts';
import { Protected } from '../applications/views.ts';
import { holdsForOthers } from './listed-applications.ts';
import {
  identifierKeyOf,
  isListed,
  MAX_RESOURCES,
  type Resource,
  type ResourceStore,
} from './registered-resource.ts';
import { type Manager, maySee, PREFIX, type ResourceApi } from './resource-api.ts';
import { resourceReplaced } from './resource-notice.ts';
import { OWNER_MEMBER, type ResourceVerification } from './resource-verification.ts';

const MAX_SCOPES = 50;
const OURS: readonly string[] = [...ALL_SCOPES, OFFLINE_ACCESS, MANAGE_APPS];

const Scopes = Type.Array(
  Type.Object(
    {
      name: Type.String({
        pattern: '^[\\w.:/-]{1,100}$',
        description: 'Applications ask for it with this name. It must not be one of the scopes of Gatehouse.',
      }),
      description: Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The sentence about the scope on the consent page, such as “Read your appointments”.',
      }),
    },
    { additionalProperties: false },
  ),
  { minItems: 1, maxItems: MAX_SCOPES },
);
const Applications = Type.Union(
  [Type.Array(Type.String({ maxLength: 1000 }), { maxItems: 100 }), Type.Null()],
  {
    description:
      'The client IDs of the applications that may ask for its tokens. With `null`, all that sign people in may; of machines, those of the owner of the resource.',
  },
);
const Time = Type.String({ format: 'date-time' });
const EXAMPLE = {
  identifier: 'https://mcp.example.com/mcp',
  name: 'Calendar of Example',
  scopes: [
    { name: 'calendar:read', description: 'Read your appointments' },
    { name: 'calendar:write', description: 'Make and cancel appointments in your name' },
  ],
  applications: null,
};
const resourceShape = shape(
  'Resource',
  Type.Object({
    id: Type.String(),
    identifier: Type.String({ description: 'The `aud` of its access tokens.' }),
    name: Type.String(),
    scopes: Scopes,
    applications: Applications,
    owner: Type.String({ description: 'The id of the person who manages it.' }),
    protected: Protected,
    verified_at: Type.Union([Time, Type.Null()], {
      description:
        'When its metadata (RFC 9728) named this deployment in `authorization_servers`. Until then, it is `null`, and only the applications of its owner get tokens for it.',
    }),
    created_at: Time,
    updated_at: Time,
  }),
  {
    ...{ id: 'rsr_01m7g9w2k0000c4v8x3r6t5n1z', ...EXAMPLE, owner: 'usr_01m7g9v7d0000a3b9e5k2m8p4q' },
    protected: false,
    verified_at: '2026-11-02T09:30:00.000Z',
    ...{ created_at: '2026-11-02T09:30:00.000Z', updated_at: '2026-11-02T09:30:00.000Z' },
  },
);

/** @param listed those of its applications that still are listed */
const view = (
  { id, identifier, name, scopes, owner, ...times }: Resource,
  listed: readonly string[] | null,
) => ({
  ...{ id, identifier, name, scopes, applications: listed, owner },
  ...{ protected: times.protected, verified_at: times.verifiedAt },
  ...{ created_at: times.createdAt, updated_at: times.updatedAt },
});

/** /api/v1/resources: APIs and MCP servers that get their access tokens here. Errors are thrown. */
export function resourceRoutes(options: {
  issuer: string;
  store: ResourceStore;
  verification: Pick<ResourceVerification, 'read' | 'verify'>;
  applicationStore: Pick<ApplicationStore, 'findNow'>;
  accounts: { find: FindOwner };
  audit: Audit;
  authority: Pick<Authority, 'give' | 'giverOf'>;
  mails: Pick<AccountMails, 'notify'>;
  resourceApi: ResourceApi;
}): void {
  const { issuer, store, verification, audit, mails, authority, resourceApi } = options;
  const { api, findManaged } = resourceApi;

  const epochOf = async (id: string) => (await options.applicationStore.findNow(id))?.consentEpoch ?? 0;

  /** A list of applications as it is stored. */
  async function listing(
    applications: readonly string[] | null,
    { person, epoch }: Pick<Manager, 'person' | 'epoch'>,
    owner = person.id,
  ) {
    const giver = { id: person.id, epoch };
    const listedBy = await authority.give('resource_application', giver, { owner });
    return { applications, listedBy, listedEpochs: await Promise.all((applications ?? []).map(epochOf)) };
  }

  async function viewOf(resource: Resource) {
    const { applications } = resource;
    if (applications === null) return view(resource, null);
    const isHeld = await holdsForOthers(resource, authority);
    const now = (
      await Promise.all(
        applications.map(async (id) => {
          const application = await options.applicationStore.findNow(id);
          const isOfOwner = application?.owner === resource.owner;
          return { id, consentEpoch: application?.consentEpoch ?? 0, isHeld: isHeld || isOfOwner };
        }),
      )
    ).filter((it) => it.isHeld);
    const listed = now.filter((it) => isListed(resource, it)).map(({ id }) => id);
    return view(resource, listed);
  }

  /** Why this cannot be the identifier of a resource; the end of a sentence. */
  function identifierProblem(identifier: string): string | undefined {
    const url = URL.parse(identifier);
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be a URL';
    if (url.protocol === 'http:' && !isLoopback(url)) return 'must use https';
    // RFC 8707 §2; a query or credentials would make two names of one resource.
    if (/[?#]/.test(identifier) || url.username !== '' || url.password !== '')
      return 'must not have a query, a fragment or credentials';
    // It has no blanks, no backslashes, and nothing that cannot be seen.
    if (identifier !== url.href && `${identifier}/` !== url.href)
      return `must be in its normal form, ${url.href.slice(0, 200)}`;
    // Its audiences are our own.
    if (isOnHostOf(new URL(issuer), url)) return 'must not be on the host of this deployment';
    return undefined;
  }

  function check(sent: Partial<Pick<Resource, 'identifier' | 'name' | 'scopes'>>): void {
    const names = (sent.scopes ?? []).map(({ name }) => name);
    const problem = sent.identifier === undefined ? undefined : identifierProblem(sent.identifier);
    const problems = [
      ...(problem === undefined ? [] : [{ field: 'identifier', message: problem }]),
      ...(sent.name === undefined ? [] : nameProblems(sent.name)),
      ...(new Set(names).size < names.length
        ? [{ field: 'scopes', message: 'must not contain duplicates' }]
        : []),
      ...(sent.scopes ?? []).flatMap(({ description }, i) =>
        nameProblems(description).map((it) => ({ ...it, field: `scopes.${i}.description` })),
      ),
      ...names.flatMap((name, i) =>
        OURS.includes(name)
          ? [{ field: `scopes.${i}.name`, message: 'must not be a scope of Gatehouse' }]
          : [],
      ),
    ];
    if (problems.length > 0) throw invalidFields(problems);
  }

  const record = (ctx: Context, action: 'created' | 'changed' | 'deleted', actor: string, details: object) =>
    audit.record({ action: `resource.${action}`, ...actedBy(ctx, actor), details: { ...details } });

  /** Inserts it in place of the resource of somebody else, whom the metadata at its URL does not name. */
  async function replaceOther(ctx: Context, resource: Resource) {
    const other = await store.findByKey(resource.identifierKey);
    if (other === undefined || other.owner === resource.owner) return 'taken';
    await store.remove(other);
    const { id, identifier, name, owner } = other;
    await record(ctx, 'deleted', resource.owner, {
      resource: id,
      identifier,
      owner,
      replaced_by: resource.id,
    });
    void mails.notify(owner, resourceReplaced(name));
    return store.insert(resource);
  }

  api.post('create', '/', {
    summary: 'Register a resource',
    description:
      'An API or MCP server, for which applications then get access tokens with `resource` (RFC 8707). Their `aud` is the identifier. Applications of ' +
      'others get them once the metadata of the server (RFC 9728) names this deployment. It is read now and, if that does not work, ' +
      `when such an application first asks. If \`${OWNER_MEMBER}\` in the metadata is your ID, ` +
      'your resource replaces one that somebody else has registered with this URL; if it is another ID, you cannot register it.',
    body: shape(
      'NewResource',
      Type.Object({
        identifier: Type.String({ maxLength: 500, description: 'Its URL. It cannot be changed later.' }),
        name: Type.String(),
        scopes: Scopes,
        applications: Type.Optional(Applications),
        protected: Type.Optional(Protected),
        owner: OwnerParameter,
      }),
      EXAMPLE,
    ),
    responses: created('The resource.', resourceShape),
    kinds: ['conflict'],
    async handle({ ctx, epoch, person, body }) {
      const { identifier, name, scopes, applications = null, owner = person.id } = body;
      check({ identifier, name, scopes });
      await mayOwn(options.accounts.find, person, owner);
      const now = new Date();
      const resource: Resource = {
        ...{
          id: newId('rsr'),
          identifier,
          identifierKey: identifierKeyOf(identifier) ?? '',
          name,
          scopes,
        },
        ...(await listing(applications, { epoch, person }, owner)),
        ...{ owner, protected: body.protected ?? false, verifiedAt: null, createdAt: now, updatedAt: now },
      };
      const { problem, namedOwner } = await verification.read(resource);
      if (problem !== undefined && namedOwner !== undefined) throw new ServiceError('conflict', problem);
      if (problem === undefined) resource.verifiedAt = now;
      let outcome = await store.insert(resource);
      if (outcome === 'taken' && namedOwner === owner) outcome = await replaceOther(ctx, resource);
      if (outcome === 'full') {
        throw new ServiceError('conflict', `The owner already has ${MAX_RESOURCES} resources.`);
      }
      if (outcome === 'taken')
        throw new ServiceError(
          'conflict',
          `A resource with this URL is registered already. If it is not yours, add "${OWNER_MEMBER}": "${owner}" to the metadata of your server, and try again.`,
        );
      await record(ctx, 'created', person.id, { resource: resource.id, identifier, owner });
      ctx.set('location', `${PREFIX}/${resource.id}`);
      return viewOf(resource);
    },
  });

  api.get('list', '/', {
    summary: 'List resources',
    description:
      'Your own; for admins, all. An application of type `resource` lists those of its owner, by HTTP Basic or with the scope ' +
      '`revocations:read`.',
    scopes: [MANAGE_APPS, REVOCATIONS_READ],
    query: Type.Object({
      identifier: Type.Optional(
        Type.String({ maxLength: 500, description: 'Only the resource with this URL.' }),
      ),
    }),
    responses: ok('The latest first.', listOf('Resources', resourceShape)),
    async handle({ person, server, query: { identifier } }) {
      const all = await store.list(person.role === 'admin' ? undefined : person.id);
      const found = all.filter(
        (it) => (identifier === undefined || it.identifier === identifier) && maySee(it, { person, server }),
      );
      return { data: await Promise.all(found.map(viewOf)) };
    },
  });

  api.get('read', '/:id', {
    summary: 'Read a resource',
    conditional: 'read',
    responses: ok('The resource.', resourceShape),
    handle: async ({ params, person }) => viewOf(await findManaged(params.id, { person })),
  });

  api.patch('update', '/:id', {
    summary: 'Change a resource',
    conditional: 'write',
    description:
      'A scope that is removed is in no new token. People are asked again to allow a scope whose description changes. Other scopes or ' +
      'applications take a new proof of the URL (`verified_at`).',
    body: shape(
      'ResourceChanges',
      Type.Object({
        name: Type.Optional(Type.String()),
        scopes: Type.Optional(Scopes),
        applications: Type.Optional(Applications),
        protected: Type.Optional(Protected),
      }),
      { name: 'Calendar' },
    ),
    responses: ok('The resource.', resourceShape),
    kinds: ['conflict'],
    async handle({ ctx, epoch, person, params: { id }, body, ifVersion }) {
      check(omitUndefined(body));
      const { applications } = body;
      const isWider = body.scopes !== undefined || applications !== undefined;
      const changed = await changeAtVersion(
        ifVersion,
        () => findManaged(id, { person }),
        async (before) =>
          store.change(before, {
            ...omitUndefined(body),
            ...(applications === undefined
              ? {}
              : await listing(applications, { epoch, person }, before.owner)),
            ...(isWider ? { verifiedAt: null } : {}),
          }),
      );
      await record(ctx, 'changed', person.id, { resource: id, fields: Object.keys(body) });
      return viewOf(isWider ? (await verification.verify(changed)).resource : changed);
    },
  });

  api.post('verify', '/:id/verify', {
    summary: 'Verify a resource',
    description:
      'Reads the metadata of the server, at `/.well-known/oauth-protected-resource` before the path of the identifier (RFC 9728 §3.1). Its ' +
      '`resource` must be the identifier, and its `authorization_servers` must contain the issuer of this deployment. ' +
      `If it has \`${OWNER_MEMBER}\`, that must be the ID of the resource’s owner.`,
    responses: ok('The resource, which is verified.', resourceShape),
    kinds: ['conflict'],
    async handle({ params, person }) {
      const { resource, problem } = await verification.verify(await findManaged(params.id, { person }));
      if (problem !== undefined) throw new ServiceError('conflict', problem);
      return viewOf(resource);
    },
  });

  api.delete('remove', '/:id', {
    summary: 'Delete a resource',
    description: '409 while it is `protected`.',
    conditional: 'write',
    kinds: ['conflict'],
    responses: done(
      'No application gets tokens for it any more. Those that were issued work until they expire, unless it introspects them.',
    ),
    async handle({ ctx, person, params: { id }, ifVersion }) {
      const { identifier } = await changeAtVersion(
        ifVersion,
        () => findManaged(id, { person }),
        async (resource) => {
          requireUnprotected(resource, 'resource');
          return (await store.remove(resource)) ? resource : undefined;
        },
      );
      await record(ctx, 'deleted', person.id, { resource: id, identifier });
    },
  });
}
