import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { createSealer, deriveKeys, type KeyList } from '@gatehouse/core/sealing';
import { signWebhook } from '@gatehouse/core/webhook-signature';
import { LRUCache } from 'lru-cache';
import type { Webhook } from './webhook.ts';

/** Between 24 and 64 bytes: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme */
const SECRET_BYTES = 32;
const PREFIX = 'whsec_';
/** Secrets that are kept open. */
const MAX_OPENED = 5000;

type Secrets = Webhook['secrets'];

export type WebhookSecrets = ReturnType<typeof createWebhookSecrets>;

/** The secrets of webhooks, which are stored sealed under the master keys, each for its webhook. */
export function createWebhookSecrets(masterKeys: KeyList) {
  const keys = deriveKeys(masterKeys, 'webhook secrets');
  const sealer = createSealer(keys);
  const inUse = createSealer([keys[0]]);
  const contextOf = (webhookId: string) => `webhook ${webhookId}`;
  const live = (secrets: Secrets) => secrets.filter(({ endsAt }) => endsAt === null || endsAt > new Date());

  /** By webhook and sealed text, as a webhook is read again for each delivery. */
  const opened = new LRUCache<string, KeyObject>({ max: MAX_OPENED });
  function keyOf({ sealed }: Secrets[number], context: string): KeyObject {
    const known = opened.get(context + sealed);
    if (known !== undefined) return known;
    const bytes = Buffer.from(sealer.open(sealed, context).slice(PREFIX.length), 'base64');
    const key = createSecretKey(bytes);
    opened.set(context + sealed, key);
    return key;
  }

  function isCurrent(sealed: string, context: string): boolean {
    try {
      inUse.open(sealed, context);
      return true;
    } catch {
      return false;
    }
  }

  return {
    /** A new secret before the one that was in use, which lives until `endsAt`; any others end. */
    rotated(webhookId: string, secrets: Secrets = [], endsAt: Date | null = null): Secrets {
      const secret = PREFIX + randomBytes(SECRET_BYTES).toString('base64');
      const [current] = secrets;
      const former = current === undefined ? [] : [{ ...current, endsAt }];
      return [{ sealed: sealer.seal(secret, contextOf(webhookId)), endsAt: null }, ...former];
    },
    /** The one in use, as people get it. */
    reveal({ id, secrets: [current] }: Pick<Webhook, 'id' | 'secrets'>): string {
      return sealer.open(current?.sealed ?? '', contextOf(id));
    },
    /** The signatures of a message by all live secrets, separated by spaces; `timestamp` is in seconds. */
    sign(
      { id, secrets }: Pick<Webhook, 'id' | 'secrets'>,
      message: { id: string; timestamp: number; body: string },
    ) {
      return live(secrets)
        .map((secret) => keyOf(secret, contextOf(id)))
        .map((key) => signWebhook(key, message))
        .join(' ');
    },
    /** The secrets under the master key in use; undefined when all are. */
    resealed({ id, secrets }: Pick<Webhook, 'id' | 'secrets'>): Secrets | undefined {
      const context = contextOf(id);
      if (secrets.every(({ sealed }) => isCurrent(sealed, context))) return undefined;
      return secrets.map((secret) => ({
        ...secret,
        sealed: sealer.seal(sealer.open(secret.sealed, context), context),
      }));
    },
  };
}
