import type { Caller } from '@gatehouse/tokens/caller';
import type { Owners } from '../events/reading-rights.ts';
import type { Sender } from './notification.ts';

export type SenderAuthority = ReturnType<typeof createSenderAuthority>;

/**
 * Checks whether notifications may still be sent: all of their senders must still be able to send them, with the authority that they had
 * then.
 */
export function createSenderAuthority({ find }: Pick<Owners, 'find'>) {
  return {
    /** The senders of a notification that the caller sends now: the person or the application, and who gave its credential. */
    async sendersOf({
      person,
      clientId,
      givenBy,
    }: Pick<Caller, 'person' | 'clientId' | 'givenBy'>): Promise<Sender[]> {
      const ids = new Set([person?.id ?? clientId, givenBy].filter((id) => id !== undefined));
      return Promise.all(
        [...ids].map(async (id) => {
          // A notification is accepted while identity is away.
          const found = await find(id).catch(() => undefined);
          if (found === undefined) return { id, account: null };
          const { owner, authority } = found.standing;
          return { id, account: { owner, authority } };
        }),
      );
    },

    /** Rejects when identity cannot be asked. */
    async holds(senders: readonly Sender[]): Promise<boolean> {
      const now = await Promise.all(senders.map(({ id }) => find(id)));
      return now.every(({ role, standing }, i) => {
        if (role === null || role === 'user') return false;
        const given = senders[i]?.account;
        if (!given) return true;
        return standing.owner === given.owner && standing.authority <= given.authority;
      });
    },
  };
}
