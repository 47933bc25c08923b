import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../../../api/api-error.ts';
import { type Application, hasSetting, isConfidential } from '../../../api/application-types.ts';
import { exchangeView } from '../../../pages/exchange.ts';
import { errorOf, formField } from '../../../pages/fields.ts';
import { copyable, entryOf, facts, tabs } from '../../../pages/parts.ts';
import type { Act, Part, Target } from '../../../resources/resource.ts';
import { FRAMEWORKS } from './frameworks.ts';
import type { Sample } from './sample.ts';
import { frameworkView, SNIPPETS, sampleOf, snippetView } from './snippets.ts';
import { WITHOUT_SECRET } from './without-secret.ts';

/** The chosen request, and its outcome. */
type Try = { chosen: string; exchange?: Html; problem?: string | undefined };

/** The requests that can be tried, with their paths. */
const TRIES: Readonly<Record<string, { title: string; path: string }>> = {
  userinfo: { title: 'User information: GET /userinfo', path: '/userinfo' },
  permissions: { title: 'Permissions: GET /api/v1/auth/permissions', path: '/api/v1/auth/permissions' },
  items: { title: 'Items: GET /api/v1/items?limit=2', path: '/api/v1/items?limit=2' },
  products: { title: 'Products: GET /v2/products?limit=2', path: '/v2/products?limit=2' },
  users: { title: 'Users: GET /v2/users?limit=2', path: '/v2/users?limit=2' },
};

/** Keeps the tab that was chosen last. */
const COOKIE = 'gatehouse_quick_start';

const BOUND =
  'The tokens of this application are bound to its own key (DPoP). The dashboard cannot use them.';

/** How to use an application, and a request to try. */
export function quickStart({ publicUrl }: { publicUrl: string }): {
  part: Part<Application>;
  act: Act<Application>;
} {
  return {
    part: {
      title: 'Quick start',
      notices: {
        created:
          'The application is created. The code below has its client ID and secret: copy it now, as the secret is shown only here.',
      },
      async view(page) {
        const { refused, visit } = page;
        const chosen = refused?.fields.text('request') ?? 'items';
        const [fresh] = (await visit.takeFlashes()).map((text) => JSON.parse(text) as { text: string });
        return content(page, publicUrl, { chosen, problem: refused?.error.message }, fresh?.text);
      },
    },
    async act(target, fields) {
      const { visit, value } = target;
      const chosen = fields.text('request');
      const path = entryOf(TRIES, chosen)?.path ?? '/userinfo';
      const began = performance.now();
      const isMachine = value.type === 'machine';
      const credentials = { clientId: value.client_id, clientSecret: fields.text('client_secret') };
      if (isMachine && value.dpop_bound_access_tokens) throw new ApiError(400, BOUND);
      const token = isMachine ? await visit.api.tokenOf(credentials).catch(notSent) : undefined;
      if (isMachine && token === undefined) {
        throw new ApiError(400, 'This is not a valid secret of the application.');
      }
      const authorization = token && `Bearer ${token}`;
      const tried = await visit.api.probe({ method: 'GET', path }, authorization).catch(notSent);
      const sent = { method: 'GET', path, headers: { authorization: 'Bearer …' } };
      const exchange = exchangeView(publicUrl, sent, { ...tried, ms: performance.now() - began });
      return content(target, publicUrl, { chosen, exchange });
    },
  };
}

function notSent(error: unknown): never {
  throw new ApiError(400, `The request was not sent: ${errorOf(error).message}`);
}

/** @param secret one that has just been created, and is shown only here */
function content(target: Target<Application>, base: string, tried: Try, secret?: string): Html {
  const { value, path } = target;
  const { client_id: clientId, type } = value;
  const sample = { ...sampleOf(base, value), ...(secret === undefined ? {} : { secretInFile: secret }) };
  return html`<section><h2>Settings for your code</h2>${facts([
    ['Issuer', copyable('issuer', base)],
    ['Client ID', copyable('id', clientId)],
    [
      'Client secret',
      secret === undefined
        ? isConfidential(value) &&
          html`<a href="${path}/credentials">Add or replace a secret</a>${hasPlatforms(value) && html`, or <a href="${path}/quick-start?for=${WITHOUT_SECRET.id}#code">do without one</a>`}`
        : copyable('new-credential', secret),
    ],
    ['Redirect URI', hasSetting(type, 'redirect_uris') && copyable('redirect', sample.redirectUri)],
    ['Scope', hasSetting(type, 'scopes') && copyable('scope', sample.scope)],
    ['Discovery', copyable('discovery', `${base}/.well-known/openid-configuration`)],
  ])}</section>
${programs(target, sample, base)}
${type !== 'resource' && tryIt(target, tried)}`;
}

/** Whether tokens of platforms may take the place of a secret: a security profile takes keys of the application. */
const hasPlatforms = ({ type, security_profile: profile }: Application) =>
  type === 'machine' && profile === null;

function programs({ value, visit, path }: Target<Application>, sample: Sample, base: string): Html {
  const all = [
    ...FRAMEWORKS.filter(({ types }) => types.includes(value.type)),
    ...SNIPPETS[value.type],
    ...(hasPlatforms(value) ? [WITHOUT_SECRET] : []),
  ];
  // Another page would not have the new secret.
  const isOnePage = sample.secretInFile !== undefined;
  return programTabs(
    { visit, path },
    base,
    all,
    (it) => {
      if ('view' in it) return it.view(value, path, base);
      const id = `code-${it.id}`;
      return 'files' in it ? frameworkView(id, it, sample, value) : snippetView(id, it, sample);
    },
    isOnePage,
  );
}

/**
 * A tab for each framework and language; with `isOnePage`, a folded part for each. The chosen one is shown, or else the last one that was
 * chosen in this browser.
 */
export function programTabs<P extends { id: string; title: string }>(
  { visit, path }: Pick<Target<unknown>, 'visit' | 'path'>,
  base: string,
  all: readonly P[],
  view: (shown: P) => Html,
  isOnePage = false,
): Html {
  const find = (id: string | undefined) => all.find((it) => it.id === id);
  const asked = find(visit.query('for'));
  const shown = asked ?? find(visit.ctx.cookies.get(COOKIE)) ?? all[0];
  if (asked !== undefined) {
    const secure = base.startsWith('https:') ? '; Secure' : '';
    const cookie = `${COOKIE}=${asked.id}; Path=/dashboard; Max-Age=31536000; HttpOnly; SameSite=Lax${secure}`;
    visit.ctx.append('set-cookie', cookie);
  }
  if (shown === undefined) return html``;
  const href = (id: string) => `${path}/quick-start?for=${id}#code`;
  const links = all.map(({ id, title }) => [href(id), title] as const);
  return html`<section id="code"><h2>Code</h2>${
    isOnePage
      ? all.map(
          (it) =>
            html`<details class="panel"${it === shown && html` open`}><summary>${it.title}</summary>${view(it)}</details>`,
        )
      : html`${tabs('Frameworks and languages', href(shown.id), links)}
${view(shown)}`
  }</section>`;
}

function tryIt({ value, visit, path }: Target<Application>, { chosen, exchange, problem }: Try): Html {
  const isMachine = value.type === 'machine';
  return html`<section class="panel" id="try"><h2>Try it</h2>
<p>${
    isMachine
      ? 'The dashboard gets a token with the secret that you enter, and makes the request as this application. It stores neither the secret nor the token.'
      : 'The dashboard makes the request as you, with its own token.'
  }</p>
${problem !== undefined && html`<div class="alert" role="alert"><p class="alert-title">${problem}</p></div>`}
${form(
  { action: `${path}/quick-start#try`, csrf: visit.csrf },
  html`${formField({ name: 'request', label: 'Request', required: true, options: Object.entries(TRIES).map(([name, { title }]) => [name, title]) }, chosen)}
${isMachine && formField({ name: 'client_secret', label: 'Client secret', type: 'password', required: true }, '')}
<div class="buttons"><button class="primary">Send the request</button></div>`,
  { class: 'wide-form' },
)}
${exchange}</section>`;
}
