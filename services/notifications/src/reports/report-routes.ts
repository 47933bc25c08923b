import { etagOf, notModified } from '@gatehouse/api/http/conditional';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { invalidFields } from '@gatehouse/api/http/schema';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { listReader } from '@gatehouse/api/lists/list-request';
import { documented, type Operation } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { bodyShape, entityShape, listShapes } from '@gatehouse/api/resource/examples';
import { createIdempotency } from '@gatehouse/api/resource/idempotency';
import { type JsonResponse, send } from '@gatehouse/api/resource/json-response';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import { newId } from '@gatehouse/core/ids';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type ReportFileStore, requireStaff } from './report.ts';
import { sendFile } from './report-download.ts';
import type { ReportService } from './report-service.ts';
import {
  EXAMPLE,
  newReport,
  reportList,
  reportView,
  TYPES,
  TYPES_TEXT,
  typesSchema,
} from './report-views.ts';

export const PREFIXES = ['/v2/reports', '/reports'] as const;
const READ = ['read:data', 'read:all'];
const GENERATE = ['write:data'];
const NO_STORE = { 'cache-control': 'no-store' };
const REVALIDATE = { 'cache-control': 'private, no-cache' };
const SHAPE = entityShape(reportView, EXAMPLE);

type ReportRoutesOptions = {
  reports: ReportService;
  files: Pick<ReportFileStore, 'read'>;
  /** Hands the credential of a request on; returns the handle. */
  delegate(authorization: string): Promise<string>;
  mountOptions: Pick<MountOptions, 'authenticate' | 'idempotencyKeys' | 'concurrency'>;
};

/** Mounts the types of reports, their generation, and the reports themselves. */
export function mountReports(app: FastifyInstance, options: ReportRoutesOptions): void {
  for (const prefix of PREFIXES) {
    const routes = routesBelow(prefix, options.mountOptions);
    for (const mount of [mountTypes, mountGenerate, mountRead, mountDownload, mountCancel]) {
      mount(app, prefix, routes, options);
    }
  }
}

/** The common parts of the routes below a prefix: their documentation, and who may use them. */
function routesBelow(prefix: string, { authenticate }: ReportRoutesOptions['mountOptions']) {
  return (operation: string, about: Pick<Operation, 'summary' | 'responses'> & Partial<Operation>) => {
    const { scopes = READ } = about;
    const requireAccess = async (request: FastifyRequest) => {
      requireScope(callerOf(request), scopes);
      requireStaff(callerOf(request));
    };
    return {
      config: { errorBody: v2Body },
      schema: documented({
        operationId: [operation, ...prefix.split('/').filter(Boolean)].join('_'),
        tag: prefix,
        errors: { body: v2Body },
        ...about,
        scopes,
      }),
      onRequest: [authenticate, requireAccess],
    };
  };
}

type Mount = (
  app: FastifyInstance,
  prefix: string,
  route: ReturnType<typeof routesBelow>,
  options: ReportRoutesOptions,
) => void;
type WithId = { Params: { id: string } };

const mountTypes: Mount = (app, prefix, route, { reports, mountOptions }) => {
  const path = `${prefix}?view=mine`;
  const rules = { ...reportList.rules, path: prefix };
  const endpoint = createListEndpoint({ ...reportList, rules });
  const validate = listReader(rules);
  const View = Type.Unsafe<'mine'>({ type: 'string', enum: ['mine'] });
  const schema = route('types', {
    summary: 'List the types of reports, or your own reports',
    description:
      'With `view=mine`, the reports that the caller has requested; without it, the types of reports.',
    query: [
      {
        profile: 'latest',
        schema: Type.Object({ view: Type.Optional(View), ...endpoint.query.properties }),
      },
    ],
    responses: {
      200: {
        description: 'The types of reports, or a page of reports.',
        shapes: [
          { name: 'ReportTypes', schema: typesSchema, example: TYPES },
          ...listShapes(reportList, endpoint, { prefix, example: EXAMPLE }),
        ],
      },
    },
    errors: { body: v2Body, kinds: ['invalid'] },
  });
  app.get(prefix, schema, async (request, reply) => {
    const { view, ...query } = request.query as Record<string, unknown>;
    if (view === undefined) {
      // The parameters of the list have no effect here, but malformed ones are still refused.
      validate(query);
      return send(reply, { status: 200, headers: NO_STORE, text: TYPES_TEXT });
    }
    if (view !== 'mine') throw invalidFields([{ field: 'view', message: 'must be mine' }]);
    const caller = callerOf(request);
    const { headers, text } = await endpoint.reply(query, reports.listFor(caller), {
      path,
      limited: (work) => mountOptions.concurrency.run(caller, work),
    });
    return send(reply, { status: 200, headers: { ...headers, ...NO_STORE }, text });
  });
};

const mountGenerate: Mount = (app, prefix, route, { reports, delegate, mountOptions }) => {
  const idempotency = createIdempotency({ store: mountOptions.idempotencyKeys, newId: () => newId('rpt') });
  const schema = route('generate', {
    summary: 'Generate a report',
    description:
      'The report contains the data that the caller may read, for which they need the scope, too. It is generated in the ' +
      'background: poll its Location until it is completed.',
    scopes: GENERATE,
    idempotent: true,
    body: [bodyShape(newReport)],
    responses: {
      202: {
        description: 'The report has been accepted.',
        shapes: [SHAPE],
        headers: { Location: 'always', ETag: 'always' },
      },
    },
    errors: { body: v2Body, kinds: ['invalid', 'conflict'] },
  });
  app.post(`${prefix}/generate`, schema, async (request, reply) => {
    const draft = newReport.read(request.body);
    const caller = callerOf(request);
    const handOn = () => delegate(String(request.headers.authorization));
    const accepted = await idempotency.once(
      request,
      async ({ reservedId: id, isRetry }): Promise<JsonResponse> => {
        // An earlier attempt may have accepted it and then failed to answer.
        const before = isRetry ? await reports.read(id, caller).catch(() => undefined) : undefined;
        const report = before ?? (await reports.request({ ...draft, id }, caller, handOn));
        const headers = { location: `${prefix}/${id}`, etag: etagOf(report.version), ...NO_STORE };
        return { status: 202, headers, text: reportView.write(report) };
      },
    );
    return send(reply, accepted);
  });
};

const mountRead: Mount = (app, prefix, route, { reports }) => {
  const schema = route('read', {
    summary: 'Read a report',
    conditional: 'read',
    responses: { 200: { description: 'The report.', shapes: [SHAPE], headers: { ETag: 'always' } } },
    errors: { body: v2Body, kinds: ['not_found'] },
  });
  app.get<WithId>(`${prefix}/:id`, schema, async (request, reply) => {
    const report = await reports.read(request.params.id, callerOf(request));
    // Progress does not raise the version.
    const etag = `"v${report.version}.${report.progress}.${report.rows}"`;
    const headers = { etag, ...REVALIDATE };
    return notModified(request, etag)
      ? send(reply, { status: 304, headers, text: '' })
      : send(reply, { status: 200, headers, text: reportView.write(report) });
  });
};

const mountDownload: Mount = (app, prefix, route, { reports, files }) => {
  const headers = { ETag: 'always' } as const;
  const schema = route('download', {
    summary: 'Download a report',
    description:
      'One range of bytes may be requested (RFC 9110 §14.2). While there is no file, the response is 409.',
    conditional: 'read',
    responses: {
      200: { description: 'The file.', mediaType: '*/*', headers },
      206: { description: 'The range of the file.', mediaType: '*/*', headers },
      416: { description: 'The file has no such range.', headers },
    },
    errors: { body: v2Body, kinds: ['not_found', 'conflict'] },
  });
  app.get<WithId>(`${prefix}/:id/download`, schema, async (request, reply) => {
    const file = await reports.file(request.params.id, callerOf(request));
    return sendFile(request, reply, { ...file, read: files.read });
  });
};

const mountCancel: Mount = (app, prefix, route, { reports }) => {
  const schema = route('cancel', {
    summary: 'Cancel a report',
    description: 'Cancels a report that is not finished, and removes the file of one that is.',
    scopes: GENERATE,
    responses: { 204: { description: 'The report is cancelled, or has no file any more.' } },
    errors: { body: v2Body, kinds: ['not_found'] },
  });
  app.delete<WithId>(`${prefix}/:id`, schema, async (request, reply) => {
    await reports.remove(request.params.id, callerOf(request));
    return reply.code(204).send();
  });
};
