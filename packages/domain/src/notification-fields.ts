export const NOTIFICATION_TYPES = ['email', 'sms', 'push'] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

export const NOTIFICATION_PRIORITIES = ['low', 'normal', 'high'] as const;
export type NotificationPriority = (typeof NOTIFICATION_PRIORITIES)[number];

/**
 * `queued` also between two attempts. `sent`: the provider has accepted it, which is the end; `delivered` is
 * part of the interface, and never reached: providers’ reports are not taken.
 */
export const NOTIFICATION_STATUSES = [
  'queued',
  'sending',
  'sent',
  'delivered',
  'failed',
  'cancelled',
] as const;
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];
