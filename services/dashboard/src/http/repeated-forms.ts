import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { IdempotencyStore } from '@gatehouse/data/idempotency-store';

export type RepeatedForms = {
  /**
   * Acts on a form, unless it was sent before and led to a page: then that page is where to go on to. Only pages to go on
   * to are kept, and no page that says what has to be corrected. Throws `conflict` while the form is being acted on for long.
   */
  once<T>(idempotencyKey: string, act: () => Promise<string | T>): Promise<string | T>;
};

/** How long an attempt may take before another one takes over, as after the end of its process. */
const LEASE_MS = 30_000;
const KEPT_MS = 3_600_000;
/** How often, and after which time, it is asked what became of an attempt that is still running. */
const MAX_QUESTIONS = 20;
const PAUSE_MS = 250;

/**
 * Forms that a second click sends again create one thing. For those whose response has a secret, which the API does not keep for
 * an Idempotency-Key: what is kept here is only where the secret is shown.
 */
export function createRepeatedForms(options: { store: IdempotencyStore; logger: Logger }): RepeatedForms {
  const { store, logger } = options;
  const after = (ms: number) => new Date(Date.now() + ms);

  /** The change counts even if its outcome cannot be stored: the form can then be sent again when the lease has ended. */
  const noted = (write: Promise<void>) =>
    write.catch((error: unknown) => logger.warn({ err: error }, 'the outcome of a form was not stored'));

  async function actAs<T>(id: string, holder: string, act: () => Promise<string | T>): Promise<string | T> {
    const release = () => noted(store.release({ id, holder, now: after(0), forget: true }));
    const outcome = await act().catch(async (error: unknown) => {
      await release();
      throw error;
    });
    if (typeof outcome !== 'string') await release();
    else await noted(store.complete({ id, holder, response: outcome, expiresAt: after(KEPT_MS) }));
    return outcome;
  }

  return {
    async once(id, act) {
      const holder = randomUUID();
      for (let question = 1; question <= MAX_QUESTIONS; question += 1) {
        const times = { now: after(0), leaseUntil: after(LEASE_MS), expiresAt: after(KEPT_MS) };
        // The key is a hash of the whole form, so that no other form has it.
        const claim = await store.claim({ id, fingerprint: '', holder, reservedId: '', ...times });
        if (claim.state === 'done') return claim.response;
        if (claim.state === 'claimed') return actAs(id, holder, act);
        await sleep(PAUSE_MS);
      }
      throw new ServiceError('conflict', 'This form was already submitted and is still being processed.');
    },
  };
}
