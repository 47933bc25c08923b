import { type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { type ApiSecret, type Application, hasSetting, isConfidential } from '../../api/application-types.ts';
import { federatedOf, keysOf, secretsOf } from '../../api/credentials.ts';
import type { Fields } from '../../http/forms.ts';
import { exactTime, lastUseText } from '../../pages/parts.ts';
import type { Act, Part, PartView, Resource, Target } from '../../resources/resource.ts';
import { notFound } from '../../routes/visit.ts';
import {
  keySection,
  lastCharacters,
  type NewCredential,
  newCredential,
  OVERLAPS,
  SECRET_LIFETIME,
  secretSection,
} from './credential-sections.ts';
import {
  type Explanation,
  explain,
  federatedActions,
  federatedQuestions,
  federatedSection,
  mayBeUsed,
  usagePanel,
} from './federated-credentials.ts';
import { membersOf, nameOf } from './members.ts';

type Config = { publicUrl: string };

/** Client secrets, federated credentials and API keys of an application. New secrets and keys are shown on the page that follows, once. */
export const credentials = (config: Config): Part<Application> => ({
  title: 'Credentials',
  notices: {
    created:
      'The application is created. Copy its client ID and secret now. The quick start shows how to use them.',
    removed: 'The secret no longer works.',
    revoked: 'The API key no longer works.',
    federated: 'The federated credential is added. Jobs use it as shown below.',
    unfederated: 'The federated credential is removed.',
  },
  view: (page) => content(page, config),
});

async function content(
  page: PartView<Application>,
  { publicUrl }: Config,
  explanation?: Explanation,
): Promise<Html> {
  const { value, visit, apiPath } = page;
  const [secrets, keys, federated, members] = await Promise.all([
    secretsOf(visit.api, apiPath),
    keysOf(visit.api, apiPath),
    federatedIn(page),
    membersOf(visit, apiPath),
  ]);
  const makers = new Map(
    members.flatMap((member) => member.credentials.map(({ id }) => [id, nameOf(member)] as const)),
  );
  const canChange = value.role !== 'viewer';
  const rules = await federatedSection({ page, federated }, explanation);
  const fresh = (await visit.takeFlashes()).map((text) => JSON.parse(text) as NewCredential);
  return html`${fresh.map((it, at) => newCredential(it, at, { application: value, publicUrl }))}
${usagePanel(page, federated, publicUrl)}
${!canChange && html`<p>You are a viewer of this application. Its owner and its developers create and remove its secrets and API keys.</p>`}
${isConfidential(value) && secretSection({ page, secrets, federated: federated.filter(mayBeUsed), fresh, canChange, makers })}
${rules}
${keySection({ page, keys, fresh, canChange, makers })}`;
}

/** The federated credentials; none for an application of another type. */
const federatedIn = async ({ visit, value, apiPath }: Target<Application>) =>
  hasSetting(value.type, 'federated_credentials') ? federatedOf(visit.api, apiPath) : [];

/** Keeps a new credential for the page that shows it, by default that of the credentials; returns its path. */
export async function keepForPage(
  { visit, path }: Pick<Target<Application>, 'visit' | 'path'>,
  credential: NewCredential,
  page: 'credentials' | 'quick-start' = 'credentials',
): Promise<string> {
  await visit.putFlash(`${path}/${page}`, JSON.stringify(credential));
  return `${path}/${page}`;
}

/** The field of the API for a lifetime in seconds; nothing for an unlimited one. */
function lifetime(text: string): { expires_in?: number } {
  return text === 'never' ? {} : { expires_in: Number(text) };
}

const addSecret: Act<Application> = (target, fields) => createSecret(target, fields, fields.text('label'));

/** Creates a secret, and returns the page that shows it. */
async function createSecret(
  target: Target<Application>,
  fields: Fields,
  label: string,
  kind: 'secret' | 'rotated_secret' = 'secret',
): Promise<string> {
  const body = { ...(label === '' ? {} : { label }), ...lifetime(fields.text('expires_in')) };
  const path = `${target.apiPath}/secrets`;
  const { client_secret: text } = await target.visit.api.send<{ client_secret: string }>('POST', path, body);
  return keepForPage(target, { kind, text });
}

const createKey: Act<Application> = async (target, fields) => {
  const values = { name: fields.text('name'), scopes: fields.all('scopes') };
  const body = { ...values, ...lifetime(fields.text('key_expires_in')) };
  const path = `${target.apiPath}/api-keys`;
  const { api_key: text } = await target.visit.api.send<{ api_key: string }>('POST', path, body);
  return keepForPage(target, { kind: 'key', text });
};

export const credentialActions = (config: Config): NonNullable<Resource<Application>['actions']> => ({
  'credentials/secrets': { once: addSecret },
  'credentials/keys': { once: createKey },
  ...federatedActions,
  'credentials/explain': async (target, fields) =>
    content({ ...target, refused: undefined }, config, await explain(target, fields)),
});

/** The one that the path names, with its path in the API. */
function named<T extends { id: string }>(
  { visit, apiPath }: Target<Application>,
  kind: 'secrets' | 'api-keys',
  credentials: readonly T[],
): T & { credentialPath: string } {
  const found = credentials.find(({ id }) => id === visit.param('credential'));
  if (found === undefined) throw notFound();
  return { ...found, credentialPath: `${apiPath}/${kind}/${encodeURIComponent(found.id)}` };
}

function describeSecret(secret: ApiSecret): Html {
  const { label, last_four: lastFour, id, created_at: created } = secret;
  return html`Client secret ${label !== null && html`<bdi>${label}</bdi> `}${lastFour === null ? html`<code>${id}</code>` : html`ending in ${lastCharacters(secret)}`}, created ${exactTime(created)}, ${lastUseText(secret)}`;
}

/** The questions before a credential stops working. */
export const credentialQuestions: NonNullable<Resource<Application>['confirmed']> = {
  ...federatedQuestions,
  async 'credentials/secrets/:credential/rotate'(target) {
    const { visit, apiPath } = target;
    const secrets = await secretsOf(visit.api, apiPath);
    const secret = named(target, 'secrets', secrets);
    // An application has two at most.
    const removed = secrets.length > 1 ? secret.id : '';
    return {
      title: 'Rotate this client secret?',
      lost: html`<p>${describeSecret(secret)}. A new secret replaces it. ${
        removed === ''
          ? 'The old one keeps working until you remove it.'
          : 'The old one stops working at once, because an application can have two secrets at most. The other one keeps working.'
      }</p>`,
      rows: [SECRET_LIFETIME],
      hidden: { removed },
      submit: 'Rotate secret',
      async act(fields) {
        if (fields.text('removed') !== removed)
          throw new ApiError(409, 'The secrets of the application have changed. Look at them again.');
        if (removed !== '') await visit.api.send('DELETE', secret.credentialPath);
        const kind = removed === '' ? 'rotated_secret' : 'secret';
        return createSecret(target, fields, secret.label ?? '', kind);
      },
    };
  },
  async 'credentials/secrets/:credential/remove'(target) {
    const { visit, value, path, apiPath } = target;
    const secrets = await secretsOf(visit.api, apiPath);
    const secret = named(target, 'secrets', secrets);
    const isLast = secrets.length === 1 && (await federatedIn(target)).filter(mayBeUsed).length === 0;
    return {
      title: isLast ? 'Remove the last client secret?' : 'Remove this client secret?',
      lost: html`<p>${describeSecret(secret)}. Applications that use it stop working at once.</p>
${isLast && html`<p>It is the only secret of <strong><bdi>${value.name}</bdi></strong>: no tokens can be issued to the application until you add another.</p>`}`,
      ...(isLast ? { name: value.name } : {}),
      submit: 'Remove secret',
      async act() {
        await visit.api.send('DELETE', secret.credentialPath);
        return `${path}/credentials?done=removed`;
      },
    };
  },
  async 'credentials/keys/:credential/rotate'(target) {
    const { visit, apiPath } = target;
    const key = named(target, 'api-keys', await keysOf(visit.api, apiPath));
    return {
      title: `Rotate the API key “${key.name}”?`,
      lost: html`<p>A new key with the same scopes replaces it. The old key, ${lastUseText(key)}, stops working after the time that you choose below. Put the new key in place before then.</p>`,
      rows: [{ name: 'overlap', label: 'The old key keeps working for', required: true, options: OVERLAPS }],
      submit: 'Rotate key',
      async act(fields) {
        const body = { overlap_seconds: Number(fields.required('overlap')) };
        const rotated = visit.api.send<{ api_key: string }>('POST', `${key.credentialPath}/rotate`, body);
        return keepForPage(target, { kind: 'rotated_key', text: (await rotated).api_key });
      },
    };
  },
  async 'credentials/keys/:credential/revoke'(target) {
    const { visit, path, apiPath } = target;
    const key = named(target, 'api-keys', await keysOf(visit.api, apiPath));
    return {
      title: `Revoke the API key “${key.name}”?`,
      lost: html`<p>API key <bdi>${key.name}</bdi>${key.last_four !== null && html` ending in ${lastCharacters(key)}`}, ${lastUseText(key)}. Programs that use it stop working at once.</p>`,
      submit: 'Revoke key',
      async act() {
        await visit.api.send('DELETE', key.credentialPath);
        return `${path}/credentials?done=revoked`;
      },
    };
  },
};
