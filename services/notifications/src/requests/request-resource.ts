import { plainBody } from '@gatehouse/api/http/error-bodies';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { type Profile, view } from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { ServiceError } from '@gatehouse/core/errors';
import { timeOfId } from '@gatehouse/core/ids';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import { Type } from 'typebox';
import type { LoggedRequest, RequestField, RequestStore } from './request.ts';

type RequestTypes = { entity: LoggedRequest; field: RequestField; draft: never; changes: never };

const READ = ['read:data', 'read:all', 'manage:apps'];
const PATH = '/api/v1/requests';
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const requestView = view(
  'LoggedRequest',
  Type.Object({
    id: Type.String(),
    time: Type.String({ format: 'date-time', description: 'When it ended.' }),
    client_id: Type.String({ description: 'The application that made it, or that it names.' }),
    authenticated: Type.Boolean({
      description:
        'Whether it had a valid credential of the application. Anybody can send a request that only names it.',
    }),
    service: Type.String({ description: 'The service that answered it.' }),
    method: Type.String(),
    path: Type.String({
      description:
        'Without the query. Parameters whose values are no ids of ours are shown by their names, such as :id.',
    }),
    status: Type.Integer({
      description: 'The status of the response; 499 if the caller did not wait for it.',
    }),
    duration_ms: Type.Number(),
    request_id: Type.String({ description: 'As in the header X-Request-Id of the response.' }),
    credential: orNull('The last four characters of the API key or access token.'),
    code: orNull('The code of the error: that of /v2, or that of OAuth.'),
    message: orNull('The message of the error, and for OAuth what would have been right.'),
    missing_scope: orNull('The scopes of which the credential needs one, separated by spaces.'),
    actors: Type.Array(Type.String(), {
      description: 'The applications that acted for the person, the latest first (RFC 8693).',
    }),
    workload: orNull(
      'The job or pod that got a token by that of its platform: the subject, and the claims that the federated credential names.',
    ),
  }),
  (it: LoggedRequest) => ({
    id: it.id,
    time: timeOfId(it.id).toISOString(),
    client_id: it.client,
    authenticated: it.authenticated,
    service: it.service,
    method: it.method,
    path: it.path,
    status: it.status,
    duration_ms: it.ms,
    request_id: it.requestId,
    credential: it.credential,
    code: it.code === '' ? null : it.code,
    message: it.message,
    missing_scope: it.scope,
    actors: [...it.actors],
    workload: it.workload,
  }),
);

const plain: Profile<RequestTypes> = {
  name: 'plain',
  about: 'the requests of applications, by cursor',
  errorBody: plainBody,
  list: {
    rules: {
      filters: {
        client_id: { field: 'client', type: 'string', operators: ['eq', 'in'] },
        request_id: { field: 'requestId', type: 'string', operators: ['eq'] },
        status: { field: 'status', type: 'number', operators: ['eq', 'gte', 'lt'] },
        path: { field: 'path', type: 'string', operators: ['gte', 'lt'] },
        duration_ms: { field: 'ms', type: 'number', operators: ['gte', 'lt'] },
        code: { field: 'code', type: 'string', operators: ['eq', 'in'] },
        id: { field: 'id', type: 'string', operators: ['gt', 'lt'] },
      },
      plain: [],
      order: { field: 'id', descending: true },
      paging: 'cursor',
    },
    envelope: cursorEnvelope,
    item: requestView,
  },
  read: requestView,
};

export const REQUEST_PATHS: readonly ResourcePath<RequestTypes>[] = [{ prefix: PATH, profiles: [plain] }];

/**
 * The requests of the last days as a resource.
 *
 * @param options.ownedBy the client ids of a person's applications
 */
export function createRequestResource(options: {
  store: RequestStore;
  ownedBy(userId: string): Promise<readonly string[]>;
  days: number;
}): Resource<RequestTypes> {
  const { store, ownedBy, days } = options;

  /** Of the own applications; by another application than our own pages, of that one. */
  async function clientsOf(caller: Caller): Promise<readonly string[] | 'all'> {
    const { person, clientId } = caller;
    if (person === undefined) return [clientId];
    if (!isFirstParty(caller)) return (await ownedBy(person.id)).filter((it) => it === clientId);
    return person.role === 'admin' ? 'all' : ownedBy(person.id);
  }

  return {
    noun: { one: 'a request', many: 'requests' },
    idPrefix: 'rlg',
    paths: REQUEST_PATHS,
    operations: {
      list: {
        scopes: READ,
        source: (caller) => store.of(() => clientsOf(caller)),
        description:
          `The requests of the last ${days} days that the caller's own applications made, the latest first, some seconds after they ` +
          'ended; an application gets its own ones, and admins in the dashboard all. What had no valid credential is not listed, except ' +
          'at the OAuth endpoints. Of many requests in a short time some are left out, of those that succeeded first.',
      },
      read: {
        scopes: READ,
        async run(id, caller) {
          const [found, clients] = await Promise.all([store.findById(id), clientsOf(caller)]);
          if (found !== undefined && (clients === 'all' || clients.includes(found.client))) return found;
          throw new ServiceError('not_found', 'There is no such request.');
        },
      },
    },
    example: {
      id: 'rlg_06f2k1c8w0h3v5n7q9t1x3z5b7',
      client: 'app_06f2k1c8w0h3v5n7q9t1x3z5b7',
      authenticated: true,
      service: 'commerce',
      method: 'POST',
      path: '/v2/orders',
      status: 403,
      ms: 1.2,
      requestId: 'req_06f2k1c8w0h3v5n7q9t1x3z5b7',
      credential: 'k2Jd',
      code: 'forbidden',
      message: 'This needs the scope write:data.',
      scope: 'write:data',
      actors: [],
      workload: null,
      version: 1,
    },
  };
}
