import { htmlDocument, PRODUCT } from '@gatehouse/web/document';
import { form, notice } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import { logo } from '@gatehouse/web/illustrations';
import type { Person } from '../sessions/session.ts';
import { HEAD, HEAD_WITH_CHARTS } from './assets.ts';
import type { Section, View } from './view.ts';

/** Who looks at a page, and the token for the forms on it. */
export type Viewer = { person: Person; csrf: string };

type Entry = [section: Section, title: string, role?: 'editor' | 'admin'];
const NAVIGATION: [heading: string, entries: Entry[]][] = [
  [
    'Develop',
    [
      ['overview', 'Overview'],
      ['applications', 'Applications'],
      ['reports', 'Reports', 'editor'],
    ],
  ],
  [
    'Data',
    [
      ['items', 'Items'],
      ['products', 'Products'],
      ['orders', 'Orders'],
      ['notifications', 'Notifications', 'editor'],
    ],
  ],
  [
    'Administer',
    [
      ['users', 'Users', 'editor'],
      ['audit', 'Audit log', 'admin'],
      ['signing-keys', 'Signing keys', 'admin'],
      ['queues', 'Queues', 'admin'],
      ['dead-letters', 'Dead letters', 'admin'],
    ],
  ],
];
const RANK = { user: 0, editor: 1, admin: 2 };

/** A page with the navigation around it. */
export function layout(view: View, { person, csrf }: Viewer): string {
  const { title, trail = [], actions, failed } = view;
  // Tabs and bookmarks tell a page from those beside it by what it is part of.
  const parts = [view.part, title, trail.at(-1)?.title].filter((part) => part !== undefined);
  return htmlDocument(
    { title: parts.join(' – '), failed },
    html`<body class="dashboard">
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><a class="brand" href="/dashboard">${logo}${PRODUCT}</a>
<nav class="bar-links" aria-label="${PRODUCT}"><a href="/docs">Docs</a></nav>
<details class="menu"><summary><span class="menu-name"><bdi>${person.name}</bdi></span></summary>
<div class="menu-panel"><p class="hint">${roleText(person)}</p><a href="/account">Your account</a>
${form({ action: '/dashboard/sign-out', csrf }, html`<button class="secondary small">Sign out</button>`)}</div></details></header>
<div class="frame">
<nav class="side" aria-label="Dashboard"><details class="side-fold"><summary>Menu</summary>${navigation(view.section, person)}</details></nav>
<main id="main" tabindex="-1">
${trail.length > 0 && html`<nav class="trail" aria-label="Where you are"><ol>${trail.map((above) => html`<li><a href="${above.href}">${above.title}</a></li>`)}</ol></nav>`}
<div class="heading"><h1>${title}</h1>${actions !== undefined && html`<div class="actions">${actions}</div>`}</div>
${notice(view.notice)}
${view.body}
<p class="time-zone hint">Time zone: <span>UTC</span> <button type="button" class="secondary" hidden>Use UTC</button></p>
</main>
</div>
</body>`,
    view.charts ? HEAD_WITH_CHARTS : HEAD,
  );
}

function navigation(current: Section | undefined, person: Person): Html {
  const groups = NAVIGATION.map(([heading, entries]) => ({
    heading,
    entries: entries.filter(([, , role = 'user']) => RANK[person.role] >= RANK[role as keyof typeof RANK]),
  })).filter(({ entries }) => entries.length > 0);
  return html`${groups.map(
    ({ heading, entries }) =>
      html`<h2>${heading}</h2><ul>${entries.map(
        ([section, title]) =>
          html`<li><a href="${pathOf(section)}"${section === current && html` aria-current="page"`}>${title}</a></li>`,
      )}</ul>`,
  )}`;
}

function pathOf(section: Section): string {
  return section === 'overview' ? '/dashboard' : `/dashboard/${section}`;
}

function roleText({ role }: Person): string {
  return {
    user: 'You are a developer here.',
    editor: 'You are an editor.',
    admin: 'You are an administrator.',
  }[role];
}
