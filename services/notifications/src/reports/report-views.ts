import { documentedLimits, invalidFields, serializer } from '@gatehouse/api/http/schema';
import { DATE_PATTERN } from '@gatehouse/api/lists/filter-patterns';
import { isDay, readDate, readDateEnd } from '@gatehouse/api/lists/filters';
import { pageEnvelopeWithPages } from '@gatehouse/api/lists/paging';
import { type ListProfile, requestBody, view } from '@gatehouse/api/resource/profile';
import {
  REPORT_FORMATS,
  REPORT_STATUSES,
  REPORT_TYPES,
  type ReportFormat,
  type ReportStatus,
  type ReportType,
} from '@gatehouse/domain/report-fields';
import { isTimeZone, startOfDay } from '@gatehouse/domain/time-zone';
import { Type } from 'typebox';
import type { Report, ReportField, ReportRequest } from './report.ts';
import { REPORTS } from './report-types.ts';

type ReportTypes = { entity: Report; field: ReportField; draft: ReportRequest; changes: object };

const oneOf = <T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values] });
const Timestamp = Type.String({ format: 'date-time' });
const OrNull = (description: string, more: object = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, ...more });
const TimeOrNull = (description: string) => OrNull(description, { format: 'date-time' });
const Filters = Type.Record(Type.String(), Type.String(), {
  description: 'The filters of the report, such as {"status": "shipped"}; each type has its own.',
});

const reportSchema = Type.Object({
  id: Type.String({ description: 'Opaque.' }),
  type: oneOf<ReportType>(REPORT_TYPES),
  format: oneOf<ReportFormat>(REPORT_FORMATS),
  from: TimeOrNull(
    'The beginning of the period that the report covers; null without a limit. A report of usage covers whole days.',
  ),
  to: TimeOrNull('The end of the period, exclusive.'),
  timezone: Type.String({ description: 'The time zone of its days (IANA).' }),
  filters: Filters,
  status: oneOf<ReportStatus>(REPORT_STATUSES),
  progress: Type.Integer({ minimum: 0, maximum: 100, description: 'In percent.' }),
  rows: Type.Integer({ description: 'The number of rows so far.' }),
  bytes: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'The size of the file.' }),
  error: OrNull('The reason of a failure.'),
  download_url: OrNull('The URL of the file, while there is one.'),
  created_at: Timestamp,
  started_at: TimeOrNull('When the report was last started.'),
  completed_at: TimeOrNull('When the report was completed.'),
  expires_at: TimeOrNull('When the file is removed.'),
});

export const reportView = view<Report, typeof reportSchema>('Report', reportSchema, (report) => ({
  id: report.id,
  type: report.type,
  format: report.format,
  from: report.from?.toISOString() ?? null,
  to: report.to?.toISOString() ?? null,
  timezone: report.timezone,
  filters: { ...report.filters },
  status: report.status,
  progress: report.progress,
  rows: report.rows,
  bytes: report.bytes,
  error: report.error,
  download_url: report.status === 'completed' ? `/v2/reports/${report.id}/download` : null,
  created_at: report.createdAt.toISOString(),
  started_at: report.startedAt?.toISOString() ?? null,
  completed_at: report.completedAt?.toISOString() ?? null,
  expires_at: report.expiresAt?.toISOString() ?? null,
}));

export const newReport = requestBody(
  'NewReport',
  Type.Object({
    type: oneOf<ReportType>(REPORT_TYPES),
    format: oneOf<ReportFormat>(REPORT_FORMATS),
    from: Type.Optional(
      Type.String({
        ...documentedLimits({ pattern: DATE_PATTERN }),
        description: 'The first day, such as 2026-03-01, or a time, such as 2026-03-01T12:00:00Z (RFC 3339).',
      }),
    ),
    to: Type.Optional(
      Type.String({
        ...documentedLimits({ pattern: DATE_PATTERN }),
        description: 'The last day, or a time in the same format as from, which is not included.',
      }),
    ),
    timezone: Type.Optional(
      Type.String({
        description: 'The time zone of the days (IANA), such as Europe/Berlin; by default UTC.',
      }),
    ),
    filters: Type.Optional(Filters),
  }),
  {
    example: { type: 'orders', format: 'csv', from: '2026-03-01T00:00:00Z', filters: { status: 'shipped' } },
    read: ({ type, format, from, to, timezone = 'UTC', filters = {} }): ReportRequest => {
      if (!isTimeZone(timezone)) {
        throw invalidFields([{ field: 'timezone', message: 'must be a time zone such as Europe/Berlin' }]);
      }
      return {
        ...{ type, format, filters, timezone },
        from: timeIn('from', from, { timezone, read: readDate }),
        to: timeIn('to', to, { timezone, read: readDateEnd }),
      };
    },
  },
);

function timeIn(
  field: string,
  text: string | undefined,
  { timezone, read }: { timezone: string; read: typeof readDate },
): Date | null {
  if (text === undefined) return null;
  const time = read(text);
  if (time !== undefined) return isDay(text) ? startOfDay(time.toISOString().slice(0, 10), timezone) : time;
  throw invalidFields([
    { field, message: 'must be a date, or a date and time such as 2026-03-01T12:00:00Z' },
  ]);
}

export const typesSchema = Type.Object({
  data: Type.Array(
    Type.Object({
      type: oneOf<ReportType>(REPORT_TYPES),
      description: Type.String(),
      formats: Type.Array(oneOf<ReportFormat>(REPORT_FORMATS)),
      columns: Type.Array(Type.String(), {
        description:
          'The names of the columns in JSON. CSV and PDF have titles for them, in the same order; the JSON file says which.',
      }),
      parameters: Type.Object({
        from: Type.String(),
        to: Type.String(),
        timezone: Type.Optional(Type.String()),
        filters: Type.Record(Type.String(), Type.Array(Type.String()), {
          description: 'The values that each filter allows; an empty list where it allows any.',
        }),
      }),
    }),
  ),
});

/** The list of the types of reports. */
export const TYPES = {
  data: REPORT_TYPES.map((type) => ({
    type,
    description: REPORTS[type].description,
    formats: [...REPORT_FORMATS],
    columns: Object.keys(REPORTS[type].columns),
    parameters: {
      from: 'The first day of the period, or a date and time.',
      to: 'The last day of the period, or a date and time, which is not included.',
      ...(REPORTS[type].period === undefined && {
        timezone: 'The time zone of the days (IANA); by default UTC.',
      }),
      filters: Object.fromEntries(
        Object.entries(REPORTS[type].filters).map(([name, values]) => [name, [...values]]),
      ),
    },
  })),
};
export const TYPES_TEXT = serializer(typesSchema)(TYPES);

/** The list of the caller's reports. */
export const reportList = {
  rules: {
    filters: {
      id: { field: 'id', type: 'string' },
      type: { field: 'type', type: 'string', values: REPORT_TYPES },
      status: { field: 'status', type: 'string', values: REPORT_STATUSES },
      format: { field: 'format', type: 'string', values: REPORT_FORMATS },
      created_at: { field: 'createdAt', type: 'date' },
    },
    sort: { fields: { created_at: 'createdAt' }, by: 'sort', order: 'order' },
    paging: 'page',
  },
  envelope: pageEnvelopeWithPages,
  item: reportView,
} satisfies ListProfile<ReportTypes>;

export const EXAMPLE: Report = {
  id: 'rpt_06f2k1c8w0h3v5n7q9t1x3z5b7',
  type: 'orders',
  format: 'csv',
  from: new Date('2026-03-01T00:00:00Z'),
  to: null,
  timezone: 'UTC',
  filters: { status: 'shipped' },
  requester: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  role: 'admin',
  delegation: null,
  status: 'completed',
  progress: 100,
  rows: 1250,
  bytes: 98_304,
  fileId: 'file',
  error: null,
  version: 3,
  createdAt: new Date('2026-03-08T09:30:00Z'),
  updatedAt: new Date('2026-03-08T09:30:07Z'),
  startedAt: new Date('2026-03-08T09:30:01Z'),
  completedAt: new Date('2026-03-08T09:30:07Z'),
  expiresAt: new Date('2026-03-15T09:30:07Z'),
};
