import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import type { ApiApplication } from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import type { ApiPage } from '../../api/pages.ts';
import { statusTag } from '../../pages/parts.ts';

type Step = { title: string; text: Content; href: string; action: string };

const REQUESTS = '/api/v1/requests';
const SUCCEEDED = { 'filter[status][lt]': '400' };

/** How far somebody has come. */
export type Progress = {
  /** The client id of an application, if there is one. */
  application: string | undefined;
  hasSent: boolean;
};

/** How far somebody has come on the way to the first successful request; undefined when there was one, or it cannot be known. */
export async function progressOf(api: Api): Promise<Progress | undefined> {
  const first = <T>(path: string, query = {}) => attempt(api.get<ApiPage<T>>(path, { limit: 1, ...query }));
  const [applications, succeeded, sent] = await Promise.all([
    first<ApiApplication>('/api/v1/applications'),
    first(REQUESTS, SUCCEEDED),
    first(REQUESTS),
  ]);
  const own = applications.value?.data;
  if (own?.length === 0 && !succeeded.value?.data.length) return { application: undefined, hasSent: false };
  const isKnown = [applications, succeeded, sent].every(({ value }) => value !== undefined);
  if (!isKnown || (succeeded.value?.data.length ?? 0) > 0) return undefined;
  return { application: own?.[0]?.client_id, hasSent: (sent.value?.data.length ?? 0) > 0 };
}

/** The steps to the first successful request: those that are done, and the one that is next with the way to it. */
export function firstSteps({ application, hasSent }: Progress): Html {
  const quickStart = `/dashboard/applications/${encodeURIComponent(application ?? '')}/quick-start`;
  const steps: readonly (Step & { isDone: boolean })[] = [
    {
      title: 'Create an application',
      text: 'An application has a client ID and credentials for access tokens.',
      ...{ href: '/dashboard/applications/new', action: 'New application' },
      isDone: application !== undefined,
    },
    {
      title: 'Send the first request',
      text: 'The quick start of your application has a program to copy, with its client ID.',
      ...{ href: quickStart, action: 'Open the quick start' },
      isDone: hasSent,
    },
    {
      title: 'Get the first successful response',
      text: 'Your requests have failed so far. The request log says why, and what to change.',
      ...{ href: '/dashboard/requests?status=failed', action: 'Show failed requests' },
      isDone: false,
    },
  ];
  const next = steps.find(({ isDone }) => !isDone);
  return html`<section class="panel"><h2>First steps</h2><ol class="steps">${steps.map(
    (step) =>
      html`<li${step === next && html` aria-current="step"`}><strong>${step.title}</strong>${step.isDone && html` ${statusTag('done')}`}${
        step === next &&
        html`<p>${step.text}</p><p><a class="button primary" href="${step.href}">${step.action}</a></p>`
      }</li>`,
  )}</ol></section>`;
}
