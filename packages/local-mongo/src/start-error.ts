import { readFile } from 'node:fs/promises';
import { FatalProviderError, ProviderError } from './provider.ts';

const MAX_CAUSE_LENGTH = 400;

/** Another process has the data open. */
export class DataLockedError extends FatalProviderError {
  override name = 'DataLockedError';
}

/** The error for a database process that ended before it was ready, from its log. */
export async function startError(options: {
  kind: string;
  endedBy: string;
  dataDirectory: string;
  logFile: string;
  /** The offset in bytes at which this process's log begins. */
  logStart: number;
}): Promise<ProviderError> {
  const { kind, endedBy, dataDirectory, logFile, logStart } = options;
  const log = (await readFile(logFile)).subarray(logStart).toString();
  // The embedded engine and mongod both lock their data directory, and log this when it is locked.
  if (log.includes('DBPathInUse')) {
    return new DataLockedError(
      `Another process, perhaps another Gatehouse, is using the MongoDB data in ${dataDirectory}. ` +
        'Stop it, or use another data directory.',
    );
  }
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  // mongod logs JSON with a severity; the error is followed by many lines about the shutdown.
  const cause = lines.find((line) => /"s":"[EF]"/.test(line)) ?? lines.at(-1) ?? 'it wrote nothing';
  return new ProviderError(
    `The ${kind} did not start (${endedBy}): ${cause.slice(0, MAX_CAUSE_LENGTH)} (more in ${logFile}).`,
  );
}
