import { type Html, html } from '@gatehouse/web/html';
import type { Application } from '../../../api/application-types.ts';
import { highlight } from '../../../pages/highlight.ts';
import { codeBlock } from '../../../pages/parts.ts';
import { PLATFORMS } from './platforms.ts';

/** In the place of a program: jobs that sign in with the tokens of their platforms, with GitHub Actions as the example. */
export const WITHOUT_SECRET = { id: 'without-secret', title: 'Without a secret', view };

function view(application: Application, path: string, base: string): Html {
  const { github } = PLATFORMS;
  const files = github.files({ base, application, subject: '', issuer: github.issuer, audience: base });
  return html`<p>A job at GitHub, GitLab, Kubernetes or a cloud signs in with the token that its platform gives it. No secret can leak or expire.</p>
<ol><li>An admin adds the platform to the trusted issuers.</li>
<li><a href="${path}/credentials#federated">Add a federated credential</a>: it says which jobs sign in as this application. Then “How to use” beside it shows the code for any platform.</li>
<li>Let the job ask for an access token, such as at GitHub Actions:</li></ol>
${Object.entries(files).map(([place, { text, grammar }], i) => html`<h3><code>${place}</code></h3>${codeBlock(`without-secret-${i}`, highlight(text, grammar))}`)}
<p>Guides: <a href="/docs/guides/ci-without-secrets">CI without secrets</a> · <a href="/docs/guides/kubernetes-without-secrets">Kubernetes without secrets</a></p>`;
}
