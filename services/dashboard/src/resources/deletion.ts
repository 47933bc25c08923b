import { type Content, type Html, html } from '@gatehouse/web/html';
import type { View } from '../pages/view.ts';

/** Leads from the page of a thing, at `path`, to the question whether to delete it. */
export function deletionSection(it: { path: string; noun: string; lost: string }): Html {
  return html`<section class="panel danger-zone"><h2>Delete this ${it.noun}</h2><p>${it.lost}</p>
<p><a class="button danger" href="${it.path}/delete">Delete ${it.noun}</a></p></section>`;
}

/** That question, which asks for the name of the thing. */
export function deletionQuestion(
  it: { path: string; noun: string; name: string; lost: Content } & Required<Pick<View, 'section' | 'trail'>>,
) {
  const { path, noun, name, lost, section, trail } = it;
  return {
    ...{ section, name, back: path, trail: [...trail, { href: path, title: name }] },
    title: `Delete the ${noun} “${name}”?`,
    lost: html`<p>${lost} This cannot be undone.</p>`,
    submit: `Delete ${noun}`,
  };
}
