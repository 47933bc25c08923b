import { etagOf, notModified } from '@gatehouse/api/http/conditional';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { invalidFields } from '@gatehouse/api/http/schema';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { listReader } from '@gatehouse/api/lists/list-request';
import { done, response, shape } from '@gatehouse/api/openapi/shapes';
import { bodyShape, entityShape, listShapes } from '@gatehouse/api/resource/examples';
import { createIdempotency } from '@gatehouse/api/resource/idempotency';
import { type JsonResponse, send } from '@gatehouse/api/resource/json-response';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import { newId } from '@gatehouse/core/ids';
import { type Caller, refuseActors } from '@gatehouse/tokens/caller';
import type { FastifyInstance } from 'fastify';
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
  const { authenticate } = options.mountOptions;
  for (const prefix of PREFIXES) {
    const api = mountEndpoints(app, authenticate, { prefix, errors: { body: v2Body }, scopes: READ });
    for (const mount of [mountTypes, mountGenerate, mountRead, mountDownload, mountCancel]) {
      mount(api, prefix, options);
    }
  }
}

type Mount = (api: ReturnType<typeof mountEndpoints>, prefix: string, options: ReportRoutesOptions) => void;
const admit = ({ caller }: { caller: Caller }) => requireStaff(caller);

const mountTypes: Mount = (api, prefix, { reports, mountOptions }) => {
  const path = `${prefix}?view=mine`;
  const rules = { ...reportList.rules, path: prefix };
  const endpoint = createListEndpoint({ ...reportList, rules });
  const validate = listReader(rules);
  const View = Type.Unsafe<'mine'>({ type: 'string', enum: ['mine'] });
  api.get('types', '/', {
    summary: 'List the types of reports, or your own reports',
    description:
      'With `view=mine`, the reports that the caller has requested; without it, the types of reports.',
    documentedQuery: Type.Object({ view: Type.Optional(View), ...endpoint.query.properties }),
    responses: {
      200: response(
        'The types of reports, or a page of reports.',
        shape('ReportTypes', typesSchema, TYPES),
        ...listShapes(reportList, endpoint, { prefix, example: EXAMPLE }),
      ),
    },
    kinds: ['invalid'],
    admit,
    async handle({ caller, request, reply }) {
      const { view, ...query } = request.query as Record<string, unknown>;
      if (view === undefined) {
        // The parameters of the list have no effect here, but malformed ones are still refused.
        validate(query);
        return uncached(reply, TYPES_TEXT);
      }
      if (view !== 'mine') throw invalidFields([{ field: 'view', message: 'must be mine' }]);
      const { headers, text } = await endpoint.reply(query, reports.listFor(caller), {
        path,
        limited: (work) => mountOptions.concurrency.run(caller, work),
      });
      reply.headers(headers);
      return uncached(reply, text);
    },
  });
};

const mountGenerate: Mount = (api, prefix, { reports, delegate, mountOptions }) => {
  const idempotency = createIdempotency({ store: mountOptions.idempotencyKeys, newId: () => newId('rpt') });
  api.post('generate', '/generate', {
    summary: 'Generate a report',
    description:
      'The report contains the data that the caller may read, for which they need the scope, too. It is generated in the ' +
      'background: poll its Location until it is completed.',
    scopes: GENERATE,
    idempotent: true,
    documentedBody: bodyShape(newReport),
    responses: {
      202: {
        description: 'The report has been accepted.',
        shapes: [SHAPE],
        headers: { Location: 'always', ETag: 'always' },
      },
    },
    kinds: ['invalid', 'conflict'],
    admit,
    async handle({ caller, request, reply }) {
      const draft = newReport.read(request.body);
      refuseActors(caller);
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
    },
  });
};

const mountRead: Mount = (api, _prefix, { reports }) => {
  api.get('read', '/:id', {
    summary: 'Read a report',
    conditional: 'read',
    responses: { 200: { description: 'The report.', shapes: [SHAPE], headers: { ETag: 'always' } } },
    admit,
    async handle({ caller, request, reply, params }) {
      const report = await reports.read(params.id, caller);
      // Progress does not raise the version.
      const etag = `"v${report.version}.${report.progress}.${report.rows}"`;
      const headers = { etag, ...REVALIDATE };
      return notModified(request, etag)
        ? send(reply, { status: 304, headers, text: '' })
        : send(reply, { status: 200, headers, text: reportView.write(report) });
    },
  });
};

const mountDownload: Mount = (api, _prefix, { reports, files }) => {
  const headers = { ETag: 'always' } as const;
  api.get('download', '/:id/download', {
    summary: 'Download a report',
    description:
      'One range of bytes may be requested (RFC 9110 §14.2). While there is no file, the response is 409.',
    conditional: 'read',
    responses: {
      200: { description: 'The file.', mediaType: '*/*', headers },
      206: { description: 'The range of the file.', mediaType: '*/*', headers },
      416: { description: 'The file has no such range.', headers },
    },
    kinds: ['conflict'],
    admit,
    async handle({ caller, request, reply, params }) {
      const file = await reports.file(params.id, caller);
      return sendFile(request, reply, { ...file, read: files.read });
    },
  });
};

const mountCancel: Mount = (api, _prefix, { reports }) => {
  api.delete('cancel', '/:id', {
    summary: 'Cancel a report',
    description: 'Cancels a report that is not finished, and removes the file of one that is.',
    scopes: GENERATE,
    responses: done('The report is cancelled, or has no file any more.'),
    admit,
    async handle({ caller, params }) {
      await reports.remove(params.id, caller);
    },
  });
};
