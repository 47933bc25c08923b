import { ServiceError } from '@gatehouse/core/errors';
import { parseScope, ROLES, type Role } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction } from 'oidc-provider';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { Application } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import { lowerRole } from '../../core/applications/ownership.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import { type Acting, type FindActing, stampActing } from '../../core/oidc/acting.ts';
import { scopesOfClaims } from '../../core/oidc/claims/claims-parameter.ts';
import { sentencesOf, stampConsent, stampScopes } from '../../core/oidc/epochs/consent-epochs.ts';
import { stampDeviceGrant, stampGrant } from '../../core/oidc/epochs/sign-in-epochs.ts';
import type { FindResource, ProtectedResource } from '../../core/oidc/protected-resource.ts';
import { ANOTHER_ACCOUNT, type RequestDetails } from '../../core/oidc/provider-options.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { SignInExpired } from '../../pages/page-errors.ts';
import { seeOther, sendPage } from '../../pages/page-response.ts';
import { consentPage } from './consent-page.ts';
import { createInteractions } from './interactions.ts';

/** The page on which people allow an application to use their account. */
export function consentRoutes(options: {
  provider(): Provider;
  accounts: Accounts;
  applications: Pick<Applications, 'find'>;
  findResource: FindResource;
  findActing: FindActing;
  audit: Audit;
  /** The role that the person has in an application, which may be less than their own. */
  roleIn(clientId: string, account: Account): Promise<Role>;
  forms: CsrfForms;
  /** The sources of further facts about a request, for people to judge it. */
  requestDetails: readonly RequestDetails[];
}): Router {
  const { accounts, audit, forms } = options;
  const router = new Router({ sensitive: true });
  const { load, readForm, finish, refuse, applicationOf, targetsOf } = createInteractions(options, 'consent');

  /** The account that is asked for consent, the application, and the scopes. */
  async function consentOf(ctx: Context, details: Interaction) {
    const account = await accounts.find(details.session?.accountId ?? '');
    const application = await applicationOf(ctx, details);
    if (account === undefined || application.ownPages !== undefined) throw new SignInExpired();
    const missing = details.prompt.details as {
      missingOIDCScope?: string[];
      missingOIDCClaims?: string[];
      missingResourceScopes?: Record<string, string[]>;
    };
    return { account, application, missing, scopes: requestedScopes(details) };
  }

  router.get('/consent/:uid', async (ctx) => {
    const details = await load(ctx);
    const { account, application, missing, scopes } = await consentOf(ctx, details);
    const unseen = new Set([
      ...(missing.missingOIDCScope ?? []),
      ...scopesOfClaims(missing.missingOIDCClaims ?? []),
      ...Object.values(missing.missingResourceScopes ?? {}).flat(),
    ]);
    const newScopes = scopes.filter((scope) => unseen.has(scope));
    const clientId = String(details.params.client_id);
    const requester = await options.applications.find(clientId);
    const role = await options.roleIn(clientId, account);
    const resources = await resourcesOf(details, options.findResource);
    const acting = await options.findActing([...resources.values()]);
    const hidden = { role, sentences: sentencesOf(resources, acting) };
    const hasSomeNewScopes = newScopes.length > 0 && newScopes.length < scopes.length;
    const html = consentPage({
      form: forms.form(ctx, { action: `/consent/${details.uid}`, context: details.uid, hidden }),
      application,
      account: { ...account, role },
      scopes,
      resources: [...resources.values()],
      acting: await withRoles(acting, (id) => options.roleIn(id, account), role),
      newScopes: hasSomeNewScopes ? newScopes : undefined,
      details: await Promise.all(options.requestDetails.map((describe) => describe(ctx, details))),
      links: { useAnotherAccount: anotherAccount(details, requester) },
    });
    sendPage(ctx, html, { formTargets: targetsOf(details) });
  });

  router.post('/consent/:uid', async (ctx) => {
    const { fields, details } = await readForm(ctx);
    const { account, missing, scopes } = await consentOf(ctx, details);
    const decision = fields.get('decision');
    const client = String(details.params.client_id);
    if (decision === 'deny') {
      await audit.record({ action: 'consent.refused', origin: originOf(ctx), client, subject: account.id });
      return refuse(ctx);
    }
    if (decision !== 'allow') throw new ServiceError('invalid', 'The form must say allow or deny.');
    const resources = await resourcesOf(details, options.findResource);
    // A resource whose scopes have changed since the page was made is shown again.
    const acting = await options.findActing([...resources.values()]);
    if (fields.get('sentences') !== sentencesOf(resources, acting))
      return seeOther(ctx, `/consent/${details.uid}`);
    const { Grant, Session } = options.provider();
    const known = details.grantId === undefined ? undefined : await Grant.find(details.grantId);
    const given = new Grant({ accountId: account.id, clientId: client });
    const grant =
      known ??
      (details.deviceCode === undefined
        ? stampGrant(given, account, details.session)
        : stampDeviceGrant(given, account, await Session.findByUid(details.session?.uid ?? '')));
    // The role that the page named, also if the person's role has changed since.
    const role = ROLES.find((name) => name === fields.get('role'));
    if (role === undefined) throw new ServiceError('invalid', 'The form must name the role.');
    stampConsent(grant, details, role);
    stampActing(grant, acting);
    if (missing.missingOIDCScope !== undefined) grant.addOIDCScope(missing.missingOIDCScope.join(' '));
    if (missing.missingOIDCClaims !== undefined) grant.addOIDCClaims(missing.missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(' '));
      const ofOthers = resources.get(resource);
      if (ofOthers !== undefined) stampScopes(grant, ofOthers, scopes);
    }
    const grantId = await grant.save();
    await audit.record({
      action: 'consent.granted',
      origin: originOf(ctx),
      client,
      subject: account.id,
      details: { grant: grantId, scope: scopes.join(' ') },
    });
    return finish(ctx, { consent: { grantId } }, true);
  });
  return router;
}

/** The resources of others that the request names, by the names it has for them. */
async function resourcesOf(
  { params }: Interaction,
  findResource: FindResource,
): Promise<Map<string, ProtectedResource>> {
  const found = new Map<string, ProtectedResource>();
  for (const identifier of [params.resource].flat()) {
    const resource = typeof identifier === 'string' ? await findResource(identifier) : undefined;
    if (resource !== undefined) found.set(String(identifier), resource);
  }
  return found;
}

/** The requested scopes: those that the request names, and those that stand for the claims that it names. */
function requestedScopes({ params }: Interaction): string[] {
  const { userinfo, id_token } = JSON.parse(String(params.claims ?? '{}')) as Record<
    string,
    object | undefined
  >;
  const ofClaims = scopesOfClaims(Object.keys({ ...userinfo, ...id_token }));
  return [...new Set([...parseScope(String(params.scope ?? '')), ...ofClaims])];
}

/**
 * The same request again, but with a sign-in that is not skipped and suggests nobody; none for the request of a device, or of an
 * application whose requests are only accepted when it has pushed them (RFC 9126 §6).
 */
function anotherAccount(
  { params, deviceCode }: Interaction,
  application: Pick<Application, 'requirePushedRequests' | 'securityProfile'> | undefined,
): string | undefined {
  const isPushed = application?.requirePushedRequests || application?.securityProfile !== undefined;
  if (deviceCode !== undefined || isPushed) return undefined;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (typeof value === 'string') query.set(name, value);
  const consent = query.get('prompt')?.split(' ').includes('consent');
  query.set('prompt', consent ? 'login consent' : 'login');
  query.delete('login_hint');
  query.set(ANOTHER_ACCOUNT, 'yes');
  return `/oauth2/authorize?${query}`;
}

/** The applications that act for a person, each with the most role that it has: no more than that of the consent. */
function withRoles(acting: readonly Acting[], roleIn: (id: string) => Promise<Role>, role: Role) {
  const withRole = async (it: Acting) => ({ ...it, role: lowerRole(role, await roleIn(it.application.id)) });
  return Promise.all(acting.map(withRole));
}
