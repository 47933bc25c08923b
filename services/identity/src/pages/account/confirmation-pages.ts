import { type Confirmation, confirmation } from '@gatehouse/web/confirmation';
import { alertBox, type PageForm } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import { standalonePage } from '../document.ts';
import { type AccountFrame, accountDocument } from './account-document.ts';

/** The question before an act that cannot be undone. */
export type Question = Confirmation & {
  title: string;
  /** The reason why the form cannot be accepted as it was sent. */
  problem?: string | undefined;
};

type QuestionModel = {
  question: Question;
  form: PageForm;
  /** A form came that was not confirmed. */
  refused: boolean;
};

/** A question among the account pages. */
export function accountQuestionPage(model: QuestionModel & { frame: AccountFrame; current: string }): string {
  const { question, form, refused, frame, current } = model;
  const { problem } = question;
  return accountDocument({
    title: question.title,
    failed: refused || problem !== undefined,
    frame,
    current,
    body: html`${problem !== undefined && alertBox(problem)}${confirmation(question, form, refused)}`,
  });
}

/** A question to somebody who is not signed in. */
export function standaloneQuestionPage({ question, form, refused }: QuestionModel): string {
  const { title } = question;
  return standalonePage({
    title,
    failed: refused,
    body: html`${confirmation(question, form, refused)}`,
  });
}
