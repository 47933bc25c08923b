import { html } from '@gatehouse/web/html';
import { type ApiError, apiErrorOf } from '../../api/api-error.ts';
import type { ApiDescription } from '../../docs/openapi/source.ts';
import { type Located, route } from '../../docs/reference/operation-view.ts';
import { operationsOf, topicsOf } from '../../docs/reference/topics.ts';
import type { Fields } from '../../http/forms.ts';
import { exchangeView } from '../../pages/exchange.ts';
import { errorOf } from '../../pages/fields.ts';
import type { View } from '../../pages/view.ts';
import { initialValues, resourceForm, sentValues } from '../../resources/resource-form.ts';
import type { UnlistedPages } from '../../routes/dashboard-router.ts';
import { notFound, type Visit } from '../../routes/visit.ts';
import { authorizationOf, linkedValues, problemsOf, requestOf, requestRows } from './request-form.ts';

/** A page for each operation of the API reference, from which a request is sent. */
export function tryRequest(options: {
  describe(): Promise<ApiDescription>;
  publicUrl: string;
}): UnlistedPages {
  const { describe, publicUrl } = options;

  async function find(visit: Visit) {
    const { document } = await describe();
    const located = operationsOf(document).find(
      ({ operation: it }) => it.operationId === visit.param('operation'),
    );
    if (located === undefined) throw notFound();
    const { method, path } = located;
    const page = topicsOf(document)
      .flatMap(({ pages }) => pages)
      .find(({ operations }) =>
        operations.some((it) => it.method === method && [it.path, ...(it.aliases ?? [])].includes(path)),
      );
    return { document, page, located };
  }

  async function show(
    visit: Visit,
    sent?: { fields: Fields; error?: ApiError; body?: View['body'] },
  ): Promise<View> {
    const { document, page, located } = await find(visit);
    const { operationId: id, summary } = located.operation;
    const rows = requestRows(document, located);
    const linked = linkedValues(rows, visit);
    const { search } = visit.ctx;
    const target = {
      action: `/dashboard/try/${encodeURIComponent(id)}${search}#response`,
      csrf: visit.csrf,
    };
    const values =
      sent === undefined ? { ...initialValues(rows, visit), ...linked } : sentValues(rows, sent.fields);
    return {
      title: 'Try a request',
      trail: [
        { href: '/docs/api', title: 'API reference' },
        { href: page === undefined ? '/docs/api' : `${page.hrefs[0]}#${id}`, title: summary },
      ],
      failed: sent?.error !== undefined,
      body: html`${route(located.method, located.path)}
<p>${methodNotice(located)}</p>
${Object.keys(linked).length > 0 && html`<p>The values come from the link that led here. Send the request only if you, or an agent of yours, wanted it.</p>`}
${resourceForm({ target, rows, values, submit: 'Send the request', error: sent?.error })}
${sent?.body !== undefined && html`<section id="response"><h2>Request and response</h2>${sent.body}</section>`}`,
    };
  }

  return {
    addRoutes({ get, post }) {
      get('/try/:operation', (visit) => show(visit));

      post('/try/:operation', async (visit, fields) => {
        const { document, located } = await find(visit);
        const values = sentValues(requestRows(document, located), fields);
        const error = problemsOf(document, located, values);
        if (error !== undefined) return show(visit, { fields, error });
        const request = requestOf(document, located, values, fields.idempotencyKey);
        const began = performance.now();
        try {
          const authorization = authorizationOf(located, values);
          const response = await visit.api.probe(request, authorization);
          // The person signs in again, and comes back to the same page.
          const refusal = apiErrorOf(response, response.text);
          if (authorization === undefined && refusal.takesSignIn) throw refusal;
          const hidden = authorization === null ? {} : { authorization: '…' };
          const shown = { ...request, headers: { ...hidden, ...request.headers } };
          const ms = performance.now() - began;
          return show(visit, { fields, body: exchangeView(publicUrl, shown, { ...response, ms }) });
        } catch (thrown) {
          return show(visit, { fields, error: errorOf(thrown) });
        }
      });
    },
  };
}

function methodNotice({ method }: Located): string {
  if (method === 'get') return 'The dashboard sends the request with these values.';
  return 'The dashboard sends the request with these values. It is a real request, which can change your data.';
}
