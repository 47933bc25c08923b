import type { Integration } from '../../integrations/integration.ts';
import { NOTIFICATION_TYPES, type NotificationType } from '../notification.ts';
import type { Channel } from './channel.ts';
import type { ProviderSettings } from './create-channels.ts';
import { ProviderError } from './provider.ts';

const NAMES = { email: 'SMTP', sms: 'SMS gateway', push: 'Web Push' };

/** The channels as integrations, those that are not set up included. */
export function integrationsOf(
  channels: ReadonlyMap<NotificationType, Channel>,
  { capture }: ProviderSettings,
): Integration[] {
  return NOTIFICATION_TYPES.map((type) => ({
    id: type,
    kind: type,
    name: capture === undefined ? NAMES[type] : 'Files in a directory',
    check: channels.get(type)?.check,
    explain: (error) => (error instanceof ProviderError ? error.message : undefined),
  }));
}
