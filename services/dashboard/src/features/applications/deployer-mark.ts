import { type Content, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import type { Application } from '../../api/application-types.ts';
import { lastUseText, time, userLink } from '../../pages/parts.ts';
import type { ResourceQuestion, ResourceView, Target } from '../../resources/resource.ts';
import { notFound } from '../../routes/visit.ts';

/** The mark by which an admin lets an application of their own apply configuration files, as the API returns it. */
type ApiDeployer = { marked_by: string; created_at: string };

/** The mark of an application; undefined without one. Throws ApiError. */
function markOf({ visit, apiPath }: Target<Application>): Promise<ApiDeployer | undefined> {
  return visit.api.get<ApiDeployer>(`${apiPath}/deployer`).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
}

/** The question before an application applies configuration files in the name of its owner, or no longer does. */
export async function askToMark(target: Target<Application>): Promise<ResourceQuestion> {
  const { visit, value, path, apiPath } = target;
  const { name, type, owner } = value;
  if (type !== 'machine') throw notFound();
  const isAdmin = visit.person.role === 'admin';
  const isMarked = isAdmin && (await markOf(target)) !== undefined;
  if (!isMarked && !(isAdmin && owner === visit.person.id))
    throw new ApiError(403, 'Only an admin can mark an application, and only an own one.');
  return {
    title: isMarked ? `Remove the mark of “${name}” as a deployer?` : `Mark “${name}” as a deployer?`,
    lost: isMarked
      ? html`<p>It no longer applies configuration files, and its tokens for this stop working at once. Its changes stay. The application was ${lastUseText(value)}.</p>`
      : html`<p>The application applies configuration files in your name, without a sign-in: with a secret or federated credential that you made, it can change all applications, federated credentials, APIs, trusted issuers, identity providers and webhooks. Guard these credentials like your own sign-in. The application was ${lastUseText(value)}.</p>
<p>You get a mail about the mark. The mark ends when you remove it, revoke all access, are deactivated or are no admin any more, and when the application is deleted or has another owner. The changes that it has made stay. <a href="/docs/guides/configuration-file#without-a-person">More about deployers</a></p>`,
    submit: isMarked ? 'Remove the mark' : 'Mark as a deployer',
    // The change that the page describes is made, also if the mark has changed since.
    hidden: { deployer: isMarked ? 'no' : 'yes' },
    async act(fields) {
      const isNext = fields.required('deployer') === 'yes';
      await visit.api.send(isNext ? 'PUT' : 'DELETE', `${apiPath}/deployer`);
      return `${path}?done=${isNext ? 'marked' : 'unmarked'}`;
    },
  };
}

/** Whether a machine applies configuration files: its owner decides it, and other admins see it and can end it. */
export async function deployerSection(page: ResourceView<Application>): Promise<Content> {
  const { value, visit, path, people } = page;
  if (value.type !== 'machine' || visit.person.role !== 'admin') return false;
  const mark = await markOf(page);
  if (mark === undefined && value.owner !== visit.person.id) return false;
  return html`<section class="panel" id="deployer"><h2>Deployer</h2>
<p>${
    mark === undefined
      ? 'A deployer applies configuration files in your name, without a person who signs in: in a pipeline or a Kubernetes Job. This application is none.'
      : html`This application is a deployer: it applies configuration files in the name of ${userLink(mark.marked_by, people)}, who marked it ${time(mark.created_at)}.`
  } <a href="/docs/guides/configuration-file#without-a-person">More about deployers</a></p>
<p><a class="button ${mark ? 'danger' : 'secondary'}" href="${path}/deployer">${mark ? 'Remove the mark' : 'Mark as a deployer'}</a></p></section>`;
}
