import { createHmac, type KeyObject } from 'node:crypto';

/**
 * The symmetric signature of a message; `timestamp` is in seconds
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme).
 */
export function signWebhook(
  key: KeyObject,
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
