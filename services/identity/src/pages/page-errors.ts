import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { translated } from '@gatehouse/web/language';
import type { Context, Middleware } from 'koa';
import { type ErrorOut, errors } from 'oidc-provider';
import type { ToServiceError } from '../http/service-error.ts';
import { type Text, t } from '../texts/texts.ts';
import { CsrfError } from './csrf-forms.ts';
import { type ErrorPageKind, errorPage } from './error-page.ts';
import { sendPage } from './page-response.ts';

export type PageErrors = {
  /** Shows errors in what follows as a page. */
  middleware: Middleware;
  /** Shows what oidc-provider refuses without sending the browser back to an application. */
  providerError(ctx: Context, out: ErrorOut, thrown: Error): void;
  /** Shows any other error. */
  show(ctx: Context, thrown: unknown): void;
};

/** The sign-in has expired, belongs to another browser, or is at another step in another tab. */
export class SignInExpired extends ServiceError {
  constructor() {
    super('invalid', 'This sign-in has expired, or was finished in another tab.');
  }
}

/** By the name of oidc-provider's error: its code alone does not tell, as many have invalid_request. */
const KIND_OF_ERROR: Record<string, ErrorPageKind> = {
  InvalidClient: 'unknown_application',
  InvalidRedirectUri: 'bad_redirect_address',
  SessionNotFound: 'expired_sign_in',
};

/** The maximum length of a redirect URI that is shown, in characters. */
const MAX_SHOWN = 500;

type ProviderContext = Context & {
  oidc?: {
    client?: { redirectUris?: string[]; postLogoutRedirectUris?: string[] };
    params?: Record<string, unknown>;
  };
};

/** The details that developers overlook. */
const HINTS: Partial<Record<ErrorPageKind, Text>> = {
  unknown_application: 'Compare the client_id with the client ID in the dashboard.',
  bad_redirect_address:
    'The redirect_uri must be one that is registered, character for character, a slash at the end included.',
  bad_sign_out_address:
    'It must be one of the post-logout redirect URIs in the settings of the application, character for character, a slash at the end included.',
};

/** The pages for errors that oidc-provider reports as the general InvalidRequest, by a part of its description. */
const KIND_OF_DESCRIPTION: readonly (readonly [part: string, kind: ErrorPageKind])[] = [
  ['id_token_hint', 'bad_sign_out'],
  ['post_logout_redirect_uri not registered', 'bad_sign_out_address'],
];

export function createPageErrors(toServiceError: ToServiceError): PageErrors {
  function show(ctx: Context, thrown: unknown): void {
    // As an interaction that has expired, and a session that has ended while the request was on its way.
    const isOver = thrown instanceof errors.SessionNotFound;
    const error = toServiceError(ctx, isOver ? new SignInExpired() : thrown);
    const retryAfter = Number(error.headers['retry-after']);
    ctx.set(error.headers);
    const html = errorPage({
      kind: kindOf(error),
      requestId: requestInfo(ctx.req).id,
      retryAfter: error.kind === 'rate_limited' && retryAfter > 0 ? retryAfter : undefined,
      detail: error.kind === 'invalid' && !(error instanceof SignInExpired) ? error.message : undefined,
      links: { account: '/account' },
    });
    sendPage(ctx, html, { status: error.status });
  }

  return {
    show,
    async middleware(ctx, next) {
      try {
        await next();
        if (ctx.status === 404 && ctx.body === undefined) {
          throw new ServiceError('not_found', 'There is nothing here.');
        }
      } catch (thrown) {
        show(ctx, thrown);
      }
    },
    providerError(ctx, { error, error_description: description }, thrown) {
      if (error === 'server_error') return show(ctx, thrown);
      const [, described] = KIND_OF_DESCRIPTION.find(([part]) => description?.includes(part)) ?? [];
      const kind = described ?? KIND_OF_ERROR[thrown.name] ?? 'generic';
      const expired = kind === 'expired_sign_in';
      const { client, params } = (ctx as ProviderContext).oidc ?? {};
      const [received, registered] =
        kind === 'bad_sign_out_address'
          ? [params?.post_logout_redirect_uri, client?.postLogoutRedirectUris]
          : kind === 'bad_redirect_address'
            ? [params?.redirect_uri, client?.redirectUris]
            : [];
      const hint = HINTS[kind];
      const fault = [error, description].filter(Boolean).join(': ');
      const html = errorPage({
        kind,
        redirectUris:
          client !== undefined && typeof received === 'string'
            ? { received: received.slice(0, MAX_SHOWN), registered: registered ?? [] }
            : undefined,
        requestId: requestInfo(ctx.req).id,
        links: expired || described !== undefined ? { account: '/account' } : undefined,
        detail: expired ? undefined : hint ? `${fault}. ${translated(hint)}` : fault,
      });
      sendPage(ctx, html, { status: ctx.status });
    },
  };
}

/** The error of a form: of its fields, which `fieldOf` names as the page does, or of the whole. */
export function formProblems(
  { kind, details, message, headers }: ServiceError,
  fieldOf: (field: string) => string = (field) => field,
): FieldProblem[] {
  if (kind === 'rate_limited') {
    const seconds = Number(headers['retry-after']);
    return [{ field: 'form', message: t('Too many attempts: try again in {seconds} s.', { seconds }) }];
  }
  if (details === undefined) return [{ field: 'form', message }];
  return details.map((problem) => ({ field: fieldOf(problem.field), message: problem.message }));
}

function kindOf(error: ServiceError): ErrorPageKind {
  if (error instanceof CsrfError) return 'expired_form';
  if (error instanceof SignInExpired) return 'expired_sign_in';
  switch (error.kind) {
    case 'not_found':
      return 'not_found';
    case 'rate_limited':
      return 'too_many_attempts';
    case 'unavailable':
      return 'unavailable';
    default:
      return 'generic';
  }
}
