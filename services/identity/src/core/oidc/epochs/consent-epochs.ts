import { hash } from 'node:crypto';
import { parseScope, type Role } from '@gatehouse/tokens/scopes';
import type { Client, Grant, Interaction, interactionPolicy, KoaContextWithOIDC } from 'oidc-provider';
import { lowerRole } from '../../applications/ownership.ts';
import { ACTING_FIELD, type Acting, stampOfAll } from '../acting.ts';
import { CONSENT_EPOCH } from '../clients/client-metadata.ts';
import { isMetadataDocumentId } from '../clients/metadata-document-id.ts';
import type { ProtectedResource } from '../protected-resource.ts';
import { storeFields } from './store-fields.ts';

type Stamped = {
  consentEpoch?: number;
  consentRole?: Role;
  /** Hashes of the redirect URIs that it was given for: there may be many, and they may be long. */
  consentRedirectUris?: readonly string[];
  /** Hashes of the scopes of resources of others, with the sentences that the consent page had about them. */
  consentScopes?: readonly string[];
};

/**
 * An application that gets another owner has to be allowed again by everybody: grants, and the authorizations of sessions,
 * store the consent epoch that it had when somebody was asked, and count only while it is current. They are deleted, too,
 * but one may be in use at that moment.
 */
export function trackConsentEpochs(models: { Grant: unknown }): void {
  storeFields(models.Grant, [
    ...['consentEpoch', 'consentRole', 'consentRedirectUris', 'consentScopes'],
    ACTING_FIELD,
  ]);
}

/** The question on a consent page belongs to the consent epoch, and the redirect URIs, at that moment. */
export function addConsentEpoch(policy: interactionPolicy.DefaultPolicy): void {
  const prompt = policy.get('consent');
  if (prompt === undefined) throw new Error('there is no consent prompt');
  const { details } = prompt;
  prompt.details = async (ctx: KoaContextWithOIDC) => ({
    ...(await details(ctx)),
    consentEpoch: consentEpochOf(ctx.oidc.client),
    redirectUris: redirectUrisOf(ctx),
  });
}

export function consentEpochOf(client: Client | undefined): number {
  return Number(client?.[CONSENT_EPOCH] ?? 0);
}

/** Whether a grant, or an authorization of a session, is of this consent epoch of its application. */
export function isOfConsentEpoch(stamped: object, epoch: number): boolean {
  return ((stamped as Stamped).consentEpoch ?? 0) >= epoch;
}

/**
 * Makes a grant one of the consent epoch and the redirect URIs for which the interaction asked, and of the role that the page
 * named. A grant that is extended keeps its epoch and its role, and the redirect URIs that both are for.
 */
export function stampConsent(grant: Grant, { prompt, params, grantId }: Interaction, role: Role): void {
  const asked = (prompt.details.redirectUris ?? [keyOf(params.redirect_uri)]) as readonly string[];
  const consentEpoch = Number(prompt.details.consentEpoch ?? 0);
  const known = grantId === undefined ? undefined : redirectUrisOfGrant(grant);
  const consentRedirectUris = known === undefined ? asked : known.filter((it) => asked.includes(it));
  const first = known === undefined ? { consentEpoch, consentRole: role } : {};
  Object.assign(grant, { ...first, consentRedirectUris } satisfies Stamped);
}

/** Whether a grant was given for responses to this redirect URI. */
export function isForRedirectUri(grant: object, redirectUri: unknown): boolean {
  return redirectUrisOfGrant(grant).includes(keyOf(redirectUri));
}

const redirectUrisOfGrant = (grant: object) => (grant as Stamped).consentRedirectUris ?? [];

/**
 * The redirect URIs that a consent is for: all that are registered, or the one that the page shows of a document, which can list any
 * number and change at any time.
 */
function redirectUrisOf({ oidc: { client, params } }: KoaContextWithOIDC): string[] {
  const isDocument = isMetadataDocumentId(client?.clientId ?? '');
  return (isDocument ? [params?.redirect_uri] : (client?.redirectUris ?? [])).map(keyOf);
}

/** A program on the person's device gets another port each time (RFC 8252 §7.3). */
function keyOf(redirectUri: unknown): string {
  const uri = String(redirectUri).replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+/, '$1');
  return hash('sha256', uri, 'base64url');
}

/** Marks scopes of a resource as allowed with the sentences that it has now. */
export function stampScopes(grant: Grant, resource: ProtectedResource, scopes: readonly string[]): void {
  const { consentScopes = [] } = grant as Stamped;
  const added = resource.scopes.filter(({ name }) => scopes.includes(name));
  const stamps = added.map((scope) => stampOf(resource, scope));
  Object.assign(grant, { consentScopes: [...new Set([...consentScopes, ...stamps])] } satisfies Stamped);
}

/** A text that changes with the sentences of the scopes of resources, and of the applications that act for the person. */
export function sentencesOf(
  resources: ReadonlyMap<string, ProtectedResource>,
  acting: readonly Acting[],
): string {
  const stamps = [...resources.values()].flatMap((it) => it.scopes.map((scope) => stampOf(it, scope)));
  return hash('sha256', `${stamps.join(' ')} ${stampOfAll(acting)}`, 'base64url');
}

/**
 * The scopes of a resource that the person allowed with the sentences that they have now. A resource that is registered again has
 * another id.
 */
export function scopesInForce(grant: Grant, indicator: string, resource: ProtectedResource): string[] {
  const { consentScopes = [] } = grant as Stamped;
  const granted = parseScope(grant.getResourceScope(indicator));
  const isInForce = (scope: ResourceScope) => consentScopes.includes(stampOf(resource, scope));
  return resource.scopes.filter((it) => granted.includes(it.name) && isInForce(it)).map(({ name }) => name);
}

type ResourceScope = ProtectedResource['scopes'][number];
const stampOf = ({ id }: ProtectedResource, { name, description }: ResourceScope) =>
  hash('sha256', JSON.stringify([id, name, description]), 'base64url').slice(0, 22);

/** The role that an application has by a grant: what the person may do, and no more than what they were asked to allow. */
export function roleByGrant(grant: object | undefined, role: Role): Role {
  return lowerRole(role, (grant as Stamped | undefined)?.consentRole ?? role);
}

/** The scopes of a resource that a token can have: for a person, those that they have allowed as they are now. */
export function scopesOf(resource: ProtectedResource, indicator: string, grant: Grant | undefined): string[] {
  return grant === undefined
    ? resource.scopes.map(({ name }) => name)
    : scopesInForce(grant, indicator, resource);
}
