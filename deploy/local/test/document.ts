import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

// The programs in a document, and running them as a reader would: one after the other, in one shell.

/** A fenced block; `file` is the name that it is to be saved under, which stands behind the language. */
export type Block = { language: string; file: string; text: string; line: number };
/** A block that a reader runs, the response that the document shows for it, and why it is not run here. */
export type Step = { block: Block; response?: Block; notRun?: string };
export type Surroundings = { cwd: string; env: NodeJS.ProcessEnv };

const LANGUAGES = ['sh', 'js', 'python'];
const RESPONSES = ['json', 'http'];
/** What cannot run where tests run, and why. */
const NOT_RUN: [RegExp, string][] = [
  [/^(?:npm start|npm run reset)$/m, 'the test itself does that'],
  [/^npm (?:test|run check|run test:(?:full|nightly))/m, 'it runs the tests, this one among them'],
  [/\bYOUR_/, 'the reader fills it in'],
  [/^node \S+\.mjs$/m, 'it starts a program, which the test itself does'],
  [/^npm install /m, 'it installs and starts a program, which the test itself does'],
  [/\bdocker\b/, 'it needs Docker'],
  [/\b(?:helm|kubectl|kustomize)\b/, 'it needs a Kubernetes cluster'],
  [/pushManager/, 'it needs a browser'],
  [/^(?:GATEHOUSE_CLIENT_ID=.* )?gatehouse (?:export|apply|jobs)\b/m, 'the tests of the command line run it'],
  [
    /https:\/\/id\.example\.com/,
    'clients/integrators.nightly.test.ts runs it with the software that it is for',
  ],
];

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].map((match) => {
    const [, language = '', file = '', text = ''] = match;
    return { language, file, text: text.trim(), line: markdown.slice(0, match.index).split('\n').length };
  });
}

/** The content of a file that the commands in a document write. */
export function fileIn(markdown: string, name: string): string {
  const [, rest] = markdown.split(`cat > ${name} <<'END'\n`);
  if (rest === undefined) throw new Error(`nothing writes ${name}`);
  const [text = ''] = rest.split(/^END$/m);
  return text;
}

/** What a reader runs, in order. A block of JSON or HTTP that follows is the response. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  let previous: Step | undefined;
  for (const block of blocksOf(markdown)) {
    if (RESPONSES.includes(block.language) && previous !== undefined) previous.response = block;
    const isRun = LANGUAGES.includes(block.language) && block.file === '';
    previous = isRun ? { block } : undefined;
    if (previous === undefined) continue;
    const [, notRun] = NOT_RUN.find(([pattern]) => pattern.test(block.text)) ?? [];
    if (notRun !== undefined) previous.notRun = notRun;
    steps.push(previous);
  }
  return steps;
}

/** The block in `steps` that sets a variable of the shell, for documents that go on from there. */
export function settingOf(variable: string, steps: Step[]): Step {
  const found = steps.find(({ block }) => new RegExp(`^(?:export )?${variable}=\\$\\(`).test(block.text));
  if (found === undefined) throw new Error(`nothing sets ${variable}`);
  return { block: found.block };
}

/**
 * Runs the steps in one shell; returns what each printed. Throws when one fails, with its line and what it said.
 *
 * @param onOutput gets everything that they have printed so far, each time that they print more
 */
export async function runSteps(
  steps: readonly Step[],
  surroundings: Surroundings,
  onOutput: (output: string) => void = () => {},
): Promise<string[]> {
  const mark = `block-${randomUUID()}`;
  const script = steps.map(({ block }) => `echo ${mark}\n${commandOf(block)}\necho`).join('\n');
  // Not synchronously: the test has to read what npm start prints meanwhile, or that waits.
  const more = { ...surroundings, detached: true, timeout: 120_000 };
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], more);
  // What the steps leave running in the background would keep the output open.
  child.once('exit', () => endGroup(child.pid));
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    onOutput(stdout);
  });
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
  const [, ...outputs] = stdout.split(`${mark}\n`);
  const last = steps[outputs.length - 1];
  if (child.exitCode !== 0) {
    throw new Error(`line ${last?.block.line}: ${last?.block.text}\n${outputs.at(-1)}\n${stderr}`);
  }
  return outputs.map((output) => output.trim());
}

/** Ends a group of processes, if there is still one. */
export function endGroup(leader = 0): void {
  if (leader === 0) return;
  try {
    process.kill(-leader);
  } catch (error) {
    // Mostly nothing is left.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function commandOf({ language, text }: Block): string {
  if (language === 'sh') return text;
  const program = language === 'js' ? 'node --input-type=module' : 'python3';
  return `export TOKEN\n${program} <<'END_OF_PROGRAM'\n${text}\nEND_OF_PROGRAM`;
}

/** What is wrong with an output: it is an error that is not shown, or differs from the response; undefined when it is right. */
export function faultOf({ response }: Step, output: string): string | undefined {
  const isErrorShown = response !== undefined && /"error"|^HTTP\/1\.1 4/m.test(response.text);
  if (!isErrorShown && /\{"error":/.test(output)) return `it is an error: ${output}`;
  if (response === undefined) return undefined;
  if (response.language === 'json') {
    try {
      return difference(JSON.parse(response.text), JSON.parse(output), '$');
    } catch (error) {
      return `${error}: ${output}`;
    }
  }
  const lines = output.split(/\r?\n/);
  const missing = response.text.split('\n').find((line) => !lines.some((actual) => isLike(line, actual)));
  return missing === undefined ? undefined : `it has no line like "${missing}": ${output}`;
}

/** They depend on what other documents have created. */
const COUNTS = ['total', 'totalItems', 'pages'];

/** The first difference between a response as it is shown and as it is. Text that is left out is shown as `…`. */
function difference(shown: unknown, actual: unknown, path: string): string | undefined {
  if (Array.isArray(shown) && Array.isArray(actual)) {
    if (shown.length !== actual.length)
      return `${path} has ${actual.length} entries: ${JSON.stringify(actual)}`;
    return first(shown.map((entry, i) => difference(entry, actual[i], `${path}[${i}]`)));
  }
  if (isObject(shown) && isObject(actual)) {
    const [expected, found] = [shown, actual].map((it) => Object.keys(it).sort().join());
    if (expected !== found) return `${path} has ${found}, and not ${expected}`;
    const keys = Object.keys(shown).filter((key) => !COUNTS.includes(key));
    return first(keys.map((key) => difference(shown[key], actual[key], `${path}.${key}`)));
  }
  const same =
    typeof shown === 'string' && typeof actual === 'string' ? isLike(shown, actual) : shown === actual;
  return same ? undefined : `${path} is ${JSON.stringify(actual)}, and not ${JSON.stringify(shown)}`;
}

const first = (differences: (string | undefined)[]) => differences.find((it) => it !== undefined);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLike(shown: string, actual: string): boolean {
  const parts = shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(actual);
}
