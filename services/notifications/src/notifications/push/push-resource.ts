import { plainBody } from '@gatehouse/api/http/error-bodies';
import { invalidFields, serializer } from '@gatehouse/api/http/schema';
import { bareArray } from '@gatehouse/api/lists/paging';
import { ok, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import { type Profile, requestBody, view } from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { ServiceError } from '@gatehouse/core/errors';
import type { ListSource } from '@gatehouse/domain/list-query';
import { narrowList } from '@gatehouse/domain/narrow-list';
import { type Caller, isFirstParty, refuseActors } from '@gatehouse/tokens/caller';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import {
  type NewPushSubscription,
  PUSH_LIMITS,
  type PushSubscription,
  type PushSubscriptionField,
  type PushSubscriptionStore,
  subscriptionProblems,
} from './push-subscription.ts';

type PushTypes = {
  entity: PushSubscription;
  field: PushSubscriptionField;
  draft: NewPushSubscription;
  changes: never;
};

const READ = ['read:data', 'read:all'];
const WRITE = ['write:data'];
const PREFIX = '/api/v1/push-subscriptions';

const subscriptionView = view(
  'PushSubscription',
  Type.Object({
    id: Type.String({ description: 'Opaque.' }),
    endpoint: Type.String({ format: 'uri' }),
    created_at: Type.String({ format: 'date-time' }),
  }),
  ({ id, endpoint, createdAt }: PushSubscription) => ({ id, endpoint, created_at: createdAt.toISOString() }),
);

/** A subscription of a browser, from the example of RFC 8291 §5. */
const BODY = {
  endpoint: 'https://push.example.com/send/f3kd9',
  keys: {
    p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  },
};

const newSubscription = requestBody(
  'NewPushSubscription',
  Type.Object({
    endpoint: Type.String({ description: 'An https URL of the push service of the browser.' }),
    keys: Type.Object({
      p256dh: Type.String({ description: 'The public key of the browser, in base64url.' }),
      auth: Type.String({ description: 'The authentication secret, in base64url.' }),
    }),
  }),
  {
    example: BODY,
    read: ({ endpoint, keys: { p256dh, auth } }): NewPushSubscription => ({
      endpoint,
      keys: { p256dh, auth },
    }),
  },
);

const plain: Profile<PushTypes> = {
  name: 'plain',
  about: 'the list as a bare array by offset',
  errorBody: plainBody,
  list: {
    rules: {
      filters: {},
      plain: [],
      sort: { fields: { created_at: 'createdAt' }, by: 'sort', order: 'order' },
      paging: 'offset',
    },
    envelope: bareArray,
    item: subscriptionView,
  },
  create: { body: newSubscription, response: subscriptionView },
  read: subscriptionView,
  remove: true,
};

export const PUSH_PATHS: readonly ResourcePath<PushTypes>[] = [{ prefix: PREFIX, profiles: [plain] }];

/** People's own push subscriptions as a resource. */
export function createPushResource(options: {
  store: PushSubscriptionStore;
  /** Whether an endpoint may be at this host. */
  isAllowedHost: (hostname: string) => boolean;
  isRevoked: (caller: Caller) => boolean;
}): Resource<PushTypes> {
  const { store, isAllowedHost, isRevoked } = options;
  const missing = () => new ServiceError('not_found', 'There is no such subscription.');

  /** The endpoint of a subscription is a capability, which other applications of the person do not get. */
  function listFor(caller: Caller): ListSource<PushSubscriptionField, PushSubscription> {
    const source = store.within(ownerOf(caller));
    if (isFirstParty(caller)) return source;
    return narrowList(source, async (conditions) => {
      const own = await store.ofUser(ownerOf(caller), caller.clientId);
      return [...conditions, { field: 'id', operator: 'in', values: own.map(({ id }) => id) }];
    });
  }

  async function find(id: string, caller: Caller): Promise<PushSubscription> {
    const found = await store.findById(id, ownerOf(caller));
    if (found === undefined) throw missing();
    if (found.by.clientId !== caller.clientId && !isFirstParty(caller)) throw missing();
    return found;
  }

  return {
    noun: { one: 'a push subscription', many: 'push subscriptions' },
    idPrefix: 'psh',
    paths: PUSH_PATHS,
    operations: {
      list: {
        scopes: READ,
        source: (caller) => listFor(caller),
        description: 'The subscriptions of the caller. An application gets those that it has registered.',
      },
      create: {
        scopes: WRITE,
        authorize(caller) {
          ownerOf(caller);
          refuseActors(caller);
        },
        description:
          'The caller gets notifications of the type push in this browser from now on. A subscription with the same endpoint is ' +
          `replaced. It is 409 if somebody else has registered the endpoint with other keys. An application has ${PUSH_LIMITS.perClient} for a person at most: beyond that, the oldest is removed. It ends with the credential that ` +
          'registers it: when its login, grant or application is ended, or the password, role or status of the ' +
          'person changes. Register it again after each sign-in.',
        async run({ id, endpoint, keys }, caller) {
          const problems = subscriptionProblems({ endpoint, keys }, isAllowedHost);
          if (problems.length > 0) throw invalidFields(problems);
          const now = new Date();
          const dates = { createdAt: now, updatedAt: now };
          const { clientId, grantId = null, epoch } = caller;
          const by = { clientId, grantId, epoch };
          const subscription = { id, userId: ownerOf(caller), endpoint, keys, by, version: 1, ...dates };
          const stored = await store.put(subscription, PUSH_LIMITS.perClient);
          // A revocation that comes from now on finds it; one that came during the write has not.
          if (!isRevoked(caller)) return stored;
          await store.remove(stored.id, subscription.userId);
          throw new ServiceError('unauthenticated', 'The credential is not valid any more.');
        },
      },
      read: {
        scopes: READ,
        async run(id, caller) {
          return find(id, caller);
        },
      },
      remove: {
        scopes: WRITE,
        async run(id, caller) {
          const { userId } = await find(id, caller);
          if (!(await store.remove(id, userId))) throw missing();
        },
      },
    },
    example: EXAMPLE,
  };
}

/** Mounts `public-key`: what browsers need to subscribe. */
export function mountPushKey(
  app: FastifyInstance,
  { publicKey, authenticate }: { publicKey: string | undefined; authenticate: onRequestAsyncHookHandler },
): void {
  const schema = Type.Object({ public_key: Type.String() });
  const write = serializer(schema);
  const api = mountEndpoints(app, authenticate, { prefix: PREFIX, errors: { body: plainBody }, scopes: [] });
  api.get('read', '/public-key', {
    operationId: 'push_public_key',
    summary: 'Read the key with which browsers subscribe',
    description:
      'The applicationServerKey of PushManager.subscribe(), in base64url. 404 if push is not set up.',
    responses: ok('The key.', shape('PushPublicKey', schema, { public_key: BODY.keys.p256dh })),
    kinds: ['not_found'],
    handle({ reply }) {
      if (publicKey === undefined) throw new ServiceError('not_found', 'Push is not set up here.');
      return uncached(reply, write({ public_key: publicKey }));
    },
  });
}

/**
 * For tokens of a person who has signed in. A program has no browser, and whoever knows its credential would read along in one of
 * their own.
 */
function ownerOf({ person, subject }: Caller): string {
  if (person?.id === subject) return subject;
  throw new ServiceError('forbidden', 'Push subscriptions belong to people.');
}

const EXAMPLE: PushSubscription = {
  id: 'psh_06f2k1c8w0h3v5n7q9t1x3z5b7',
  userId: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  endpoint: 'https://push.example.com/send/f3kd9',
  keys: BODY.keys,
  by: { clientId: 'app_1', grantId: null, epoch: { client: 0, subject: 0 } },
  version: 1,
  createdAt: new Date('2026-03-01T09:30:00Z'),
  updatedAt: new Date('2026-03-01T09:30:00Z'),
};
