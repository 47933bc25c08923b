export const WEBHOOK_STATUSES = ['active', 'paused'] as const;

/** `skipped`: the webhook was paused or removed, the event was erased, or its owner may not read it any more. */
export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed', 'skipped'] as const;
