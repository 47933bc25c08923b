import { randomBytes } from 'node:crypto';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Application, AppType } from '../../../api/application-types.ts';
import { highlight } from '../../../pages/highlight.ts';
import { codeBlock, copyable } from '../../../pages/parts.ts';
import { API_KEY } from './api-key-snippets.ts';
import type { Framework } from './frameworks.ts';
import { MACHINE } from './machine.ts';
import { BROWSER, NATIVE } from './public.ts';
import { RESOURCE } from './resource.ts';
import { Code, listeningAt, RUN, type Sample, SET_VARIABLES, type Snippet } from './sample.ts';
import type { ApiFramework, ApiSample } from './verify.ts';
import { WEB } from './web.ts';

/** Complete programs for each way to use an application of a type, and for an API key. */
export const SNIPPETS: Readonly<Record<AppType | 'api_key', readonly Snippet[]>> = {
  machine: MACHINE,
  web: WEB,
  spa: BROWSER,
  native: NATIVE,
  resource: RESOURCE,
  api_key: API_KEY,
};

const secretLine = ({ secretInFile = 'YOUR_CLIENT_SECRET' }: Pick<Sample, 'secretInFile'> = {}) =>
  `CLIENT_SECRET=${secretInFile}`;

/** The values of an application in its programs. */
export function sampleOf(
  base: string,
  { client_id: clientId, redirect_uris: uris, scopes }: Application,
  secret?: string,
): Sample {
  const sample = { base, clientId, redirectUri: uris[0] ?? '', scope: scopes.join(' ') };
  return secret === undefined ? sample : { ...sample, secret };
}

/** A program and what to do to run it. The id of its element must be unique on the page. */
export function snippetView(elementId: string, { steps, code }: Snippet, sample: Sample): Html {
  const left = sample.secret === undefined ? steps : steps.filter((step) => !SET_VARIABLES.includes(step));
  const variables = variablesView(elementId, left, [secretLine(sample)]);
  return html`${left.length > 0 && html`<ol>${left.map(stepView(elementId, sample))}</ol>`}
${variables && html`${variables}<h3>Code</h3>`}${codeView(elementId, code(sample))}`;
}

/** The steps, one at a time; a command can be copied. */
const stepView = (id: string, sample: Pick<Sample, 'redirectUri'>) => (step: string, at: number) => {
  const places = Object.entries(listeningAt(sample.redirectUri));
  const text = places.reduce((it, [name, value]) => it.replaceAll(`{${name}}`, value), step);
  return html`<li>${text.startsWith(RUN) ? html`Run: ${copyable(`${id}-step-${at}`, text.slice(RUN.length))}` : text}</li>`;
};

/** The file of the variables, if the steps say to save it. */
function variablesView(id: string, steps: readonly string[], lines: readonly string[]): Html | false {
  if (!SET_VARIABLES.every((step) => steps.includes(step))) return false;
  return html`<h3><code>.env</code></h3>${codeView(`${id}-env`, new Code(lines.join('\n'), 'sh'))}`;
}

function codeView(id: string, { text, grammar }: Code): Html {
  return codeBlock(id, highlight(text.trim(), grammar));
}

/** The files of an application in a framework, and what to do to run it. The ids of their elements begin with `elementId`. */
export function frameworkView(
  elementId: string,
  { steps, callback, packages, secrets = [], files }: Framework,
  sample: Sample,
  { redirect_uris: uris }: Application,
): Html {
  const own = callback && URL.parse(callback, sample.redirectUri)?.href;
  const added =
    own &&
    !uris.includes(own) &&
    html`<li>Add the redirect URI of the framework to the settings of the application: ${copyable(`${elementId}-redirect`, own)}</li>`;
  const random = secrets.map((name) => `${name}=${randomBytes(32).toString('hex')}`);
  const variables = [secretLine(sample), ...random];
  const it = { added, steps, variables, files: files(sample) };
  if (packages === undefined) return filesView(elementId, it, sample);
  const secret =
    sample.secretInFile === undefined &&
    html`<li>Put a client secret of the application in place of <code>YOUR_CLIENT_SECRET</code>.</li>`;
  return html`<ol>${secret}${steps.map(stepView(elementId, sample))}</ol>
${codeView(elementId, commandsOf(packages, it))}`;
}

/** The commands that make a project in a folder of its own, and start it. */
function commandsOf(
  packages: string,
  { variables, files }: { variables: readonly string[]; files: Readonly<Record<string, Code>> },
): Code {
  const [[name = '', program] = []] = Object.entries(files);
  const write = (file: string, text = '') => `cat > ${file} <<'END'\n${text}\nEND`;
  const lines = [
    `mkdir -p quick-start && cd quick-start && npm init -y --init-type=module && npm install ${packages}`,
    write('.env', variables.join('\n')),
    write(name, program?.text),
    `node --env-file=.env ${name}`,
  ];
  return new Code(lines.join('\n'), program?.grammar);
}

/** The files of a server in a framework, of an API whose URL leads to the server. */
export function apiFrameworkView({ steps, files }: ApiFramework, sample: ApiSample): Html {
  const added = html`<li><a href="/dashboard/applications/new?type=resource">Create an application for the server</a>, of the type for APIs, with the same owner. Its ID and a secret of it let the server read revocations.</li>`;
  const variables = ['CLIENT_ID=YOUR_CLIENT_ID', secretLine()];
  return filesView(
    'code',
    { added, steps, variables, files: files(sample) },
    { redirectUri: sample.identifier },
  );
}

function filesView(
  elementId: string,
  it: {
    added: Content;
    steps: readonly string[];
    variables: readonly string[];
    files: Readonly<Record<string, Code>>;
  },
  sample: Pick<Sample, 'redirectUri'>,
): Html {
  return html`<ol>${it.added}${it.steps.map(stepView(elementId, sample))}</ol>
${variablesView(elementId, it.steps, it.variables)}
${Object.entries(it.files).map(([name, code], i) => html`<h3><code>${name}</code></h3>${codeView(`${elementId}-${i}`, code)}`)}`;
}
