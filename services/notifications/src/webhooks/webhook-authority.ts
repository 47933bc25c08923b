import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '@gatehouse/core/errors';
import { type Caller, isFirstParty, unauthenticated } from '@gatehouse/tokens/caller';
import { credentialOf, type Owners, type Standing } from '../events/reading-rights.ts';
import type { DeliveryStore } from './delivery-store.ts';
import {
  actionOn,
  type Basis,
  type Held,
  type PauseReason,
  type Webhook,
  type WebhookStore,
} from './webhook.ts';

/** The actor in the audit log of what Gatehouse does by itself. */
const GATEHOUSE = { user_id: null, client_id: 'webhooks', address: '', user_agent: null, request_id: '' };

export type WebhookAuthority = ReturnType<typeof createWebhookAuthority>;

/** Why a webhook holds no longer, if so: its application has another owner, the owner's account was recovered, or its credential has ended. */
function endOf({ basis: given }: Held, now: Standing): 'transferred' | 'recovery' | 'credential' | undefined {
  if (given.owner !== now.owner) return 'transferred';
  if (now.recovery > given.recovery || now.authority > given.authority) return 'recovery';
  return given.keyId === null || credentialOf(given, now) !== undefined ? undefined : 'credential';
}

/** Checks whether webhooks hold. A webhook holds while the person who made or resumed it could do so again, with the authority of that time. */
export function createWebhookAuthority(options: {
  webhooks: Pick<WebhookStore, 'findById' | 'update' | 'remove'>;
  deliveries: Pick<DeliveryStore, 'removeAllOf'>;
  owners: Owners;
  /** Reports what was done to a webhook to identity, which tells its owner. */
  report: (id: string) => void;
}) {
  const { webhooks, deliveries, owners } = options;

  async function pause(webhook: Webhook, reason: PauseReason): Promise<void> {
    if (webhook.status === 'paused') return;
    await webhooks.update(
      webhook.id,
      (current) =>
        current.status === 'paused' || !isDeepStrictEqual(current.basis, webhook.basis)
          ? undefined
          : { ...current, status: 'paused', pauseReason: reason },
      undefined,
      (_, after) => {
        const { details, ...action } = actionOn(after, 'webhook.paused', GATEHOUSE);
        return { ...action, details: { ...details, reason } };
      },
    );
    options.report(webhook.id);
  }

  return {
    pause,
    /** The basis of a webhook of this reader that the caller makes, changes or resumes now. */
    async basisOf(reader: string, caller: Caller): Promise<Basis> {
      const { standing } = await owners.findNow(reader);
      const { owner, recovery, authority } = standing;
      const id = caller.credentialId ?? caller.keyId ?? null;
      if (isFirstParty(caller)) return { owner, recovery, authority, keyId: null };
      // A webhook would outlive the consent.
      if (caller.subject !== caller.clientId) {
        const message =
          'An application makes webhooks with its own credentials, and not by the consent of a person.';
        throw new ServiceError('forbidden', message);
      }
      const within = { scopes: [...caller.scopes] };
      if (id === null) return { owner, recovery, authority, keyId: null, ...within };
      const credential = standing.credentials.find(({ ids }) => ids.includes(id));
      if (credential === undefined) {
        throw unauthenticated('The credential of the request has ended.', 'invalid_token');
      }
      const giver = { id: credential.giver, epoch: credential.epoch };
      return { owner, recovery, authority, keyId: id, giver, ...within };
    },
    /**
     * Whether the webhook holds, by what is stored and what identity says now. One that does not is paused, or removed with its deliveries
     * if its application has another owner.
     */
    async holds(held: Held): Promise<boolean> {
      if (endOf(held, (await owners.find(held.reader)).standing) === undefined) return true;
      const webhook = await webhooks.findById(held.id);
      if (webhook === undefined) return false;
      const reason = endOf(webhook, (await owners.findNow(webhook.reader)).standing);
      if (reason === undefined) return true;
      if (reason !== 'transferred') await pause(webhook, reason);
      else {
        await webhooks.remove(webhook.id).catch((error: unknown) => {
          // Another process has removed it.
          if (!(error instanceof ServiceError && error.kind === 'not_found')) throw error;
        });
        await deliveries.removeAllOf(webhook.id);
      }
      return false;
    },
  };
}
