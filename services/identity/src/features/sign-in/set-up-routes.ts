import { acrOf } from '@gatehouse/tokens/acr';
import { isAsStrong } from '@gatehouse/verify/sign-in';
import Router from '@koa/router';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction } from 'oidc-provider';
import type { Applications } from '../../core/applications/applications.ts';
import { graceOf, isForRequest, SET_UP, strengthOf } from '../../core/oidc/strength.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import { noteSignIn, type SetUp, setUpPath } from '../../core/sessions/set-up.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { SignInExpired } from '../../pages/page-errors.ts';
import { seeOther, sendPage } from '../../pages/page-response.ts';
import { createInteractions } from './interactions.ts';
import { setUpPage } from './set-up-page.ts';

const UNMET = {
  error: 'unmet_authentication_requirements',
  error_description: 'the person has not set up a stronger sign-in',
};

/** The page from which somebody who is signed in sets up what a stronger sign-in takes, and goes on. */
export function setUpRoutes(options: {
  provider(): Provider;
  forms: CsrfForms;
  applications: Pick<Applications, 'find'>;
  sessions: Pick<BrowserSessions, 'find'>;
  setUps: readonly SetUp[];
}): Router {
  const router = new Router({ sensitive: true });
  const { load, readForm, finish, refuse, applicationOf, targetsOf } = createInteractions(options, SET_UP);

  /** The person who is signed in, and the strength that is needed: no method is offered if it is met. */
  async function begun(ctx: Context, details: Interaction) {
    const signedIn = await options.sessions.find(ctx);
    const strength = strengthOf(details);
    if (signedIn === undefined || strength === undefined) throw new SignInExpired();
    const isMet = isAsStrong(acrOf(signedIn.session.amr), strength.least);
    const setUps = isMet ? [] : options.setUps.filter(({ acr }) => isAsStrong(acr, strength.least));
    return { ...signedIn, isMet, setUps };
  }

  router.get('/sign-in/:uid/set-up', async (ctx) => {
    const details = await load(ctx);
    const { account, isMet, setUps } = await begun(ctx, details);
    // There are no passkeys where browsers have none.
    if (!isMet && setUps.length === 0) return finish(ctx, UNMET);
    const html = setUpPage({
      form: options.forms.form(ctx, { action: setUpPath(details.uid), context: details.uid }),
      application: await applicationOf(ctx, details),
      username: account.username,
      setUps,
      required: isForRequest(details) ? undefined : { graceEnds: graceOf(details) },
    });
    sendPage(ctx, html, { formTargets: targetsOf(details) });
  });

  router.post('/sign-in/:uid/set-up', async (ctx) => {
    const { fields, details } = await readForm(ctx);
    const { session, setUps } = await begun(ctx, details);
    if (fields.has('cancel')) return isForRequest(details) ? finish(ctx, UNMET) : refuse(ctx);
    const chosen = setUps.find(({ path }) => path === fields.get('set_up'));
    if (chosen !== undefined) {
      noteSignIn(ctx, details.uid);
      return seeOther(ctx, chosen.path);
    }
    // A sign-in of this request is repeated when it goes on, which must not take from the session what it has got since.
    const { amr, loginTs: ts } = session;
    const { login } = details.lastSubmission ?? {};
    // Whether it is enough is looked at again.
    const later = fields.has('later');
    return finish(ctx, { [SET_UP]: { later }, ...(login && { login: { ...login, amr, ts } }) }, true);
  });
  return router;
}
