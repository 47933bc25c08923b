import { hostname, named } from '@gatehouse/ui/formatting';
import { type Html, html } from '@gatehouse/ui/html';

/** The application that sent the person here: its name, and the host (and port) that receives the answer. */
export type RequestingApplication = { name: string; host: string };

/** Who asks, and where the answer goes. Distinguishes a program on the person's own machine from a site. */
export function requestingApplication(application: RequestingApplication): Html {
  const local = /^(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?$/.test(application.host);
  return html`<p class="asking"><span class="asking-name">${named(application.name)}</span><span class="asking-host">${local ? 'a program on this device, at' : 'at'} ${hostname(application.host)}</span></p>`;
}
