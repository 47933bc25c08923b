import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { COLLECTIONS, type Collection, idOf, readRows, toCount } from '../collections.ts';
import { UsageError } from '../errors.ts';
import type { Session } from '../session.ts';

type Options = Record<string, unknown>;
const [APPLICATIONS] = COLLECTIONS as [Collection];

/** The client_id of the application with this client_id or name. */
export const applicationId = (api: ApiClient, given: string) =>
  idOf(api, APPLICATIONS, APPLICATIONS.path, given);

/** A group of commands for each collection. */
export function addCollections(program: Command, session: Session): void {
  for (const collection of COLLECTIONS) addCollection(program, session, collection);
}

function addCollection(program: Command, session: Session, collection: Collection): void {
  const { name, one, verb, nameField, columns, create } = collection;
  const isOfApplication = collection.path.includes('{application}');
  const group = program.command(name).description(`Manage ${collection.summary}.`);
  const argument = `<${one.replace(' ', '-')}>`;
  const Verb = verb === 'delete' ? 'Delete' : 'Revoke';

  function command(usage: string, description: string): Command {
    const made = group.command(usage).description(description);
    return isOfApplication
      ? made.requiredOption('--application <application>', 'the application, by its client_id or name')
      : made;
  }

  async function open(options: Options) {
    const { deployment, ...rest } = session();
    const api = await deployment.api();
    const application = isOfApplication ? await applicationId(api, String(options.application)) : '';
    const inPath = (path: string) => path.replace('{application}', encodeURIComponent(application));
    const path = inPath(collection.path);
    const find = async (given: string) => {
      const id = await idOf(api, collection, path, given);
      return { id, itemPath: `${inPath(collection.itemPath ?? collection.path)}/${encodeURIComponent(id)}` };
    };
    return { ...rest, api, path, find };
  }

  command('list', `List ${name}.`)
    .option('--limit <number>', 'list at most this many', toCount, 1000)
    .action(async (options: Options & { limit: number }) => {
      const { output, api, path } = await open(options);
      const { rows, isComplete } = await output.progress(`Reading ${name}`, readRows(api, path, options));
      output.result(
        { data: rows },
        rows.length === 0 ? `There are no ${name}.` : output.table(columns, rows),
      );
      if (!isComplete) output.note(`There are more than ${options.limit}. To list more, use --limit.`);
    });

  command(`show ${argument}`, `Show one ${one}, by its id or ${nameField}.`).action(
    async (given: string, options: Options) => {
      const { output, api, find } = await open(options);
      const { body } = await api.request('GET', (await find(given)).itemPath);
      output.result(body, output.facts(body));
    },
  );

  if (create !== undefined) {
    const fields = Object.entries(create);
    const creating = command('create', `Create ${/^[aeiou]/i.test(one) ? 'an' : 'a'} ${one}.`);
    for (const [, option] of fields) creating.addOption(option);
    creating
      .option('--data <json>', 'further fields of the API, as a JSON object', toObject)
      .action(async (options: Options) => {
        const given = fields.map(([field, option]) => [field, options[option.attributeName()]]);
        const { output, api, path } = await open(options);
        const sent = { ...Object(options.data), ...Object.fromEntries(given) };
        const { body } = await api.request('POST', path, { body: sent });
        output.result(body, output.facts(body));
        const secrets = ['client_secret', 'api_key', 'secret'].filter((it) => typeof body[it] === 'string');
        if (secrets.length > 0) output.note(`Store the ${secrets.join(' and ')} now: it is not shown again.`);
      });
  }

  command(`${verb} ${argument}`, `${Verb} one ${one}, by its id or ${nameField}.`)
    .option('-y, --yes', 'do not ask')
    .action(async (given: string, options: Options) => {
      const { output, confirm, api, find } = await open(options);
      const { id, itemPath } = await find(given);
      if (options.yes !== true) await confirm(`${Verb} the ${one} ${given}?`);
      await api.request('DELETE', itemPath);
      output.result({ [collection.id]: id, deleted: true }, `The ${one} ${given} is ${verb}d.`);
    });
}

/** The JSON object in an option. Throws a UsageError. */
export function toObject(value: string): object {
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {}
  throw new UsageError('--data takes a JSON object, such as \'{"name": "Shop"}\'.');
}
