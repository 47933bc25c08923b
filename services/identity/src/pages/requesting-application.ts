import { type BrandLink, brand } from '@gatehouse/web/brand';
import { hostname, named } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { translated } from '@gatehouse/web/language';
import { t } from '../texts/texts.ts';

/**
 * The application that sent the person here: its name, and the host (and port) that receives the response. An app with a
 * private-use scheme has no host.
 */
export type RequestingApplication = {
  name: string;
  host: string | undefined;
  /** For pages of our own, which people have not been sent to: which ones. */
  ownPages?: string | undefined;
  /** Whether it runs on a device that has no browser (RFC 8628). */
  isOnOtherDevice?: boolean;
  /** A PNG picture in base64. */
  logo?: string | undefined;
  links?: readonly BrandLink[] | undefined;
  /** The stylesheet of its accent. */
  accent?: string | undefined;
};

/**
 * The application, and the place that the response goes to: a program on the person's own machine, a site, or the account pages or
 * the dashboard.
 */
export function requestingApplication(it: RequestingApplication | undefined): Html {
  return html`<p class="asking">${it?.logo !== undefined && html`<img class="asking-logo" src="data:image/png;base64,${it.logo}" alt="">`}<span class="asking-name">${named(it?.name ?? brand().name)}</span>${it && html`<span class="asking-host">${place(it)}</span>`}${it?.links && it.links.length > 0 && html`<span class="asking-links">${it.links.map(({ text, url }) => html`<a href="${url}" rel="noopener nofollow">${translated(text)}</a> `)}</span>`}</p>`;
}

function place({ host, ownPages, isOnOtherDevice }: RequestingApplication): Html {
  if (ownPages !== undefined) return html`${ownPages}`;
  if (isOnOtherDevice) return html`${t('an app on another device')}`;
  if (host === undefined) return html`${t('an app on this device')}`;
  const local = /^(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?$/.test(host);
  const named = { host: hostname(host) };
  return html`${local ? t('a program on this device, at {host}', named) : t('at {host}', named)}`;
}
