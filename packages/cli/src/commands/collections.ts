import { type Command, Option } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { COLLECTIONS, type Collection, idOf, readRows } from '../collections.ts';
import { UsageError } from '../errors.ts';
import type { Session } from '../session.ts';

type Options = Record<string, unknown>;
const [APPLICATIONS] = COLLECTIONS as [Collection];
const APPLICATION = '--application <application>';

/** The client_id of an application that is given by it or by its name. */
export const applicationId = (api: ApiClient, given: string) =>
  idOf(api, APPLICATIONS, APPLICATIONS.path, given);

/** A group of commands for each collection. */
export function addCollections(program: Command, session: Session): void {
  for (const collection of COLLECTIONS) addCollection(program, session, collection);
}

function addCollection(program: Command, session: Session, collection: Collection): void {
  const { name, one, verb, columns, create } = collection;
  const isOfApplication = collection.path.includes('{application}');
  const group = program.command(name).description(`Manage ${collection.summary}.`);

  function command(usage: string, description: string): Command {
    const made = group.command(usage).description(description);
    return isOfApplication
      ? made.requiredOption(APPLICATION, 'the application, by its client_id or name')
      : made;
  }

  async function open(options: Options) {
    const { deployment } = session();
    const api = await deployment.api();
    const application = isOfApplication ? await applicationId(api, String(options.application)) : '';
    const inPath = (path: string) => path.replace('{application}', encodeURIComponent(application));
    const path = inPath(collection.path);
    const itemPath = (id: string) =>
      `${inPath(collection.itemPath ?? collection.path)}/${encodeURIComponent(id)}`;
    return { api, path, itemPath };
  }

  command('list', `List ${name}.`)
    .addOption(new Option('--limit <number>', 'as many at most').argParser(toLimit).default(1000))
    .action(async (options: Options & { limit: number }) => {
      const { output } = session();
      const { api, path } = await open(options);
      const { rows, isComplete } = await output.progress(`Reading ${name}`, readRows(api, path, options));
      const cells = rows.map((row) => Object.values(columns).map((field) => row[field]));
      const text = rows.length === 0 ? `There are no ${name}.` : output.table(Object.keys(columns), cells);
      output.result({ data: rows }, text);
      if (!isComplete) output.note(`There are more than ${options.limit}: --limit shows more of them.`);
    });

  command(`show <${one.replace(' ', '-')}>`, `Show one ${one}, by its id or name.`).action(
    async (given: string, options: Options) => {
      const { output } = session();
      const { api, path, itemPath } = await open(options);
      const { body } = await api.request('GET', itemPath(await idOf(api, collection, path, given)));
      output.result(body, output.facts(body));
    },
  );

  if (create !== undefined)
    addCreate(
      command('create', `Create ${/^[aeiou]/i.test(one) ? 'an' : 'a'} ${one}.`),
      session,
      collection,
      open,
    );

  command(
    `${verb} <${one.replace(' ', '-')}>`,
    `${verb === 'delete' ? 'Delete' : 'Revoke'} one ${one}, by its id or name.`,
  )
    .option('-y, --yes', 'without asking')
    .action(async (given: string, options: Options) => {
      const { output, confirm } = session();
      const { api, path, itemPath } = await open(options);
      const id = await idOf(api, collection, path, given);
      if (options.yes !== true)
        await confirm(`${verb === 'delete' ? 'Delete' : 'Revoke'} the ${one} ${given}?`);
      await api.request('DELETE', itemPath(id));
      output.result({ [collection.id]: id, deleted: true }, `The ${one} ${given} is ${verb}d.`);
    });
}

function addCreate(
  command: Command,
  session: Session,
  { create = [] }: Collection,
  open: (options: Options) => Promise<{ api: ApiClient; path: string }>,
): void {
  for (const { flags, description, isRequired, default: standard } of create) {
    const option = new Option(flags, description).default(standard);
    command.addOption(isRequired ? option.makeOptionMandatory() : option);
  }
  command
    .option('--data <json>', 'further fields of the API, as a JSON object')
    .action(async (options: Options) => {
      const { output } = session();
      const set = create.flatMap(({ flags, field, parse = (it: unknown) => it }) => {
        const value = options[nameOf(flags)];
        if (value === undefined) return [];
        return [[field, Array.isArray(value) ? value.map((it) => parse(it)) : parse(value as string)]];
      });
      const sent = { ...toObject(options.data), ...Object.fromEntries(set) };
      const { api, path } = await open(options);
      const { body } = await api.request('POST', path, { body: sent });
      output.result(body, output.facts(body));
      const secrets = ['client_secret', 'api_key', 'secret'].filter(
        (field) => typeof body[field] === 'string',
      );
      if (secrets.length > 0) output.note(`Keep the ${secrets.join(' and ')}: it is shown only this once.`);
    });
}

/** The name under which commander stores an option. */
const nameOf = (flags: string) => new Option(flags).attributeName();

/** A count from 1. */
export function toLimit(value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1) throw new UsageError(`${value} is not a number from 1.`);
  return number;
}

/** The JSON object of an option. Throws a UsageError. */
export function toObject(value: unknown): object {
  if (value === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(String(value));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {}
  throw new UsageError('--data takes a JSON object, such as \'{"name": "Shop"}\'.');
}
