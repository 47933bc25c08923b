import type { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context, Middleware } from 'koa';
import type { ErrorOut } from 'oidc-provider';
import type { Faults } from '../faults.ts';
import { type ErrorPageKind, errorPage } from '../pages/error-page.ts';
import { SignInExpired } from './interaction-routes.ts';
import { ForeignForm, type Web } from './web.ts';

export type PageErrors = {
  /** Shows what goes wrong in what follows as a page. */
  middleware: Middleware;
  /** What oidc-provider refuses without sending the browser back to an application. */
  refusal(ctx: Context, out: ErrorOut, thrown: Error): void;
  /** A fault of ours. */
  show(ctx: Context, thrown: unknown): void;
};

const KIND_OF_CODE: Record<string, ErrorPageKind> = {
  invalid_client: 'unknown_application',
  invalid_redirect_uri: 'bad_redirect_address',
};

export function createPageErrors({ faults, web }: { faults: Faults; web: Web }): PageErrors {
  function show(ctx: Context, thrown: unknown): void {
    const error = faults(ctx, thrown);
    const retryAfter = Number(error.headers['retry-after']);
    ctx.set(error.headers);
    const html = errorPage({
      kind: kindOf(error),
      requestId: requestInfo(ctx.req).id,
      ...(error.kind === 'rate_limited' && retryAfter > 0 ? { retryAfter } : {}),
      ...(error.kind === 'invalid' && !(error instanceof SignInExpired) ? { detail: error.message } : {}),
      links: { account: '/account' },
    });
    web.page(ctx, html, { status: error.status });
  }

  return {
    show,
    async middleware(ctx, next) {
      try {
        await next();
        if (ctx.status === 404 && ctx.body === undefined) notFound(ctx);
      } catch (thrown) {
        show(ctx, thrown);
      }
    },
    refusal(ctx, { error, error_description: description }, thrown) {
      if (error === 'server_error') return show(ctx, thrown);
      const expired = thrown.name === 'SessionNotFound';
      const kind = expired ? 'expired_sign_in' : (KIND_OF_CODE[nameOf(thrown)] ?? 'generic');
      const html = errorPage({
        kind,
        requestId: requestInfo(ctx.req).id,
        ...(expired
          ? { links: { account: '/account' } }
          : { detail: description === undefined ? error : `${error}: ${description}` }),
      });
      web.page(ctx, html, { status: ctx.status });
    },
  };

  function notFound(ctx: Context): void {
    web.page(
      ctx,
      errorPage({ kind: 'not_found', requestId: requestInfo(ctx.req).id, links: { account: '/account' } }),
      { status: 404 },
    );
  }
}

/** InvalidRedirectUri says invalid_request, as so much else. */
function nameOf(thrown: Error): string {
  if (thrown.name === 'InvalidRedirectUri') return 'invalid_redirect_uri';
  return thrown.name === 'InvalidClient' ? 'invalid_client' : '';
}

function kindOf(error: ServiceError): ErrorPageKind {
  if (error instanceof ForeignForm) return 'expired_form';
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
