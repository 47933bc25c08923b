import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Setting } from '@gatehouse/kit/config';
import { SERVICE_NAMES } from '@gatehouse/kit/services';
import { jobsSettings, settings as localSettings, providerSettings } from './settings.ts';

// `npm run settings` writes what documents say of settings from the schemas in which programs read them.

type Row = { setting: Setting<unknown>; services: string[] };

const ROOT = resolve(import.meta.dirname, '../../..');
const BEGIN = '<!-- begin settings: written by npm run settings -->\n';
const END = '<!-- end settings -->';

/** The documents with settings, by their paths in the repository, as they should be. */
export async function settingsDocuments(): Promise<Record<string, string>> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [before, rest = ''] = readme.split(BEGIN);
  const [, after = ''] = rest.split(END);
  return {
    'README.md': `${before}${BEGIN}\n${table(Object.values(localSettings))}\n\n${END}${after}`,
    'docs/settings.md': await settingsPage(),
  };
}

async function settingsPage(): Promise<string> {
  const rows = await readRows();
  const ofAll = rows.filter(({ services }) => services.length === SERVICE_NAMES.length);
  const ofSome = rows.filter(({ services }) => services.length > 1 && services.length < SERVICE_NAMES.length);
  const sections = SERVICE_NAMES.flatMap((name) => {
    const own = rows.filter(({ services }) => services.join() === name);
    return own.length === 0 ? [] : [`## The ${name} service\n\n${table(own.map(({ setting }) => setting))}`];
  });
  return `${[
    '# Settings',
    'Settings are environment variables. Each process reads its own once, when it starts, and names in a sentence each what is ' +
      'missing or wrong. An empty variable counts as not set. This page is written from the code by `npm run settings`.',
    '`docker-compose.yml` passes on those that [deploy/docker/.env.example](../deploy/docker/.env.example) has, which also ' +
      'describes its own settings, such as ports, images and passwords.',
    `## npm start\n\n${table(Object.values(localSettings))}`,
    'Mails, SMS and pushes are kept in `.data/outbox`, unless these settings, which are those of ' +
      '[identity](#the-identity-service) and [notifications](#the-notifications-service), say what to send them with: ' +
      `${Object.values(providerSettings)
        .map(({ name }) => `\`${name}\``)
        .join(', ')}.`,
    `## npm run jobs\n\n${table(Object.values(jobsSettings))}`,
    `## Every service\n\n${table(ofAll.map(({ setting }) => setting))}`,
    `## Several services\n\n${table(
      ofSome.map(({ setting }) => setting),
      ofSome.map(({ services }) => services.join(', ')),
    )}`,
    ...sections,
  ].join('\n\n')}\n`;
}

/** Every setting of a service, with the services that read it. */
async function readRows(): Promise<Row[]> {
  const rows = new Map<string, Row>();
  for (const service of SERVICE_NAMES) {
    // A service exports its service alone; this is about its text, as the import rules are.
    const file = join(ROOT, 'services', service, 'src/config.ts');
    const { settings } = (await import(file)) as { settings: Record<string, Setting<unknown>> };
    for (const setting of Object.values(settings)) {
      const row = rows.get(setting.name) ?? { setting, services: [] };
      if (row.setting.description !== setting.description || row.setting.type !== setting.type) {
        throw new Error(`${setting.name} is described in two ways, one of them in ${file}`);
      }
      row.services.push(service);
      rows.set(setting.name, row);
    }
  }
  return [...rows.values()];
}

function table(settings: readonly Setting<unknown>[], services?: readonly string[]): string {
  const titles = ['variable', ...(services ? ['services'] : []), 'value', 'default', 'what it does'];
  const lines = settings.map(({ name, type, fallback, description }, i) => {
    if (description === undefined) throw new Error(`${name} has no description`);
    const value = type.replace(/^an? (?=list|whole|date|origin|URL)/, '');
    const cells = [
      `\`${name}\``,
      ...(services ? [services[i]] : []),
      value,
      // Read as a link otherwise.
      fallback?.replace(/^https?:\S+$/, '`$&`') ?? '**required**',
      description,
    ];
    return `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');
  });
  return [`| ${titles.join(' | ')} |`, `|${'---|'.repeat(titles.length)}`, ...lines].join('\n');
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await settingsDocuments()))
    await writeFile(join(ROOT, path), text);
}
