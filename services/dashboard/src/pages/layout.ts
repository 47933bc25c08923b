import { VERSION } from '@gatehouse/core/version';
import type { Role } from '@gatehouse/tokens/scopes';
import { timeZone } from '@gatehouse/web/appearance';
import { htmlDocument, PRODUCT } from '@gatehouse/web/document';
import { form, notice } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { logo } from '@gatehouse/web/illustrations';
import { hasRole, type Person } from '../sessions/session.ts';
import { HEAD, HEAD_WITH_CHARTS } from './assets.ts';
import type { View } from './view.ts';

/** An entry of the navigation, at the path of its name. */
export type NavigationEntry = {
  name: string;
  title: string;
  /** The lowest role that sees it. */
  role?: Role;
};

/** The entries of the navigation under their headings. */
export type Navigation = readonly (readonly [heading: string, entries: readonly NavigationEntry[]])[];

/** The person who views a page, and the token for the forms on it. */
export type Viewer = { person: Person; csrf: string };

/** A page with the navigation around it. */
export function layout(view: View, { person, csrf }: Viewer, navigation: Navigation): string {
  const { title, trail = [], actions, failed } = view;
  // Tabs and bookmarks tell a page from those beside it by what it is part of.
  const parts = [view.part, title, trail.at(-1)?.title].filter((part) => part !== undefined);
  return htmlDocument(
    { title: parts.join(' – '), failed },
    html`<body class="dashboard">
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><a class="brand" href="/dashboard">${logo}${PRODUCT}</a>
${searchField(view.search)}
<nav class="bar-links" aria-label="${PRODUCT}"><a href="/docs">Docs</a></nav>
<details class="menu"><summary><span class="menu-name"><bdi>${person.name}</bdi></span></summary>
<div class="menu-panel"><p class="hint">${roleText(person)}</p><a href="/account">Your account</a><a href="/dashboard/preferences">Preferences</a>
${form({ action: '/dashboard/sign-out', csrf }, html`<button class="secondary small">Sign out</button>`)}</div></details></header>
<div class="frame">
<nav class="side" aria-label="Dashboard"><details class="side-fold"><summary>Menu</summary>${navigationLinks(navigation, view.section, person)}</details></nav>
<main id="main" tabindex="-1">
${trail.length > 0 && html`<nav class="trail" aria-label="Where you are"><ol>${trail.map((above) => html`<li><a href="${above.href}">${above.title}</a></li>`)}</ol></nav>`}
<div class="heading"><h1>${title}</h1>${actions !== undefined && actions !== false && html`<div class="actions">${actions}</div>`}</div>
${notice(view.notice)}
${view.body}
<p class="time-zone hint">Times are in the zone <span>${timeZone()}</span>. <a href="/dashboard/preferences">Change</a> · ${PRODUCT} ${VERSION}</p>
</main>
</div>
</body>`,
    view.charts ? HEAD_WITH_CHARTS : HEAD,
  );
}

/** The field of the search: results are shown below it, or on the page of the search in their place there. */
function searchField(text: string | undefined): Html {
  const path = '/dashboard/search';
  const target =
    text === undefined
      ? html` hx-target="#bar-results" hx-select="#found > *" hx-swap="innerHTML ignoreTitle:true"`
      : html` hx-target="#found" hx-select="#found" hx-swap="outerHTML" hx-replace-url="true"`;
  return html`<form class="bar-search" role="search" aria-label="Dashboard" method="get" action="${path}" hx-get="${path}" hx-trigger="input delay:300ms"${target} hx-sync="this:replace"><label class="visually-hidden" for="bar-q">Search the dashboard</label><input id="bar-q" name="q" type="search" value="${text ?? ''}" placeholder="Search" aria-keyshortcuts="Control+K Meta+K" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="200">${text === undefined && html`<div class="bar-results" id="bar-results" tabindex="-1"></div>`}</form>`;
}

function navigationLinks(navigation: Navigation, current: string | undefined, person: Person): Content {
  const visible = navigation.map(
    ([heading, entries]) => [heading, entries.filter(({ role }) => hasRole(person, role))] as const,
  );
  return visible.map(
    ([heading, entries]) =>
      entries.length > 0 &&
      html`<h2>${heading}</h2><ul>${entries.map(
        ({ name, title }) =>
          html`<li><a href="${pathOf(name)}"${name === current && html` aria-current="page"`}>${title}</a></li>`,
      )}</ul>`,
  );
}

/** The path of an entry of the navigation. */
export function pathOf(name: string): string {
  return name === 'overview' ? '/dashboard' : `/dashboard/${name}`;
}

function roleText({ role }: Person): string {
  return {
    user: 'You manage your own data and applications.',
    editor: 'You are an editor.',
    admin: 'You are an administrator.',
  }[role];
}
