import type { IncomingMessage } from 'node:http';

/** The configuration file that a request applies in part. */
export type AppliedFile = { file: string; commit?: string };

/** A file name of printable ASCII without quotes, and the hash of a commit. */
const FILE = /(?:^|,\s*)file="([\x20\x21\x23-\x5b\x5d-\x7e]{1,200})"/;
const COMMIT = /(?:^|,\s*)commit="([0-9a-f]{7,64})"/;
/** A member that is true, with or without its value and parameters. Parts of strings are none. */
const DRY_RUN = /(?:^|,)\s*dry-run(?:=\?1)?\s*(?:[;,]|$)/;
const STRING = /"(?:[^"\\]|\\.)*"/g;

const headerOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const header = headers['gatehouse-configuration'];
  return typeof header === 'string' ? header : '';
};

/**
 * The file of the header `Gatehouse-Configuration: file="gatehouse.yaml", commit="3f2a91c"`, a dictionary (RFC 9651 §3.2). Its values are
 * claims of the caller about the caller's own changes, for the audit log. Undefined if the header is absent or malformed.
 */
export function appliedFileOf(request: Pick<IncomingMessage, 'headers'>): AppliedFile | undefined {
  const header = headerOf(request);
  const [, file] = FILE.exec(header) ?? [];
  const [, commit] = COMMIT.exec(header) ?? [];
  return file === undefined ? undefined : { file, ...(commit === undefined ? {} : { commit }) };
}

/** Whether a request with the member `dry-run` of this header is checked, and changes nothing. */
export const isDryRun = (request: Pick<IncomingMessage, 'headers'>): boolean =>
  DRY_RUN.test(headerOf(request).replaceAll(STRING, ''));
