import type { FieldProblem } from '@gatehouse/core/errors';
import { form, labelled, type PageForm, problemOf, problemSummary } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import { type AccountFrame, accountDocument } from '../../../pages/account/account-document.ts';
import { t } from '../../../texts/texts.ts';
import { ACCOUNT_PAGES } from '../account-pages.ts';

export type PictureModel = {
  upload: PageForm;
  remove: PageForm;
  /** The URL of the account's picture. */
  picture: string | null;
  /** Its path, if it was uploaded here. */
  path: string | undefined;
  /** The reason why an upload was refused, if one was. */
  problems: readonly FieldProblem[];
};

/** The part of the profile with the picture, also a page of its own where an upload was refused. */
export function pictureForms({ upload, remove, picture, path, problems }: PictureModel): Html {
  const host = picture === null ? null : URL.parse(picture)?.host;
  return html`<section class="picture">
${form(
  upload,
  html`<fieldset><legend>${t('Picture')}</legend>
${path !== undefined && html`<img class="portrait" src="${path}" alt="${t('Your picture')}">`}
${path === undefined && host && html`<p class="state">${t('Your picture is at {host}.', { host })}</p>`}
${labelled(
  {
    ...{ name: 'file', label: t('Upload a picture'), required: true },
    hint: t('PNG, JPEG or WebP, at most 256 kB. Anybody who has the URL of your picture can see it.'),
    problem: problemOf(problems, 'file'),
  },
  (attributes) =>
    html`<input id="file" name="file" type="file" accept="image/png, image/jpeg, image/webp" autocomplete="photo"${attributes}>`,
)}
</fieldset>
<div class="buttons"><button class="secondary">${t('Upload')}</button>${picture !== null && html`<button class="danger" form="remove-picture" formnovalidate>${t('Remove the picture')}</button>`}</div>`,
  { enctype: 'multipart/form-data' },
)}
${picture !== null && form(remove, false, { id: 'remove-picture' })}</section>`;
}

export function picturePage(frame: AccountFrame, model: PictureModel): string {
  return accountDocument({
    title: t('Profile'),
    failed: model.problems.length > 0,
    frame,
    current: ACCOUNT_PAGES.profile,
    body: html`${problemSummary(model.problems, ['file'])}${pictureForms(model)}`,
  });
}
