import { readFile } from 'node:fs/promises';
import { FinalFailure, LinkFailure } from './link.ts';

const LONGEST_CAUSE = 400;

/** Another process has the data open. */
export class DataInUse extends FinalFailure {
  override name = 'DataInUse';
}

/** Why a database process ended before it answered, from what it has written to its log since. */
export async function startFailure(options: {
  kind: string;
  endedBy: string;
  dataDirectory: string;
  logFile: string;
  /** Where in the log this process began, in bytes. */
  logStart: number;
}): Promise<LinkFailure> {
  const { kind, endedBy, dataDirectory, logFile, logStart } = options;
  const log = (await readFile(logFile)).subarray(logStart).toString();
  // The embedded engine and mongod both lock their data directory, and say this when they find it locked.
  if (log.includes('DBPathInUse')) {
    return new DataInUse(
      `Another process, perhaps another Gatehouse, is using the MongoDB data in ${dataDirectory}. ` +
        'Stop it, or use another data directory.',
    );
  }
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  // mongod writes JSON with a severity; after the error comes a long farewell.
  const cause = lines.find((line) => /"s":"[EF]"/.test(line)) ?? lines.at(-1) ?? 'it wrote nothing';
  return new LinkFailure(
    `The ${kind} did not start (${endedBy}): ${cause.slice(0, LONGEST_CAUSE)} (more in ${logFile}).`,
  );
}
