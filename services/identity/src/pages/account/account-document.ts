import { brandMark } from '@gatehouse/web/brand';
import { brandLinks } from '@gatehouse/web/document';
import { form, notice, type PageForm } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { t } from '../../texts/texts.ts';
import { htmlDocument } from '../document.ts';

/** An account page that the navigation of all of them leads to. */
export type AccountSection = { path: string; label: string };

/** A part of a page that needs scripts. */
export type ScriptedPart = { content: Content; scripts: readonly string[] };

/** The frame of every account page. `notice` says which change was made. */
export type AccountFrame = {
  username: string;
  notice?: string | undefined;
  signOut: PageForm;
  sections: readonly AccountSection[];
};

/** An account page with its navigation, in which `current` is the path of its section. */
export function accountDocument(page: {
  title: string;
  failed?: boolean;
  frame: AccountFrame;
  current: string;
  scripts?: readonly string[];
  body: Content;
}): string {
  const { frame, current } = page;
  const items = frame.sections.map(
    ({ path, label }) =>
      html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${label}</a></li>`,
  );
  return htmlDocument(
    page,
    html`<body class="account-page">
<a class="skip" href="#main">${t('Skip to the content')}</a>
<header class="top"><p class="brand">${brandMark()}</p>
<a class="way-back" href="/dashboard">${t('Dashboard')}</a>
<p class="who">${t('Signed in as {username}', { username: html`<strong><bdi>${frame.username}</bdi></strong>` })}</p>
${form(frame.signOut, html`<button>${t('Sign out')}</button>`)}</header>
<div class="columns">
<nav aria-label="${t('Your account')}"><ul>${items}</ul></nav>
<main id="main" tabindex="-1"><h1>${page.title}</h1>
${notice(frame.notice)}
${page.body}${brandLinks()}</main>
</div>
</body>`,
    page.scripts,
  );
}
