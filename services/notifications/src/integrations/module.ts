import { v2Body } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { NOTIFICATION_TYPES, type NotificationType } from '@gatehouse/domain/notification-fields';
import { ProviderError } from '../notifications/channels/provider.ts';
import { createIntegrationStates, type Integration } from './integration.ts';
import { mountIntegrations } from './integration-routes.ts';

const NAMES: Readonly<Record<NotificationType, string>> = {
  email: 'SMTP',
  sms: 'SMS gateway',
  push: 'Web Push',
};
const CAPTURED = 'Files instead of messages';

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

type Checked = { check(signal: AbortSignal): Promise<void> };

/** The providers of notifications, as integrations. `isCaptured` says whether messages of a type are written to files. */
export function messageProviders(
  channels: ReadonlyMap<NotificationType, Checked>,
  isCaptured: (type: NotificationType) => boolean,
): Integration[] {
  return NOTIFICATION_TYPES.map((type) => ({
    id: type,
    kind: type,
    name: isCaptured(type) ? CAPTURED : NAMES[type],
    check: channels.get(type)?.check,
    // Its message is written for those who send notifications.
    explain: (error) => (error instanceof ProviderError ? error.message : undefined),
  }));
}
