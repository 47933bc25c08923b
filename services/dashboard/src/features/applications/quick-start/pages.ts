import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { ApiApplication } from '../../../api/application-types.ts';
import { hasSetting, isConfidential } from '../../../api/application-types.ts';
import { selectField, textField } from '../../../pages/fields.ts';
import { codeBlock, copyable, facts } from '../../../pages/parts.ts';
import type { Sample } from './sample.ts';
import { snippetsOf } from './snippets.ts';

/** A request that was made for somebody to see, without its credential. */
export type Exchange = { request: string; status: number; ms: number; body: string };

/** The requests that can be tried. */
export const TRIES: Readonly<Record<string, { title: string; path: string }>> = {
  userinfo: { title: 'User information: GET /userinfo', path: '/userinfo' },
  permissions: { title: 'Permissions: GET /api/v1/auth/permissions', path: '/api/v1/auth/permissions' },
  items: { title: 'Items: GET /api/v1/items?limit=2', path: '/api/v1/items?limit=2' },
  products: { title: 'Products: GET /v2/products?limit=2', path: '/v2/products?limit=2' },
  users: { title: 'Users: GET /v2/users?limit=2', path: '/v2/users?limit=2' },
};

export function quickStart(it: {
  application: ApiApplication;
  sample: Sample;
  action: string;
  csrf: string;
  chosen: string;
  exchange?: Exchange | undefined;
  problem?: string | undefined;
}): Html {
  const { application, sample } = it;
  const isMachine = application.type === 'machine';
  return html`<section><h2>Settings for your code</h2>${facts([
    ['Issuer', copyable('issuer', sample.base)],
    ['Client ID', copyable('id', sample.clientId)],
    ...(isConfidential(application)
      ? ([
          [
            'Client secret',
            html`<a href="${`/dashboard/applications/${encodeURIComponent(sample.clientId)}/credentials`}">Add or replace a secret</a>`,
          ],
        ] as const)
      : []),
    ...(hasSetting(application.type, 'redirect_uris')
      ? ([['Redirect URI', copyable('redirect', sample.redirectUri)]] as const)
      : []),
    ...(hasSetting(application.type, 'scopes')
      ? ([['Scope', copyable('scope', sample.scope)]] as const)
      : []),
    ['Discovery', copyable('discovery', `${sample.base}/.well-known/openid-configuration`)],
  ])}</section>
${snippetsOf(application.type, sample).map(
  ({ id, title, before, code }) =>
    html`<section><h2>${title}</h2><p>${before}</p>${codeBlock(`code-${id}`, code.text)}</section>`,
)}
${application.type !== 'resource' && tryIt(it, isMachine)}`;
}

function tryIt(it: Parameters<typeof quickStart>[0], isMachine: boolean): Html {
  const { exchange, problem } = it;
  return html`<section class="panel" id="try"><h2>Try it</h2>
<p>${
    isMachine
      ? 'The dashboard gets a token with the secret that you enter, and makes the request as this application. It stores neither the secret nor the token.'
      : 'The dashboard makes the request as you, with its own token.'
  }</p>
${problem !== undefined && html`<div class="alert" role="alert"><p class="alert-title">${problem}</p></div>`}
${form(
  { action: `${it.action}#try`, csrf: it.csrf },
  html`${selectField({ name: 'request', label: 'Request', required: true, value: it.chosen, options: Object.entries(TRIES).map(([name, { title }]) => [name, title] as const) })}
${isMachine && textField({ name: 'client_secret', label: 'Client secret', type: 'password', required: true, autocomplete: 'off' })}
<div class="buttons"><button class="primary">Send the request</button></div>`,
  { class: 'wide-form' },
)}
${exchange !== undefined && html`<div class="exchange" role="status"><div><h3>Request</h3><pre tabindex="0" aria-label="Request"><code>${exchange.request}</code></pre></div><div><h3>Response: ${exchange.status}, after ${exchange.ms} ms</h3><pre tabindex="0" aria-label="Response"><code>${exchange.body}</code></pre></div></div>`}</section>`;
}
