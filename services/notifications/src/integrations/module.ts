import { v2Body } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { createIntegrationStates, type Integration } from './integration.ts';
import { mountIntegrations } from './integration-routes.ts';

/** The paths of this module, with the error bodies of their routes. */
export const INTEGRATION_PATHS = [
  { prefix: '/v2/integrations', profiles: [{ name: 'latest', about: 'integrations', errorBody: v2Body }] },
  { prefix: '/integrations', profiles: [{ name: 'latest', about: 'integrations', errorBody: v2Body }] },
];

/**
 * Integrations: which are configured, and whether each of them works.
 *
 * @param options.others the integrations of the other modules
 */
export function createIntegrationsModule(
  { connection, nats }: ResourceContext,
  { others }: { others: readonly Integration[] },
): ResourceParts {
  const ping = async () => {
    await connection.db?.command({ ping: 1 });
  };
  const queue: Integration =
    nats === undefined
      ? { id: 'queue', kind: 'queue', name: 'In this process, with jobs in MongoDB', check: ping }
      : {
          id: 'queue',
          kind: 'queue',
          name: 'NATS JetStream',
          async check() {
            const current = nats();
            if (current === undefined) throw new Error('there is no connection');
            await current.flush();
          },
          explain: () => 'There is no connection to NATS.',
        };
  const database: Integration = {
    id: 'database',
    kind: 'database',
    name: 'MongoDB',
    check: ping,
    explain: () => 'MongoDB cannot be reached.',
  };
  const states = createIntegrationStates([...others, queue, database]);
  return {
    routes(app, { mountOptions: { authenticate } }) {
      mountIntegrations(app, { states, authenticate });
    },
  };
}
