import { invalidFields } from '@gatehouse/api/http/schema';
import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { JWTPayload } from 'jose';
import {
  type Application,
  type ApplicationStore,
  type FederatedCredential,
  MAX_FEDERATED,
} from '../../core/applications/application.ts';
import { nameProblems } from '../../core/applications/application-rules.ts';
import type { ApplicationWrites } from '../../core/applications/application-writes.ts';
import type { LimitCredentials, NotifyCredential } from '../../core/applications/new-credential-notice.ts';
import { findManaged, type Manager, recordBy } from '../../core/applications/ownership.ts';
import type { Audit } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { type Difference, findDifference, patternProblem, type Rule } from './rule.ts';
import { isTrustDomain, trustDomainOf } from './spiffe.ts';
import { authenticates, type TrustedIssuers } from './trusted-issuers.ts';
import { TokenProblem, unverifiedClaims, verifyWorkloadToken } from './workload-token.ts';

export type Explanation = {
  /** The fault of the token itself, as the end of a sentence. */
  problem: string | undefined;
  rules: { rule: FederatedCredential; difference: Difference | undefined }[];
};

export type FederatedCredentials = {
  list(manager: Manager, clientId: string): Promise<readonly FederatedCredential[]>;
  /** Throws `invalid`, and `conflict` when there are MAX_FEDERATED. */
  add(manager: Manager, clientId: string, rule: Rule & { name: string }): Promise<FederatedCredential>;
  /** Ends the tokens of the application, too. */
  remove(manager: Manager, clientId: string, id: string): Promise<void>;
  /** Compares a token with the rules, and keeps nothing of it. */
  explain(manager: Manager, clientId: string, token: string): Promise<Explanation>;
};

/** The use cases of federated credentials. */
export function createFederatedCredentials(options: {
  store: Pick<ApplicationStore, 'findNow' | 'addFederated' | 'removeFederated'>;
  issuers: Pick<TrustedIssuers, 'find' | 'forget'>;
  keys: IssuerKeys;
  authority: Authority;
  writes: Pick<ApplicationWrites, 'revoke'>;
  audit: Pick<Audit, 'record'>;
  notifyCredential: NotifyCredential;
  limitCredentials: LimitCredentials;
  /** The audiences of tokens, unless a rule names another. */
  audiences: readonly string[];
}): FederatedCredentials {
  const { store, issuers, authority, audit, audiences } = options;

  async function check(application: Application, rule: Rule & { name: string }): Promise<void> {
    const { type, securityProfile } = application;
    if (type !== 'machine' && type !== 'web')
      throw new ServiceError('invalid', `An application of type ${type} has no federated credentials.`);
    if (securityProfile !== undefined)
      throw new ServiceError(
        'invalid',
        `With the profile ${securityProfile}, an application has keys of its own.`,
      );
    // Another replica may have added it a moment ago.
    issuers.forget();
    const issuer = await issuers.find(rule.issuer);
    const patterns: [field: string, value: unknown][] = [
      ['subject', rule.subject],
      ...rule.claims.map(([name, value]): [string, unknown] => [`claims.${name}`, value]),
    ];
    const problems: (FieldProblem | false)[] = [
      ...nameProblems(rule.name),
      (issuer === undefined || !issuer.kinds.includes('workload')) && {
        ...{ field: 'issuer', message: 'is no trusted issuer of workloads' },
      },
      rule.audience?.includes('*') === true && { field: 'audience', message: 'must not have a *' },
      ...patterns.map(([field, value]) => {
        const message = typeof value === 'string' ? patternProblem(value) : undefined;
        return message !== undefined && { field, message };
      }),
    ];
    const found = problems.filter((it) => it !== false);
    if (found.length > 0) throw invalidFields(found);
  }

  async function problemOf(token: string, claims: JWTPayload): Promise<string | undefined> {
    const urls = [claims.iss, trustDomainOf(claims)].filter((it) => typeof it === 'string');
    const found = await Promise.all(urls.map((url) => issuers.find(url)));
    const issuer = found.find((it) => it !== undefined && authenticates(it));
    if (issuer === undefined) return 'is of no trusted issuer of workloads';
    try {
      await verifyWorkloadToken(token, issuer, options.keys);
      return undefined;
    } catch (error) {
      if (error instanceof TokenProblem) return error.message;
      throw error;
    }
  }

  return {
    async list(manager, clientId) {
      return (await findManaged(options, manager, clientId, 'viewer')).federatedCredentials;
    },

    async add(manager, clientId, rule) {
      const application = await findManaged(options, manager, clientId, 'owner');
      await check(application, rule);
      await options.limitCredentials(application, manager);
      const given = await authority.give('federated_credential', manager, application);
      const id = newId('fed');
      const added: FederatedCredential = { id, ...rule, createdAt: new Date(), lastUse: null, given };
      const done = await store.addFederated(application, added);
      if (done === undefined) throw new ServiceError('not_found', 'There is no such application.');
      if (!done)
        throw new ServiceError(
          'conflict',
          `The application already has ${MAX_FEDERATED} federated credentials.`,
        );
      const { name, issuer, subject } = rule;
      options.notifyCredential(application, { what: 'a federated credential', name, issuer }, manager);
      const details = { credential: id, issuer, subject };
      await recordBy(manager, audit, { action: 'federated_credential.created', client: clientId, details });
      return added;
    },

    async remove(manager, clientId, id) {
      await findManaged(options, manager, clientId, 'owner');
      const left = await store.removeFederated(clientId, id);
      if (left === undefined) throw new ServiceError('not_found', 'There is no such federated credential.');
      await options.writes.revoke([{ application: left, over: false }]);
      const details = { credential: id };
      await recordBy(manager, audit, { action: 'federated_credential.removed', client: clientId, details });
    },

    async explain(manager, clientId, token) {
      const application = await findManaged(options, manager, clientId, 'developer');
      const claims = unverifiedClaims(token);
      const problem = claims === undefined ? 'is no valid JWT' : await problemOf(token, claims);
      const rules = application.federatedCredentials.map((rule) => {
        const more = isTrustDomain(rule.issuer) ? { iss: trustDomainOf(claims ?? {}) } : {};
        return { rule, difference: findDifference(rule, { ...claims, ...more }, audiences) };
      });
      return { problem, rules };
    },
  };
}
