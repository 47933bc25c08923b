import type { Setting } from '@gatehouse/core/config';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { authorityTable } from './authority-document.ts';
import { readDeployedServices, sharedSettings } from './deployment/services.ts';
import { completeFiles, writeFiles } from './generated-files.ts';
import { markdownTable } from './markdown-table.ts';
import { LOCAL_DEFAULTS } from './services.ts';
import { settings as localSettings } from './settings.ts';

// `npm run settings` writes what documents say of settings from the schemas in which programs read them, and the table of
// SECURITY.md from the data by which identity decides.

/** The documents with generated parts, by their paths in the repository, as they should be. */
export async function generatedDocuments(): Promise<Record<string, string>> {
  return completeFiles([
    { path: 'README.md', part: 'settings', text: `\n${table(Object.values(localSettings))}\n\n` },
    { path: 'docs/settings.md', text: await settingsPage() },
    { path: 'SECURITY.md', part: 'authority', text: authorityTable() },
  ]);
}

async function settingsPage(): Promise<string> {
  const rows = sharedSettings(await readDeployedServices());
  const ofAll = rows.filter(({ services }) => services.length === SERVICE_NAMES.length);
  const ofSome = rows.filter(({ services }) => services.length > 1 && services.length < SERVICE_NAMES.length);
  const secrets = rows.filter(({ setting }) => setting.isSecret);
  const sections = SERVICE_NAMES.flatMap((name) => {
    const own = rows.filter(({ services }) => services.join() === name);
    return own.length === 0 ? [] : [`## The ${name} service\n\n${table(own.map(({ setting }) => setting))}`];
  });
  return `${[
    '# Settings',
    'Settings are environment variables. Each process reads its own once, when it starts, and names in a sentence each what is ' +
      'missing or wrong. An empty variable counts as not set. This page is written from the code by `npm run settings`.',
    'A secret can be in a file: the variable with `_FILE` after its name, such as `IDENTITY_MASTER_KEY_FILE`, has the absolute path. ' +
      'Newlines at the end of the file do not count. A process does not start when both variables are set, or when the file is empty or cannot be read. ' +
      `This holds for ${secrets.map(({ setting }) => `\`${setting.name}\``).join(', ')}.`,
    '`docker-compose.yml` sets ports, the addresses of services and proxies, and how long a stop may take, and takes the rest from `.env`; ' +
      '[deploy/docker/.env.example](../deploy/docker/.env.example) has its own settings, too, such as images and passwords.',
    `## npm start\n\n${table(Object.values(localSettings))}`,
    'It also takes the settings of the services below, but for those of connections and proxies, and sets by itself the addresses ' +
      'of databases and services, their secrets and their keys. Mails, SMS and pushes are kept in `.data/outbox`, unless the ' +
      'settings of [identity](#the-identity-service) and [notifications](#the-notifications-service) say what to send them ' +
      `with. Other defaults than below: ${localDefaults()}.`,
    `## Every service\n\n${table(ofAll.map(({ setting }) => setting))}`,
    `## Several services\n\n${table(
      ofSome.map(({ setting }) => setting),
      ofSome.map(({ services }) => services.join(', ')),
    )}`,
    ...sections,
  ].join('\n\n')}\n`;
}

const localDefaults = () =>
  Object.entries(LOCAL_DEFAULTS)
    .map(([name, value]) => `\`${name}\` ${value}`)
    .join(', ');

function table(settings: readonly Setting<unknown>[], services?: readonly string[]): string {
  const titles = ['variable', ...(services ? ['services'] : []), 'value', 'default', 'what it does'];
  const rows = settings.map(({ name, type, fallback, description }, i) => {
    if (description === undefined) throw new Error(`${name} has no description`);
    const value = type.replace(/^an? (?=list|whole|number|date|origin|URL)/, '');
    return [
      `\`${name}\``,
      ...(services ? [services[i] ?? ''] : []),
      value,
      // Read as a link otherwise.
      fallback?.replace(/^https?:\S+$/, '`$&`') ?? '**required**',
      description,
    ];
  });
  return markdownTable(titles, rows);
}

if (import.meta.main) await writeFiles(await generatedDocuments());
