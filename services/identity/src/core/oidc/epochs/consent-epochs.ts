import type { Role } from '@gatehouse/tokens/scopes';
import type { Client, Grant, Interaction, interactionPolicy, KoaContextWithOIDC } from 'oidc-provider';
import { lowerRole } from '../../applications/ownership.ts';
import { storeFields } from './store-fields.ts';

/** The name of an application's consent epoch in the metadata of its client. */
export const CONSENT_EPOCH = 'consent_epoch';

type Stamped = { consentEpoch?: number; consentRole?: Role; consentRedirectUri?: string };

/**
 * An application that gets another owner has to be allowed again by everybody: grants, and the authorizations of sessions,
 * store the consent epoch that it had when somebody was asked, and count only while it is current. They are deleted, too,
 * but one may be in use at that moment.
 */
export function trackConsentEpochs(models: { Grant: unknown }): void {
  storeFields(models.Grant, ['consentEpoch', 'consentRole', 'consentRedirectUri']);
}

/** The question on a consent page belongs to the consent epoch at that moment. */
export function addConsentEpoch(policy: interactionPolicy.DefaultPolicy): void {
  const prompt = policy.get('consent');
  if (prompt === undefined) throw new Error('there is no consent prompt');
  const { details } = prompt;
  prompt.details = async (ctx: KoaContextWithOIDC) => ({
    ...(await details(ctx)),
    consentEpoch: consentEpochOf(ctx.oidc.client),
  });
}

export function consentEpochOf(client: Client | undefined): number {
  return Number(client?.[CONSENT_EPOCH] ?? 0);
}

/** Whether a grant, or an authorization of a session, is of this consent epoch of its application. */
export function isOfConsentEpoch(stamped: object, epoch: number): boolean {
  return ((stamped as Stamped).consentEpoch ?? 0) >= epoch;
}

/** Makes a grant one of the consent epoch in which the interaction asked for it, and of the role that the page named. */
export function stampConsent(grant: Grant, { prompt, params }: Interaction, role: Role): void {
  const consentEpoch = Number(prompt.details.consentEpoch ?? 0);
  const consentRedirectUri = withoutLoopbackPort(String(params.redirect_uri));
  Object.assign(grant, { consentEpoch, consentRole: role, consentRedirectUri } satisfies Stamped);
}

/** Whether a grant was given for responses to this redirect URI. */
export function isForRedirectUri(grant: object, redirectUri: unknown): boolean {
  return (grant as Stamped).consentRedirectUri === withoutLoopbackPort(String(redirectUri));
}

/** A program on the person's device gets another port each time (RFC 8252 §7.3). */
function withoutLoopbackPort(redirectUri: string): string {
  return redirectUri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+/, '$1');
}

/** The role that an application has by a grant: what the person may do, and no more than what they were asked to allow. */
export function roleByGrant(grant: object | undefined, role: Role): Role {
  return lowerRole(role, (grant as Stamped | undefined)?.consentRole ?? role);
}
