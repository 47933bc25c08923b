import { type Confirmation, confirmation, isConfirmed } from '@gatehouse/web/confirmation';
import { html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import type { Fields } from '../http/forms.ts';
import { errorOf, formProblem } from '../pages/fields.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter } from '../routes/dashboard-router.ts';
import type { Visit } from '../routes/visit.ts';
import { type FormRow, fieldsOf, formRows, initialValues, sentValues } from './resource-form.ts';

/** A form of the page that was sent and did not lead to the act. */
export type SentForm = { fields: Fields; error?: ApiError };

/** The question before an act that cannot be undone, and the act, which returns the page to go on to. */
export type Question = Confirmation &
  Pick<View, 'title' | 'section' | 'trail'> & {
    hidden?: Readonly<Record<string, string>>;
    /** Fields that are filled in, such as a reason. */
    rows?: readonly FormRow[];
    act(fields: Fields): Promise<string>;
  };

/**
 * An act that cannot be undone: GET asks and changes nothing; POST acts if the response came with it, once however often it is
 * sent, and asks again otherwise.
 */
export function addConfirmed(
  { get, postOnce }: Pick<DashboardRouter, 'get' | 'postOnce'>,
  path: string,
  ask: (visit: Visit, sent?: SentForm) => Promise<Question>,
): void {
  get(path, async (visit) => questionView(visit, await ask(visit)));

  postOnce(path, async (visit, fields) => {
    const question = await ask(visit, { fields });
    if (!isConfirmed(fields.text('confirmation'), question)) return questionView(visit, question, { fields });
    try {
      return await question.act(fields);
    } catch (thrown) {
      const sent = { fields, error: errorOf(thrown) };
      return questionView(visit, await ask(visit, sent), sent);
    }
  });
}

/** The page that asks. Its form is sent to the path of the visit: a form there may also lead to it, with its fields as hidden ones. */
export function questionView(visit: Visit, question: Omit<Question, 'act'>, sent?: SentForm): View {
  const { ctx, csrf } = visit;
  const { title, section, trail = [], hidden = {}, rows = [] } = question;
  const isUnconfirmed = sent !== undefined && sent.error === undefined;
  const values = sent === undefined ? initialValues(rows, visit) : sentValues(rows, sent.fields);
  const fields = html`${question.fields}${formRows(rows, values, sent?.error?.details)}`;
  return {
    title,
    trail,
    failed: sent !== undefined,
    ...(section === undefined ? {} : { section }),
    body: html`${formProblem(sent?.error, fieldsOf(rows))}
${confirmation({ ...question, fields }, { action: ctx.path, csrf, hidden }, isUnconfirmed)}`,
  };
}
