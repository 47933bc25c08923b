import { join } from 'node:path';
import { Base } from 'tap';
import { type FileResult, runTestFile, skipsIn } from './test-file.ts';

/** Names the files to the process: tap would put arguments into the names of directories. */
const FILES_VARIABLE = 'GATEHOUSE_TEST_FILES';
const PROGRAM = join(import.meta.dirname, 'batch-process.ts');
/** More would save little: with so many, starting the process and loading the service takes a tenth of the time. */
const FILES_PER_PROCESS = 12;

/** Snapshots, whose names have the name of the program. */
const BY_ITSELF = /\/(?:wire|openapi)\.test\.ts$/;

/** Puts files of the same package or service together, as many as one process runs. */
export function batchesOf(files: readonly string[]): string[][] {
  const shared = files.filter((file) => !BY_ITSELF.test(file));
  const byFolder = Object.groupBy(shared, (file) => file.split('/', 2).join('/'));
  return Object.values(byFolder).flatMap((all = []) =>
    Array.from({ length: Math.ceil(all.length / FILES_PER_PROCESS) }, (_, i) =>
      all.slice(i * FILES_PER_PROCESS, (i + 1) * FILES_PER_PROCESS),
    ),
  );
}

/**
 * Runs test files one after the other in one process, which loads once what all of them need.
 *
 * @returns the results of those that were run, or none if all passed and the process did not end by itself
 */
export async function runBatch(
  files: readonly string[],
  options: Omit<Parameters<typeof runTestFile>[1], 'args' | 'onLine'>,
): Promise<FileResult[]> {
  const results: FileResult[] = [];
  let lines: string[] = [];
  const { failed } = await runTestFile(`${files.length} files`, {
    ...options,
    args: [PROGRAM],
    env: { ...options.env, [FILES_VARIABLE]: files.join('\n') },
    timeout: options.timeout * files.length,
    onLine(line) {
      if (line.startsWith('    ')) lines.push(line.slice(4));
      const [, file, ms] = /^(?:not )?ok \d+ - (\S+) # time=([\d.]+)ms$/.exec(line) ?? [];
      if (file !== undefined) results.push(resultOf(file, Number(ms) / 1000, lines));
      if (/^(?:not )?ok/.test(line)) lines = [];
    },
  });
  const run = results.filter((it) => it.passed + it.failed > 0);
  const isBroken = failed > 0 && run.length === files.length && run.every((it) => it.failed === 0);
  return isBroken ? [] : run;
}

function resultOf(file: string, seconds: number, lines: readonly string[]): FileResult {
  const tally = new Base({ name: file });
  tally.resume();
  tally.parser.end(`${lines.join('\n')}\n`);
  const { counts, lists } = tally;
  return {
    ...{ file, seconds, passed: counts.pass, failed: counts.fail, skipped: counts.skip + counts.todo },
    ...{ problems: [], output: '', notRun: skipsIn(lists, file) },
  };
}
