import { ProviderError } from '../notifications/channels/provider.ts';
import { NOTIFICATION_TYPES, type NotificationType } from '../notifications/notification.ts';
import type { Integration } from './integration.ts';

const NAMES: Readonly<Record<NotificationType, string>> = {
  email: 'SMTP',
  sms: 'SMS gateway',
  push: 'Web Push',
};
const CAPTURED = 'Files instead of messages';

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
