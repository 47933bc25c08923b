import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { attempt } from '../../api/attempt.ts';
import { formProblem } from '../../pages/fields.ts';
import { exactTime, notAvailable, number, statusTag } from '../../pages/parts.ts';
import { table } from '../../pages/table.ts';
import type { Act, Part, PartView, Target } from '../../resources/resource.ts';

type Process = { id: string; language: string; version: string };
type Requests = {
  person: number;
  machine: number;
  key: number;
  refused: { status: number; error: string; count: number }[];
};
type Verifier = Process & {
  stale: string;
  connected: boolean;
  connected_since: string;
  last_seen_at: string;
  behind_seconds: number;
  requests: Requests | null;
};
type Tested = Process & { sent_after_ms: number | null; applied_after_ms: number | null };
type Revocation = { kind: string; id: string; until: number; written_at: string; test: boolean };
type Entity = { id: string };

const LANGUAGES: Readonly<Record<string, string>> = { node: 'Node.js', python: 'Python', go: 'Go' };
const WHEN_SILENT: Readonly<Record<string, string>> = {
  introspect: 'Introspects each token',
  refuse: 'Refuses all requests',
  accept: 'Accepts tokens by what is known',
};

const nameOf = ({ id, language }: Process) =>
  html`${LANGUAGES[language] ?? language} <code title="${id}">…${id.slice(-8)}</code>`;
const ms = (value: number | null, none: string) => (value === null ? none : `${number(value)} ms`);

/** The number of connected verifiers, with the way to them or to the quick start. */
export async function verifiersFact({ visit, path, apiPath }: Target<Entity>): Promise<Content> {
  const { value } = await attempt(visit.api.get<{ data: Verifier[] }>(`${apiPath}/verifiers`));
  if (value === undefined) return false;
  const count = value.data.filter(({ connected }) => connected).length;
  return count > 0
    ? html`<a href="${path}/verifiers">${number(count)} connected</a>`
    : html`None is connected. <a href="${path}/quick-start">Connect one</a>`;
}

/** The processes that read the revocations of an API, and these revocations. */
export const verifiersPart: Part<Entity> = { title: 'Verifiers', view: (page) => content(page) };

/** Revokes a token that does not exist, and shows when each verifier was sent that. */
export const testRevocation: Act<Entity> = async (target) => {
  const { visit, apiPath } = target;
  const { verifiers } = await visit.api.send<{ verifiers: Tested[] }>('POST', `${apiPath}/revocation-test`);
  return content({ ...target, refused: undefined }, results(verifiers));
};

async function content(page: PartView<Entity>, tested?: Html): Promise<Html> {
  const { visit, path, apiPath, refused } = page;
  const [verifiers, recent] = await Promise.all([
    attempt(visit.api.get<{ data: Verifier[] }>(`${apiPath}/verifiers`)),
    attempt(visit.api.get<{ data: Revocation[] }>(`${apiPath}/recent-revocations`)),
  ]);
  const again = { again: `${path}/verifiers` };
  const isConnected = verifiers.value?.data.some(({ connected }) => connected) ?? false;
  return html`${formProblem(refused?.error)}
<section><h2>Verifiers</h2>${
    verifiers.error === undefined
      ? html`${verifiersTable(verifiers.value.data, path)}${requestsTable(verifiers.value.data)}`
      : notAvailable('The verifiers', verifiers.error, again)
  }</section>
${
  (isConnected || tested) &&
  html`<section class="panel" id="test"><h2>Test revocation</h2><p>Gatehouse revokes a token that does not exist, and shows when each verifier was sent that.</p>
${form({ action: `${path}/verifiers/test#test`, csrf: visit.csrf }, html`<div class="buttons"><button class="primary">Test revocation</button></div>`)}
${tested}</section>`
}
<section><h2>Last revocations</h2>${
    recent.error === undefined
      ? revocationsTable(recent.value.data)
      : notAvailable('The revocations', recent.error, again)
  }</section>`;
}

function verifiersTable(data: readonly Verifier[], path: string): Html {
  const none = html`<p><strong>No verifier is connected.</strong> Your server refuses revoked tokens within a second once it uses <code>@gatehouse/verify</code>: the <a href="${path}/quick-start">quick start</a> has the code.</p>`;
  const isConnected = data.some(({ connected }) => connected);
  const columns = [
    { title: 'Process', show: nameOf },
    { title: 'Version', show: ({ version }: Verifier) => version },
    {
      title: 'Status',
      show: ({ connected }: Verifier) => statusTag(connected ? 'connected' : 'disconnected'),
    },
    { title: 'Connected since', show: (it: Verifier) => exactTime(it.connected_since) },
    { title: 'Behind', show: ({ behind_seconds: s }: Verifier) => (s === 0 ? 'no' : `${number(s)} s`) },
    { title: 'When revocations are silent', show: ({ stale }: Verifier) => WHEN_SILENT[stale] ?? stale },
  ];
  return html`${!isConnected && none}${data.length > 0 && table(columns, data)}`;
}

/** The requests of all processes, by their outcomes. */
function requestsTable(data: readonly Verifier[]): Html | false {
  const reports = data.flatMap(({ requests }) => requests ?? []);
  if (reports.length === 0) return false;
  const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);
  const refused = reports.flatMap((report) => report.refused);
  const byError = Map.groupBy(refused, ({ status, error }) => `${status} ${error}`);
  const rows = [
    { outcome: 'Accepted, of people', count: sum(reports.map(({ person }) => person)) },
    { outcome: 'Accepted, of machines', count: sum(reports.map(({ machine }) => machine)) },
    { outcome: 'Accepted, with API keys', count: sum(reports.map(({ key }) => key)) },
    ...[...byError].map(([error, all]) => ({
      outcome: `Refused, ${error}`,
      count: sum(all.map(({ count }) => count)),
    })),
  ].filter(({ count }) => count > 0);
  const columns = [
    { title: 'Requests', show: ({ outcome }: (typeof rows)[number]) => outcome },
    { title: 'Since the start of each process', show: ({ count }: (typeof rows)[number]) => number(count) },
  ];
  return rows.length > 0 && table(columns, rows);
}

function results(data: readonly Tested[]): Html {
  if (data.length === 0) return html`<p role="status">No verifier was connected.</p>`;
  const columns = [
    { title: 'Process', show: nameOf },
    { title: 'Sent after', show: (it: Tested) => ms(it.sent_after_ms, 'not within 2 s') },
    { title: 'Applied after', show: (it: Tested) => ms(it.applied_after_ms, 'not reported') },
  ];
  return html`<div role="status"><h3>Result</h3>${table(columns, data)}</div>`;
}

const reasonOf = ({ test, kind }: Revocation) =>
  test ? 'test' : kind === 'key' ? 'signing key withdrawn' : 'access ended';

function revocationsTable(data: readonly Revocation[]): Html {
  if (data.length === 0)
    return html`<p><strong>Nothing was revoked yet.</strong> Revocations of tokens, people and applications with access to this API appear here.</p>`;
  const columns = [
    { title: 'Revoked', show: (it: Revocation) => html`${it.kind} <code>${it.id}</code>` },
    { title: 'At', show: (it: Revocation) => exactTime(it.written_at) },
    {
      title: 'In force until',
      show: ({ until }: Revocation) => exactTime(new Date(until * 1000).toISOString()),
    },
    { title: 'Reason', show: reasonOf },
  ];
  return table(columns, data);
}
