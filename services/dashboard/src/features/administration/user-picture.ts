import { type Html, html } from '@gatehouse/web/html';
import type { Outcome } from '../../api/attempt.ts';
import { notAvailable } from '../../pages/parts.ts';
import type { Resource, ResourceQuestion, Target } from '../../resources/resource.ts';
import type { Visit } from '../../routes/visit.ts';
import type { ApiUser } from './user-list.ts';

export type ApiPicture = { url: string | null; uploaded: boolean };

/** The path of the picture of the user whose page it is. */
export const picturePath = (visit: Visit) =>
  `/api/v1/pictures?${new URLSearchParams({ user_id: visit.id('usr') })}`;

/** The picture of a user, which an admin can remove. One of another site is not fetched from there. */
export function pictureSection(
  { value, error }: Outcome<ApiPicture>,
  { path, isSelf }: { path: string; isSelf: boolean },
): Html {
  if (error !== undefined) {
    return html`<section><h2>Picture</h2>${notAvailable('The picture', error, { again: path })}</section>`;
  }
  const { url, uploaded } = value;
  const shown =
    url === null
      ? html`<p class="hint">This user has no picture.</p>`
      : uploaded
        ? html`<p><img class="portrait" src="${new URL(url).pathname}" alt="Picture of this user"></p>`
        : html`<p>The picture is at another site: <code>${url}</code></p>`;
  return html`<section><h2>Picture</h2>${shown}
${isSelf ? html`<p>Change your own on the page <a href="/account">Profile</a> of your account.</p>` : url !== null && html`<div class="row-buttons"><a class="button danger" href="${path}/picture/remove">Remove the picture</a></div>`}</section>`;
}

/** The question before a picture is removed. */
export const pictureQuestions: NonNullable<Resource<ApiUser>['confirmed']> = {
  'picture/remove': ({ visit, value, path }: Target<ApiUser>): ResourceQuestion => ({
    title: `Remove the picture of ${value.username ?? value.id}?`,
    lost: html`<p>Applications no longer get its URL. If it was uploaded here, it is deleted. The person can upload another one.</p>`,
    submit: 'Remove',
    async act() {
      await visit.api.send('DELETE', picturePath(visit));
      return `${path}?done=picture_removed`;
    },
  }),
};
