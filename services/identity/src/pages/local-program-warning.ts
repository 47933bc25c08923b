import { type Content, html } from '@gatehouse/web/html';
import { t } from '../texts/texts.ts';

/** Warns of an application that nobody has checked where a program on the person's device gets the response. */
export function localProgramWarning(redirectUri: unknown): Content {
  if (typeof redirectUri !== 'string' || redirectUri.startsWith('https:')) return undefined;
  return html`<p class="notice warning">${t('A program on this device gets access, and any program can use this name. Continue only if you have just started the sign-in in a program that you trust.')}</p>`;
}
