import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, named } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { SetUp } from '../../core/sessions/set-up.ts';
import { standalonePage } from '../../pages/document.ts';
import { type RequestingApplication, requestingApplication } from '../../pages/requesting-application.ts';
import { t } from '../../texts/texts.ts';

export type SetUpModel = {
  form: PageForm;
  application?: RequestingApplication | undefined;
  username: string;
  /** The methods that can be set up; none once the sign-in is strong enough. */
  setUps: readonly SetUp[];
  /** Whether the account needs a second factor, and until when that can wait. */
  required?: { graceEnds: Date | undefined } | undefined;
};

/** Leads somebody who is signed in to setting up a stronger way to sign in, and on from there. The form sends `set_up`, `later`, `cancel` or none of them. */
export function setUpPage({ form: target, application, username, setUps, required }: SetUpModel): string {
  const isDone = setUps.length === 0;
  const account = { username: named(username) };
  const { graceEnds } = required ?? {};
  return standalonePage({
    application,
    title: isDone
      ? t('Your sign-in is strong enough now')
      : required
        ? t('Set up a second factor')
        : t('Set up a stronger sign-in'),
    body: html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(application)}
<p>${isDone ? t('You are signed in as {username}.', account) : text(account, required)}</p>
${form(
  target,
  isDone
    ? html`<div class="buttons"><button class="primary">${t('Continue')}</button></div>`
    : html`${setUps.map(
        ({ path, label, hint }, i) =>
          html`<p>${hint()}</p><div class="buttons"><button class="${i === 0 ? 'primary' : 'secondary'}" name="set_up" value="${path}">${label()}</button></div>`,
      )}
<div class="buttons">${graceEnds && html`<button class="secondary" name="later" value="later">${t('Later')}</button>`}
<button class="secondary" name="cancel" value="cancel">${t('Cancel')}</button></div>`,
)}`,
  });
}

function text(account: { username: Html }, required: SetUpModel['required']): Content {
  if (required === undefined) {
    return t(
      'You are signed in as {username}. To go on, you need a stronger sign-in. You set it up once.',
      account,
    );
  }
  const { graceEnds } = required;
  return graceEnds === undefined
    ? t(
        'A password alone is not enough for the account {username}. Set up a second factor to go on.',
        account,
      )
    : t(
        'From {time} on, a password alone is not enough for the account {username}. Set up a second factor now, or later.',
        { ...account, time: dateAndTime(graceEnds) },
      );
}
