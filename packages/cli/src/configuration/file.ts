import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { type Document, LineCounter, parseDocument } from 'yaml';
import { CliError } from '../errors.ts';
import type { Kind, Schema, Values } from './kind.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A mistake in a configuration, with its place as `file:line`. */
export type Problem = { at: string; message: string };

/** One object of a configuration. */
export type Entry = {
  kind: Kind;
  values: Values;
  parent: Entry | undefined;
  /** The path of the object in its file, such as `applications[2]`. */
  path: string;
  /** A mistake in the object, or in one of its fields. */
  problem(message: string, field?: string): Problem;
};

/** The objects of configuration files, and the kinds of their lists. */
export type Configuration = { entries: readonly Entry[]; kinds: ReadonlySet<Kind> };

/** Errors of a configuration, each on a line. */
export class ConfigurationError extends CliError {
  constructor(problems: readonly Problem[]) {
    super(problems.map(({ at, message }) => `${at}: ${message}`).join('\n'));
  }
}

/**
 * Reads a file, or all files of a folder that are YAML or JSON, and validates them by the schema. Secrets are replaced by their values.
 * Throws a {@link ConfigurationError} with all mistakes.
 */
export function readConfiguration(options: {
  path: string;
  schema: Schema;
  kinds: readonly Kind[];
  env: Environment;
}): Configuration {
  const { path, schema, kinds } = options;
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false });
  const validate = ajv.compile(schema);
  const problems: Problem[] = [];
  const entries: Entry[] = [];
  const used = new Set<Kind>();
  for (const file of filesIn(path)) {
    const lines = new LineCounter();
    const document = parseDocument(readFileSync(file, 'utf8'), { lineCounter: lines });
    const lineOf = (offset = 0) => `${file}:${lines.linePos(offset).line}`;
    problems.push(
      ...document.errors.map(({ pos, message }) => ({
        at: lineOf(pos[0]),
        message: message.split('\n')[0] ?? '',
      })),
    );
    if (document.errors.length > 0) continue;
    const content = (document.toJS() ?? {}) as Record<string, unknown>;
    const at = (steps: readonly (string | number)[]) => lineOf(offsetOf(document, steps));
    if (!validate(content)) {
      problems.push(
        ...mistakesOf(validate.errors ?? []).map(({ steps, message }) => ({
          at: at(steps),
          message: `${nameOf(steps)} ${message}`,
        })),
      );
      continue;
    }
    const found = entriesIn({ content, kinds, at, steps: [], parent: undefined, used });
    entries.push(...found);
    problems.push(...found.flatMap((entry) => resolveSecrets(entry, options.env, dirname(resolve(file)))));
  }
  problems.push(...repeatedIn(entries));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return { entries, kinds: used };
}

function filesIn(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
    const files = names.filter((name) => /\.(?:ya?ml|json)$/.test(name)).sort();
    if (files.length === 0)
      throw new CliError(`${path} has no file whose name ends with .yaml, .yml or .json.`);
    return files.map((name) => join(path, name));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

function entriesIn(options: {
  content: Values;
  kinds: readonly Kind[];
  at(steps: readonly (string | number)[]): string;
  steps: readonly (string | number)[];
  parent: Entry | undefined;
  used: Set<Kind>;
}): Entry[] {
  const { content, kinds, at, parent, used } = options;
  return kinds.flatMap((kind) => {
    const list = content[kind.kind];
    if (!Array.isArray(list)) return [];
    if (parent === undefined) used.add(kind);
    return (list as Record<string, unknown>[]).flatMap((values, index) => {
      const steps = [...options.steps, kind.kind, index];
      const entry: Entry = {
        kind,
        values,
        parent,
        path: nameOf(steps),
        problem(message, field) {
          const path = [...steps, ...(field?.split('.') ?? [])];
          return { at: at(path), message: `${nameOf(path)}: ${message}` };
        },
      };
      return [
        entry,
        ...entriesIn({ ...options, content: values, kinds: kind.children, steps, parent: entry }),
      ];
    });
  });
}

/** The offset of the nearest node that exists. */
function offsetOf(document: Document, steps: readonly (string | number)[]): number {
  for (let length = steps.length; length > 0; length--) {
    const path = steps.slice(0, length);
    const node = document.getIn(path, true) as { range?: [number, number, number] | null } | undefined;
    if (node?.range) return node.range[0];
  }
  return 0;
}

const nameOf = (steps: readonly (string | number)[]) =>
  steps
    .map((it, i) => (typeof it === 'number' || /^\d+$/.test(it) ? `[${it}]` : i === 0 ? it : `.${it}`))
    .join('') || 'The file';

// biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of references in files.
const MUST_REFER = 'must be a reference: ${env:NAME} or ${file:PATH}';

/** The mistakes of a file in words. Of alternatives, only the first counts. */
function mistakesOf(errors: readonly ErrorObject[]): { steps: (string | number)[]; message: string }[] {
  const found = errors.filter(
    ({ keyword, schemaPath }) => keyword !== 'anyOf' && !/\/anyOf\/[1-9]/.test(schemaPath),
  );
  return found.map(({ instancePath, keyword, params, message }) => {
    const steps = instancePath
      .slice(1)
      .split('/')
      .filter(Boolean)
      .map((it) => (/^\d+$/.test(it) ? Number(it) : it));
    const isReference = keyword === 'pattern' && String(params.pattern).startsWith('^\\$\\{');
    const field = keyword === 'additionalProperties' ? [String(params.additionalProperty)] : [];
    const words: Record<string, string> = {
      additionalProperties: 'is not a known field',
      required: `lacks the field ${params.missingProperty}`,
      enum: `must be one of ${[params.allowedValues].flat().join(', ')}`,
      pattern: isReference ? MUST_REFER : `must match ${params.pattern}`,
    };
    return { steps: [...steps, ...field], message: words[keyword] ?? message ?? 'is not valid' };
  });
}

/** Puts the values of secrets in place of the references to them; returns those that are missing. */
function resolveSecrets({ kind, problem, ...entry }: Entry, env: Environment, folder: string): Problem[] {
  const values = entry.values as Record<string, unknown>;
  return kind.secrets.flatMap((name) => {
    const [, source, where = ''] = /^\$\{(env|file):(.+)\}$/.exec(String(values[name])) ?? [];
    if (source === undefined) return [];
    values[name] = source === 'env' ? env[where] : readSecret(resolve(folder, where));
    if (values[name]) return [];
    const reason =
      source === 'env'
        ? `the environment variable ${where} is not set`
        : `the file ${where} cannot be read, or is empty`;
    return problem(reason, name);
  });
}

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch {
    return undefined;
  }
}

/** The problems of objects that share a name and have no ids. */
function repeatedIn(entries: readonly Entry[]): Problem[] {
  const known = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const { kind, values, parent } = entry;
    const key = JSON.stringify([kind.path, parent?.path, values.owner, values[kind.name]]);
    const first = known.get(key) ?? entry;
    known.set(key, first);
    const haveIds = kind.name !== 'id' && values.id !== undefined && first.values.id !== undefined;
    if (first === entry || haveIds) return [];
    return entry.problem(`it has the name of ${first.path}: add an "id" to both`);
  });
}
