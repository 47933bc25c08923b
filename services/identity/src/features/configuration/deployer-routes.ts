import { v2Body } from '@gatehouse/api/http/error-bodies';
import { done, ok, response, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { Caller } from '@gatehouse/tokens/caller';
import { API_SCOPES, apiAudience, MANAGE_APPS } from '@gatehouse/tokens/scopes';
import { FRESH, requireSignIn } from '@gatehouse/tokens/step-up';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { ApplicationStore } from '../../core/applications/application.ts';
import { findCredential } from '../../core/applications/find-credential.ts';
import { findManaged, recordBy } from '../../core/applications/ownership.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Authority, Giver } from '../../core/authority/authority.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import { actOf } from '../../core/tokens/act-claim.ts';
import { acceptedUntil } from '../../core/tokens/clock-margin.ts';
import type { TokenSigning } from '../../core/tokens/token-signing.ts';
import { type Api, createApi } from '../../http/api.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import type { DeployerStore } from './deployer.ts';
import { deployerMarked } from './deployer-notice.ts';

/** The longest lifetime of a deployer's token, in seconds. */
const SECONDS = 900;
/** All scopes but the one to change accounts. */
const SCOPES = [...API_SCOPES.filter((scope) => scope !== 'write:users'), MANAGE_APPS].join(' ');

const deployerShape = shape(
  'Deployer',
  Type.Object({
    marked_by: Type.String({ description: 'The id of the admin.' }),
    created_at: Type.String({ format: 'date-time' }),
  }),
  { marked_by: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', created_at: '2026-11-02T09:30:00.000Z' },
);
const tokenShape = shape(
  'DeployerToken',
  Type.Object({
    access_token: Type.String(),
    expires_in: Type.Integer({ description: 'In seconds.' }),
    scope: Type.String(),
  }),
  { access_token: 'eyJhbGciOiJFUzI1NiJ9.…', expires_in: SECONDS, scope: 'manage:apps' },
);

type Options = {
  issuer: string;
  lifetimes: { accessToken: number };
  authenticate(ctx: Context): Promise<Caller>;
  store: DeployerStore;
  applicationStore: Pick<ApplicationStore, 'findNow'>;
  authority: Authority<Giver>;
  revocations: Pick<Revocations, 'noteDerived' | 'write'>;
  signing: Pick<TokenSigning, 'signer'>;
  mails: Pick<AccountMails, 'notify'>;
  audit: Pick<Audit, 'record'>;
};

/** The routes with which admins let applications apply configurations in their name. Errors are thrown. */
export function deployerRoutes(options: Options): Api {
  const { store, applicationStore, authority, revocations, audit } = options;
  const managed = { store: applicationStore, authority };
  const api = createManagerApi(APPLICATIONS, options.authenticate);

  api.put('mark', '/:client_id/deployer', {
    summary: 'Let an application apply configurations in your name',
    description:
      'For admins who have signed in within the last five minutes, and their own applications of type `machine`. With credentials that you made, ' +
      'the application gets tokens from `POST /api/v1/configuration/tokens`. The mark ends when you are no longer an admin, are deactivated or end ' +
      'all access, and when the application is deleted or gets another owner. You get a mail.',
    responses: done('The application is a deployer.'),
    async handle({ caller, manager, params: { client_id: id } }) {
      requireSignIn(caller, FRESH);
      const application = await findManaged(managed, manager, id, 'owner');
      if (manager.role !== 'admin' || application.owner !== manager.id)
        throw new ServiceError(
          'forbidden',
          'Only an admin can mark an application, and only one of their own.',
        );
      if (application.type !== 'machine')
        throw new ServiceError('invalid', `An application of type ${application.type} cannot be a deployer.`);
      const { by, epoch } = await authority.give('deployer', manager, application);
      await store.put({ id, grantId: newId('dep'), by, epoch, createdAt: new Date() });
      void options.mails.notify(by, deployerMarked(application));
      const details = { deployer: true };
      await recordBy(manager, audit, { action: 'application.changed', client: id, details });
    },
  });

  api.get('read', '/:client_id/deployer', {
    summary: 'Read whether an application applies configurations',
    responses: ok('The admin who has marked it.', deployerShape),
    async handle({ manager, params: { client_id: id } }) {
      await findManaged(managed, manager, id, 'viewer');
      const found = await store.find(id);
      if (found === undefined || (await authority.giverOf('deployer', found)) === undefined)
        throw new ServiceError('not_found', 'The application is no deployer.');
      return { marked_by: found.by, created_at: found.createdAt };
    },
  });

  api.delete('unmark', '/:client_id/deployer', {
    summary: 'Stop an application from applying configurations',
    responses: done('The application is no deployer, and its tokens that act for the admin have ended.'),
    async handle({ manager, params: { client_id: id } }) {
      await findManaged(managed, manager, id, 'owner');
      const found = await store.find(id);
      if (found === undefined) return;
      // The revocation comes first: after a crash, the admin can repeat the request.
      await revocations.write([{ kind: 'grant', id: found.grantId }]);
      await store.remove(id);
      const details = { deployer: false };
      await recordBy(manager, audit, { action: 'application.changed', client: id, details });
    },
  });

  return api;
}

/** The route from which deployers get their tokens. Errors are thrown. */
export function deployerTokenRoutes(options: Options): Api {
  const { store, applicationStore, authority, revocations, audit } = options;
  const lifetime = Math.min(SECONDS, options.lifetimes.accessToken);
  const api = createApi({
    ...{ prefix: '/api/v1/configuration/tokens', errors: { body: v2Body }, scopes: [] },
    identify: async (ctx) => ({ caller: await options.authenticate(ctx) }),
  });

  api.post('create', '/', {
    summary: 'Get a token to apply a configuration',
    description:
      'For a deployer, with an access token of its own that it got with a secret or a federated credential. The new token acts for the admin who ' +
      'has marked the deployer, and names the application as `act`. It is only for the requests that apply a configuration file, and not for ' +
      'changes of the application itself.',
    responses: { 201: response('The token.', tokenShape) },
    kinds: ['unavailable'],
    async handle({ ctx, caller }) {
      const { clientId, tokenId, keyThumbprint } = caller;
      const found = await store.find(clientId);
      const application = await applicationStore.findNow(clientId);
      // Members of the application, and holders of API keys, do not get the authority of the admin.
      const isOwn = caller.subject === clientId && caller.keyId === undefined && caller.givenBy === undefined;
      // The access token of a removed credential works for some time, but must not get others.
      const credential = application && (await findCredential(application, caller.credentialId ?? ''));
      const isMarked = isOwn && credential !== undefined && application?.owner === found?.by;
      const admin = isMarked && found ? await authority.giverOf('deployer', found) : undefined;
      if (found === undefined || admin === undefined)
        throw new ServiceError(
          'forbidden',
          'Only a deployer gets this token, with a credential that the admin made.',
        );
      const { token, jti } = await options.signing.signer()({
        ...{ subject: admin.id, clientId, audience: apiAudience(options.issuer), scope: SCOPES, lifetime },
        claims: omitUndefined({
          ...{ act: actOf([clientId]), roles: [admin.role], gid: found.grantId },
          epoch: { client: caller.epoch.client, subject: admin.epoch },
          cnf: keyThumbprint && { jkt: keyThumbprint },
        }),
      });
      await revocations.noteDerived(
        {
          tokenId: jti,
          restsOn: [
            { kind: 'token', id: tokenId ?? '' },
            { kind: 'client', id: clientId, epoch: caller.epoch.client },
            { kind: 'subject', id: admin.id, epoch: admin.epoch },
            { kind: 'grant', id: found.grantId },
          ],
        },
        acceptedUntil(lifetime),
      );
      await audit.record({
        ...{ action: 'token.exchanged', origin: originOf(ctx), actor: null, client: clientId },
        ...{ subject: admin.id, details: { deployer: true, scope: SCOPES } },
      });
      return { access_token: token, expires_in: lifetime, scope: SCOPES };
    },
  });
  return api;
}
