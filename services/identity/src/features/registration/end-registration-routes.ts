import { done } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import type { ApplicationStore } from '../../core/applications/application.ts';
import type { ApplicationWrites } from '../../core/applications/application-writes.ts';
import { findManaged, recordBy } from '../../core/applications/ownership.ts';
import type { Audit } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import { retried } from '../../core/optimistic-writes.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import type { RegistrationStore } from './registration.ts';

/** DELETE /api/v1/applications/{client_id}/registration: a client no longer manages its own registration. Errors are thrown. */
export function endRegistrationRoutes(options: {
  registrations: Pick<RegistrationStore, 'find' | 'remove'>;
  applicationStore: ApplicationStore;
  applicationWrites: Pick<ApplicationWrites, 'change'>;
  authority: Pick<Authority, 'roleOf'>;
  audit: Pick<Audit, 'record'>;
  authenticate(ctx: Context): Promise<Caller>;
}) {
  const { registrations, applicationStore: store, applicationWrites: writes, authority, audit } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);
  api.delete('end', '/:client_id/registration', {
    summary: 'End the registration access token of a client',
    description:
      'The client no longer reads, changes or ends its registration (RFC 7592). The application and its credentials stay.',
    responses: done('The registration access token has ended.'),
    kinds: ['conflict'],
    async handle({ manager, params: { client_id: client } }) {
      await findManaged({ store, authority }, manager, client, 'owner');
      if ((await registrations.find(client)) === undefined) {
        throw new ServiceError('not_found', 'The client does not manage its registration.');
      }
      await registrations.remove(client);
      await retried(async () =>
        writes.change(await findManaged({ store, authority }, manager, client, 'owner'), {
          registrableScopes: undefined,
        }),
      );
      await recordBy(manager, audit, {
        action: 'application.changed',
        client,
        details: { registration: 'ended' },
      });
    },
  });
  return api;
}
