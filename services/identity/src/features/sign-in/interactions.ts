import { requestInfo } from '@gatehouse/server/requests';
import { brand } from '@gatehouse/web/brand';
import { accentStylesheet, linksOf, pictureOf } from '@gatehouse/web/branding';
import { switchLanguage } from '@gatehouse/web/language';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction, InteractionResults } from 'oidc-provider';
import type { Application } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import { hostOf } from '../../core/applications/redirect-uris.ts';
import { CLI_CLIENT, DASHBOARD_CLIENT, isFirstParty } from '../../core/oidc/clients/client-metadata.ts';
import type { SELECT_ACCOUNT } from '../../core/oidc/prompts.ts';
import { SIGN_UP } from '../../core/oidc/provider-options.ts';
import { SET_UP } from '../../core/oidc/strength.ts';
import { setUpPath } from '../../core/sessions/set-up.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { SignInExpired } from '../../pages/page-errors.ts';
import { formTarget, seeOther } from '../../pages/page-response.ts';
import type { RequestingApplication } from '../../pages/requesting-application.ts';
import { requestedLanguage } from '../../texts/languages.ts';
import { t } from '../../texts/texts.ts';

/** The page on which an interaction continues. */
export function interactionUrl({ prompt, uid, params }: Interaction): string {
  if (prompt.name === 'consent') return `/consent/${uid}`;
  if (prompt.name === SET_UP) return setUpPath(uid);
  // The cookie of the interaction is for this path and those below it, not for the query.
  return `/sign-in/${uid}${params[SIGN_UP] === undefined ? '' : `?${SIGN_UP}`}`;
}

/** How the pages show an application. */
export const appearanceOf = (application: Application) => ({
  logo: pictureOf(application),
  links: linksOf(application),
  accent: application.primaryColor && accentStylesheet(application.primaryColor),
});

export type Interactions = ReturnType<typeof createInteractions>;

/** The functions that the pages of an authorization request share, for those of these prompts. */
export function createInteractions(
  {
    provider,
    forms,
    applications,
  }: { provider(): Provider; forms: CsrfForms; applications: Pick<Applications, 'find'> },
  ...prompts: ('login' | typeof SELECT_ACCOUNT | 'consent' | typeof SET_UP)[]
) {
  const redirectUriOf = ({ params }: Interaction) => params.redirect_uri as string | undefined;

  /** The interaction of this browser that the path names. Throws SignInExpired. */
  async function load(ctx: Context): Promise<Interaction> {
    const details = await provider().interactionDetails(ctx.req, ctx.res);
    if (details.uid !== ctx.params.uid || !prompts.some((it) => it === details.prompt.name))
      throw new SignInExpired();
    const language = requestedLanguage(details.params.ui_locales);
    if (language !== undefined) switchLanguage(language);
    return details;
  }

  /** The form of an interaction, which is loaded again: it may have ended while the form was on its way. */
  async function readForm(ctx: Context) {
    const fields = await forms.read(ctx, (await load(ctx)).uid);
    return { fields, details: await load(ctx) };
  }

  /** Where the browser goes on with the authorization request; with the results of earlier pages as well if `merge`. */
  const resultUrl = (ctx: Context, result: InteractionResults, merge = false) =>
    provider().interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: merge });

  async function finish(ctx: Context, result: InteractionResults, merge = false): Promise<void> {
    seeOther(ctx, await resultUrl(ctx, result, merge));
  }

  /** Ends the authorization request, as the person does not want to go on (RFC 6749 §4.1.2.1). */
  const refuse = (ctx: Context) =>
    finish(ctx, { error: 'access_denied', error_description: 'the person refused' });

  async function applicationOf(ctx: Context, details: Interaction): Promise<RequestingApplication> {
    const id = String(details.params.client_id);
    if (isFirstParty(id)) {
      const pages: Record<string, string> = {
        [DASHBOARD_CLIENT]: t('Dashboard'),
        [CLI_CLIENT]: t('Command line'),
      };
      return { name: brand().name, host: undefined, ownPages: pages[id] ?? t('Your account') };
    }
    const application = await applications.find(id, requestInfo(ctx.req).address);
    return {
      name: application?.name ?? id,
      host: hostOf(redirectUriOf(details)),
      isOnOtherDevice: details.deviceCode !== undefined,
      ...(application && appearanceOf(application)),
    };
  }

  /** Where forms lead in the end, beside ourselves. */
  const targetsOf = (details: Interaction) => formTarget(redirectUriOf(details));

  return { load, readForm, resultUrl, finish, refuse, applicationOf, targetsOf };
}
