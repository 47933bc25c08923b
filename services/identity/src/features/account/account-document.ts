import { PRODUCT } from '@gatehouse/web/document';
import { form, notice, type PageForm } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { logo } from '@gatehouse/web/illustrations';
import { htmlDocument } from '../../pages/document.ts';

/** The frame of every account page. `notice` says which change was made. */
export type AccountFrame = {
  username: string;
  notice?: string | undefined;
  signOut: PageForm;
  links: { profile: string; password: string; applications: string; sessions: string };
};

const NAVIGATION: [page: keyof AccountFrame['links'], name: string][] = [
  ['profile', 'Profile'],
  ['password', 'Password'],
  ['applications', 'Applications'],
  ['sessions', 'Sessions'],
];

/** An account page with its navigation. */
export function accountDocument(page: {
  title: string;
  failed?: boolean;
  frame: AccountFrame;
  current: keyof AccountFrame['links'];
  body: Content;
}): string {
  const { frame, current } = page;
  const items = NAVIGATION.map(
    ([name, label]) =>
      html`<li><a href="${frame.links[name]}"${name === current && html` aria-current="page"`}>${label}</a></li>`,
  );
  return htmlDocument(
    page,
    html`<body class="account-page">
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><p class="brand">${logo}${PRODUCT}</p>
<a class="way-back" href="/dashboard">Dashboard</a>
<p class="who">Signed in as <strong><bdi>${frame.username}</bdi></strong></p>
${form(frame.signOut, html`<button>Sign out</button>`)}</header>
<div class="columns">
<nav aria-label="Your account"><ul>${items}</ul></nav>
<main id="main" tabindex="-1"><h1>${page.title}</h1>
${notice(frame.notice)}
${page.body}</main>
</div>
</body>`,
  );
}
