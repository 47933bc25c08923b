import { type Content, html } from '@gatehouse/web/html';
import type { Entry as DocsEntry, DocsSearch } from '../../docs/search/search.ts';
import type { View } from '../../pages/view.ts';
import type { Found, Hit, Section, UnlistedPages } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import { find, type Group, type Results } from './find.ts';
import { TASKS } from './tasks.ts';

const PATH = '/dashboard/search';
const MAX_LENGTH = 200;

/** Pages that the header of the dashboard leads to. */
const PAGES: readonly Hit[] = [
  { href: '/account', title: 'Your account' },
  { href: '/dashboard/preferences', title: 'Preferences: theme and time zone' },
  { href: '/docs', title: 'Documentation' },
  { href: '/docs/api', title: 'API reference' },
];

/** The search of the dashboard, by ids, names and titles: the field in the header of each page leads to it. */
export function search(titles: { sections: readonly Section[]; searchDocs: DocsSearch }): UnlistedPages {
  const docs = async (q: string): Promise<Found> => ({
    hits: (await titles.searchDocs(q, { isExact: true })).map(docsHit),
    all: `/docs/search?${new URLSearchParams({ q })}`,
  });
  return {
    addRoutes({ get }) {
      get('/search', async (visit): Promise<View | string> => {
        const text = visit.query('q').trim().slice(0, MAX_LENGTH);
        if (text === '') return view(text, INTRODUCTION);
        const { sections } = titles;
        const results = await find({ sections, pages: PAGES, docs, tasks: TASKS }, visit, text);
        // While an id is typed or pasted, the page stays: it is shown as a result.
        if (results.exact !== undefined && !isPart(visit)) return results.exact.href;
        return view(text, resultsView(text, results));
      });
    },
  };
}

/** A section of a guide, or an operation, which is named by its path. */
function docsHit({ href, title, place, operation }: DocsEntry): Hit {
  if (operation !== undefined) {
    return { href, title, detail: `${operation.method.toUpperCase()} ${operation.path}` };
  }
  return { href, title: title === place ? title : `${place}: ${title}` };
}

/** Whether htmx asks for results to be shown in the page. */
function isPart({ ctx }: Visit): boolean {
  return ctx.get('hx-request') === 'true';
}

function view(text: string, results: Content): View {
  return {
    title: 'Search',
    ...(text !== '' && { part: text }),
    search: text,
    body: html`<div id="found" class="stack">${results}</div>`,
  };
}

const INTRODUCTION = html`<p>Enter an ID, such as that of an application, an order or a request, or the beginnings of words in a name or in the title of a page or a guide.</p>`;

function resultsView(text: string, { groups, failed, isId }: Results): Content {
  const count = groups.reduce((sum, { hits }) => sum + hits.length, 0);
  const path = `${PATH}?${new URLSearchParams({ q: text })}`;
  return html`<p class="count" role="status">${count === 0 ? 'No results' : count === 1 ? '1 result' : `${count} results`} for “<bdi>${text}</bdi>”.</p>
${failed.length > 0 && html`<div class="unavailable"><p><strong>Some results may be missing.</strong> These could not be searched: ${failed.join(', ')}. <a href="${path}">Try again</a> in a moment.</p></div>`}
${groups.map(groupView)}
${count === 0 && failed.length === 0 && isId && html`<p>The object does not exist, was deleted, or belongs to another user.</p>`}`;
}

function groupView({ title, hits, all }: Group): Content {
  return html`<section><h2>${title}</h2><ul class="hits">${hits.map(
    (hit) =>
      html`<li><a href="${hit.href}"><bdi>${hit.title}</bdi>${hit.detail !== undefined && html` <code>${hit.detail}</code>`}</a></li>`,
  )}</ul>${all !== undefined && html`<p><a href="${all}">More in ${title}</a></p>`}</section>`;
}
