import { PRODUCT } from '@gatehouse/web/document';
import { hostname, named } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { t } from '../texts/texts.ts';

/**
 * The application that sent the person here: its name, and the host (and port) that receives the response. An app with a
 * private-use scheme has no host.
 */
export type RequestingApplication = {
  name: string;
  host: string | undefined;
  /** Whether it runs on a device that has no browser (RFC 8628). */
  isOnOtherDevice?: boolean;
};

/**
 * The application, and the place that the response goes to: a program on the person's own machine, or a site. Without an
 * application, the account pages or the dashboard.
 */
export function requestingApplication(it: RequestingApplication | undefined): Html {
  return html`<p class="asking"><span class="asking-name">${named(it?.name ?? PRODUCT)}</span>${it && html`<span class="asking-host">${place(it)}</span>`}</p>`;
}

function place({ host, isOnOtherDevice }: RequestingApplication): Html {
  if (isOnOtherDevice) return html`${t('an app on another device')}`;
  if (host === undefined) return html`${t('an app on this device')}`;
  const local = /^(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?$/.test(host);
  const named = { host: hostname(host) };
  return html`${local ? t('a program on this device, at {host}', named) : t('at {host}', named)}`;
}
