import { type Html, html } from '@gatehouse/web/html';
import { codeBlock, exactTime, shownOnce } from '../../pages/parts.ts';
import type { ResourceQuestion, Target } from '../../resources/resource.ts';
import type { ApiUser } from './user-list.ts';

/** An access token by which an admin acts as a user, as the page shows it once. */
export type ImpersonationToken = { access_token: string; expires_at: string };

/** A token that has just been created. */
export function newToken({ access_token: token, expires_at: expiresAt }: ImpersonationToken): Html {
  return shownOnce({
    title: 'Copy the access token now',
    shown: codeBlock('impersonation-token', token),
    next: html`It works until ${exactTime(expiresAt)}, and ends with your own sign-in. Send it in the header <code>Authorization: Bearer …</code> to the API. <a href="/docs/guides/agents#admins-who-impersonate-a-user">What it can do</a>`,
  });
}

/** The question before an admin acts as a user. */
export const impersonationQuestions = {
  impersonate({ visit, value, path }: Target<ApiUser>): ResourceQuestion {
    const name = value.username ?? value.id;
    return {
      title: `Act as ${name}?`,
      lost: html`<p>You get an access token for the API, which is shown once. With it you read the account, and read and change the data of <bdi>${name}</bdi>, for 15 minutes at most. It changes no account, credential or application, and does nothing that takes a fresh sign-in.</p>
<p>The person gets a mail with your name and the reason. The request log names you as the actor, and the audit log has the reason, too.</p>`,
      rows: [
        {
          ...{ name: 'reason', label: 'Reason', required: true, maxlength: 500 },
          hint: 'Such as “The orders of the user are not listed (ticket 4711)”.',
        },
      ],
      submit: 'Create the token',
      async act(fields) {
        const { access_token, expires_in } = await visit.api.send<{
          access_token: string;
          expires_in: number;
        }>('POST', '/api/v1/impersonations', { user_id: value.id, reason: fields.text('reason') });
        const token: ImpersonationToken = {
          access_token,
          expires_at: new Date(Date.now() + expires_in * 1000).toISOString(),
        };
        await visit.putFlash(path, JSON.stringify(token));
        return path;
      },
    };
  },
};
