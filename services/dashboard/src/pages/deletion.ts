import { type Content, type Html, html } from '@gatehouse/web/html';
import type { View } from './view.ts';

/** Leads from the page of a thing, at `path`, to the question whether to delete it. */
export function deletionSection(it: { path: string; what: string; lost: string }): Html {
  return html`<section class="panel danger-zone"><h2>Delete this ${it.what}</h2><p>${it.lost}</p>
<p><a class="button danger" href="${it.path}/delete">Delete ${it.what}</a></p></section>`;
}

/** That question, which asks for the name of the thing. */
export function deletionQuestion(
  it: { path: string; what: string; name: string; lost: Content } & Required<Pick<View, 'section' | 'trail'>>,
) {
  const { path, what, name, lost, section, trail } = it;
  return {
    ...{ section, name, back: path, trail: [...trail, { href: path, title: name }] },
    title: `Delete the ${what} “${name}”?`,
    lost: html`<p>${lost} This cannot be undone.</p>`,
    submit: `Delete ${what}`,
  };
}
