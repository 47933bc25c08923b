import { ServiceError } from '@gatehouse/core/errors';
import { describeUserAgent } from '@gatehouse/web/user-agent';
import type Router from '@koa/router';
import type { Context } from 'koa';
import type { Interaction } from 'oidc-provider';
import { originOf } from '../../core/audit/audit.ts';
import { KnownDevicesOnly } from '../../core/limits/sign-in-throttle.ts';
import { ANOTHER_ACCOUNT } from '../../core/oidc/provider-options.ts';
import { SKIPPED, strengthOf } from '../../core/oidc/strength.ts';
import type { RememberedBrowsers } from '../../core/sessions/remembered-browser.ts';
import type { LostFactors } from '../../core/sessions/second-factor.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { SignInMethod } from '../../core/sessions/sign-in-method.ts';
import type { Verified, WithFactors } from '../../core/sessions/verified.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { seeOther, sendPage } from '../../pages/page-response.ts';
import type { Interactions } from './interactions.ts';
import {
  type CodeProblem,
  REMEMBER,
  type SecondFactorModel,
  SKIP,
  secondFactorPage,
} from './second-factor-page.ts';

export const secondFactorPath = (uid: string) => `/sign-in/${uid}/second-factor`;

type SecondFactorOptions = Interactions & {
  secondFactors: SecondFactors;
  lostFactors: readonly Pick<LostFactors, 'page' | 'begin'>[];
  remembered: Pick<RememberedBrowsers, 'remember' | 'forget'>;
  sessionEnds: Pick<SessionEnds, 'isOver'>;
  browser: BrowserCookie;
  forms: CsrfForms;
  /** The forms of these methods, and what a page with them needs. */
  formsOf(
    ctx: Context,
    details: Interaction,
    methods: readonly SignInMethod[],
  ): Pick<SecondFactorModel, 'methods' | 'scripts'>;
  methods: readonly SignInMethod[];
  /** The sign-in has to begin again. */
  restart(ctx: Context, details: Interaction): Promise<void>;
  complete(ctx: Context, details: Interaction, verified: Verified): Promise<void>;
};

/**
 * The step of a sign-in between a first factor, which is stored in the interaction, and its end. Nothing in the URL or the form
 * says who signs in.
 */
export function addSecondFactorRoutes(router: Router, options: SecondFactorOptions): void {
  const { secondFactors, remembered, browser, forms } = options;

  async function show(
    ctx: Context,
    details: Interaction,
    { account, factors, since }: WithFactors,
    { problem, status = 200 }: { problem?: CodeProblem; status?: number } = {},
  ): Promise<void> {
    const isSetUp = await Promise.all(options.methods.map((method) => method.isSetUp(account.id)));
    const { methods, scripts } = options.formsOf(
      ctx,
      details,
      // Another site is a first factor.
      options.methods.filter(({ redirect }, i) => isSetUp[i] && redirect === undefined),
    );
    const html = secondFactorPage({
      form: forms.form(ctx, { action: secondFactorPath(details.uid), context: details.uid }),
      application: await options.applicationOf(ctx, details),
      username: account.username,
      ...{ factors, problem, methods, scripts },
      stepUp: since === undefined ? undefined : { isOptional: strengthOf(details)?.isEssential !== true },
      links: {
        signIn: `/sign-in/${details.uid}?${ANOTHER_ACCOUNT}`,
        // It takes the password.
        lost:
          options.lostFactors.length === 0 || since !== undefined
            ? undefined
            : `${secondFactorPath(details.uid)}/lost`,
      },
    });
    const formTargets = options.targetsOf(details);
    sendPage(ctx, html, { status, formTargets });
  }

  addLostFactorRoutes(router, options);

  router.get('/sign-in/:uid/second-factor', async (ctx) => {
    const details = await options.load(ctx);
    const held = await secondFactors.held(ctx, details);
    return held === undefined ? options.restart(ctx, details) : show(ctx, details, held);
  });

  router.post('/sign-in/:uid/second-factor', async (ctx) => {
    const { fields, details } = await options.readForm(ctx);
    const held = await secondFactors.held(ctx, details);
    if (held === undefined) return options.restart(ctx, details);
    if (held.since !== undefined && fields.has(SKIP)) {
      const isEssential = strengthOf(details)?.isEssential === true;
      return isEssential ? options.refuse(ctx) : options.finish(ctx, { [SKIPPED]: {} }, true);
    }
    const { account, factors } = held;
    const code = factors.map(({ name }) => fields.get(name)).find((it) => it !== undefined) ?? '';
    const client = String(details.params.client_id);
    const isKnownDevice = browser.isKnownDevice(ctx, account, 'second factor');
    try {
      const verified = await secondFactors.verify(ctx, held, { code, client, isKnownDevice });
      if (verified === undefined) {
        return show(ctx, details, held, { problem: { kind: 'wrong_code' }, status: 401 });
      }
      if (fields.has(REMEMBER)) await remember(ctx, { ...verified, factors });
      await options.complete(ctx, details, verified);
    } catch (error) {
      const problem = codeProblem(error);
      if (problem === undefined) throw error;
      const { status, headers } = error as ServiceError;
      ctx.set(headers);
      await show(ctx, details, held, { problem, status });
    }
  });

  async function remember(ctx: Context, { account, generation, factors }: WithFactors): Promise<void> {
    const { address, userAgent } = originOf(ctx);
    const name = describeUserAgent(userAgent);
    const id = await remembered.remember(browser.id(ctx), account, { factors, name, address });
    // After it is stored: from then on, whatever ends all sessions finds it.
    if (await options.sessionEnds.isOver({ accountId: account.id, generation })) {
      await remembered.forget(account.id, id);
    }
  }
}

/** The pages for somebody who has lost their second factors. */
function addLostFactorRoutes(router: Router, options: SecondFactorOptions): void {
  const { secondFactors, forms } = options;
  router.get('/sign-in/:uid/second-factor/lost', async (ctx, next) => {
    const [lost] = options.lostFactors;
    if (lost === undefined) return next();
    const details = await options.load(ctx);
    const held = await secondFactors.held(ctx, details);
    if (held === undefined || held.since !== undefined) return options.restart(ctx, details);
    const form = forms.form(ctx, { action: ctx.path, context: details.uid });
    sendPage(ctx, await lost.page(held.account, form, secondFactorPath(details.uid)));
  });

  router.post('/sign-in/:uid/second-factor/lost', async (ctx, next) => {
    const [lost] = options.lostFactors;
    if (lost === undefined) return next();
    const { details } = await options.readForm(ctx);
    const held = await secondFactors.held(ctx, details);
    if (held === undefined || held.since !== undefined) return options.restart(ctx, details);
    await lost.begin(held.account, originOf(ctx));
    seeOther(ctx, ctx.path);
  });
}

function codeProblem(error: unknown): CodeProblem | undefined {
  if (error instanceof KnownDevicesOnly) return { kind: 'known_browsers_only' };
  if (!(error instanceof ServiceError) || error.kind !== 'rate_limited') return undefined;
  return { kind: 'too_many_codes', retryAfter: Number(error.headers['retry-after'] ?? 1) };
}
