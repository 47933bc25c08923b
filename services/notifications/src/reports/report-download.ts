import { notModified } from '@gatehouse/api/http/conditional';
import { CSV_MEDIA_TYPE } from '@gatehouse/api/http/csv';
import { sendStream } from '@gatehouse/api/resource/json-response';
import type { ReportFormat } from '@gatehouse/domain/report-fields';
import type { FastifyReply, FastifyRequest } from 'fastify';
import parseRange from 'range-parser';
import type { Report, ReportFileStore } from './report.ts';
import { periodInFileName } from './report-period.ts';

const MEDIA_TYPES: Record<ReportFormat, string> = {
  csv: CSV_MEDIA_TYPE,
  json: 'application/json; charset=utf-8',
  pdf: 'application/pdf',
};

/**
 * Answers with the file of a report, or a range of it (RFC 9110 §14). A file never changes: its id is its entity tag. Several
 * ranges, and ranges of other units, are answered with the whole, as §14.2 allows.
 */
export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: { report: Report; fileId: string; bytes: number; read: ReportFileStore['read'] },
): FastifyReply {
  const { report, fileId, bytes, read } = file;
  const etag = `"${fileId}"`;
  const name = `${report.type}-${periodInFileName(report, report.createdAt)}.${report.format}`;
  reply.type(MEDIA_TYPES[report.format]).headers({
    etag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'content-disposition': `attachment; filename="${name}"`,
  });
  if (notModified(request, etag)) return reply.code(304).send();
  const range = rangeIn(request, etag, bytes);
  if (range === 'unsatisfiable') {
    return reply.code(416).header('content-range', `bytes */${bytes}`).send();
  }
  const { start, end } = range ?? { start: 0, end: bytes - 1 };
  if (range !== undefined) reply.code(206).header('content-range', `bytes ${start}-${end}/${bytes}`);
  reply.header('content-length', end - start + 1);
  return sendStream(reply, read(fileId, { start, end: end + 1 }));
}

/** The range that a request asks for; undefined where the whole is to be sent. */
function rangeIn(
  { headers }: FastifyRequest,
  etag: string,
  bytes: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const { range, 'if-range': ifRange } = headers;
  // §13.1.5: a date is no strong validator here.
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined;
  // §14.1.2: a suffix that is longer than the file is the whole, which the parser takes for no range.
  const suffix = /^bytes=-(\d+)$/.exec(range)?.[1];
  if (Number(suffix) > bytes) return { start: 0, end: bytes - 1 };
  const wanted = parseRange(bytes, range);
  if (wanted === -1) return 'unsatisfiable';
  if (wanted === -2 || wanted.type !== 'bytes' || wanted.length !== 1) return undefined;
  return wanted[0];
}
