import { hash } from 'node:crypto';
import { apiAudience } from '@gatehouse/tokens/scopes';
import type { Grant } from 'oidc-provider';
import {
  type Application,
  type ApplicationStore,
  type ExchangeRule,
  ruleFor,
} from '../applications/application.ts';
import { type FindScopes, PERSONAL_SCOPES } from '../applications/application-rules.ts';
import { ALL_SCOPES } from './claims/scope-rules.ts';
import type { FindResource, ProtectedResource } from './protected-resource.ts';

/** An API at which an application acts for people: one of somebody else, or ours. */
export type ActingAt = ProtectedResource | { audience: string };
/** An application that can act for a person at another API, with the tokens that they send to an API of its owner. */
export type Acting = {
  application: Pick<Application, 'id' | 'name'>;
  at: ActingAt;
  scopes: readonly string[];
};
/** Finds the applications that can act at APIs of other owners, and at ours, with tokens for these resources. */
export type FindActing = (resources: readonly ProtectedResource[]) => Promise<Acting[]>;

/** Grants with what the consent page has said about these. */
type Stamped = { actingScopes?: readonly string[] };
export const ACTING_FIELD = 'actingScopes' satisfies keyof Stamped;

/** APIs beyond that in one chain are not shown, and so not allowed. */
const MAX_REACHED = 20;

/** Follows the settings `token_exchange`, from the API that a person allows to those that tokens for it can be exchanged for. */
export function createFindActing(options: {
  issuer: string;
  store: Pick<ApplicationStore, 'exchanging'>;
  findResource: FindResource;
}): FindActing {
  const { store, findResource } = options;
  const ours = apiAudience(options.issuer);

  async function actingBy(application: Application, rule: ExchangeRule): Promise<Acting | undefined> {
    if (rule.resource === ours) {
      return { application, at: { audience: ours }, scopes: scopesAtOurs(application, rule) };
    }
    const at = await findResource(rule.resource, { ...application, isMachine: true });
    const scopes = at?.scopes.map(({ name }) => name).filter((name) => rule.scopes.includes(name)) ?? [];
    return at && { application, at, scopes };
  }

  return async (resources) => {
    const reached = new Map(resources.map((it) => [it.id, it]));
    const found = new Map<string, Acting>();
    // The loop comes to those that it adds, too.
    for (const api of reached.values()) {
      for (const application of await store.exchanging(api.owner)) {
        if (ruleFor(application.tokenExchange, api.identifier) === undefined) continue;
        for (const rule of application.tokenExchange) {
          const acting = await actingBy(application, rule);
          if (acting === undefined || acting.scopes.length === 0) continue;
          const { at } = acting;
          if ('id' in at && reached.size < MAX_REACHED) reached.set(at.id, at);
          if ('id' in at && at.owner === api.owner) continue;
          found.set(`${application.id} ${rule.resource}`, acting);
        }
      }
    }
    return [...found.values()];
  };
}

/** The scopes of our API that are not about the person who has signed in. */
const IMPERSONAL_SCOPES = ALL_SCOPES.filter((it) => !PERSONAL_SCOPES.includes(it));

/** Finds the scopes that a new rule of `token_exchange` may name. An owner can list the application at their own API afterwards. */
export const createFindScopes =
  ({ issuer, findResource }: { issuer: string; findResource: FindResource }): FindScopes =>
  async (application, resource) => {
    if (resource === apiAudience(issuer)) return IMPERSONAL_SCOPES;
    const api = await findResource(resource);
    const isOwn = api !== undefined && api.owner === application.owner;
    const found = isOwn ? api : await findResource(resource, { ...application, isMachine: true });
    return found?.scopes.map(({ name }) => name);
  };

/** The most scopes that a rule can give at our API. An application of type resource has none of its own. */
export function scopesAtOurs({ type, scopes }: Application, rule: ExchangeRule): string[] {
  const most = type === 'resource' ? IMPERSONAL_SCOPES : scopes;
  return most.filter((scope) => rule.scopes.includes(scope));
}

/** Marks what the consent page has said about applications that act for the person. */
export function stampActing(grant: Grant, acting: readonly Acting[]): void {
  const { actingScopes = [] } = grant as Stamped;
  const stamps = acting.flatMap(stampsOf);
  Object.assign(grant, { actingScopes: [...new Set([...actingScopes, ...stamps])] } satisfies Stamped);
}

/** Whether the consent page has said that an application acts for the person with this scope, in the words that describe it now. */
export function isActingAllowed(grant: Grant, clientId: string, at: ActingAt, scope: string): boolean {
  return (grant as Stamped).actingScopes?.includes(stampOf(clientId, at, scope)) === true;
}

/** The part of these that consent pages have said, by their stamps. */
export function actingAllowedBy(stamps: readonly string[], acting: readonly Acting[]): Acting[] {
  return acting.flatMap((it) => {
    const scopes = it.scopes.filter((scope) => stamps.includes(stampOf(it.application.id, it.at, scope)));
    return scopes.length === 0 ? [] : [{ ...it, scopes }];
  });
}

/** Whether the consent page has said all of it. */
export function isAllActingAllowed(grant: Grant, acting: readonly Acting[]): boolean {
  const { actingScopes = [] } = grant as Stamped;
  return acting.flatMap(stampsOf).every((stamp) => actingScopes.includes(stamp));
}

/** A text that changes with what the consent page says. */
export const stampOfAll = (acting: readonly Acting[]) => acting.flatMap(stampsOf).join(' ');

const stampsOf = ({ application, at, scopes }: Acting) =>
  scopes.map((scope) => stampOf(application.id, at, scope));

function stampOf(clientId: string, at: ActingAt, scope: string): string {
  const described =
    'id' in at ? [at.id, at.scopes.find(({ name }) => name === scope)?.description] : [at.audience];
  return hash('sha256', JSON.stringify([clientId, scope, ...described]), 'base64url').slice(0, 22);
}
