import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyList } from '@gatehouse/core/sealing';

/** Challenges that nobody stores: each says by itself until when it is valid, and for which browser and page. */
export type Challenges = {
  /** A challenge for this context, in base64url. */
  issue(context: string): string;
  /** Whether it was issued for this context, has not expired, and was not used before; from then on, it is used. */
  use(challenge: string, context: string): Promise<boolean>;
};

const TIME_BYTES = 6;
const RANDOM_BYTES = 16;
const HEAD_BYTES = TIME_BYTES + RANDOM_BYTES;
const TAG_BYTES = 32;

/**
 * Challenges as WebAuthn Level 3 §13.4.3 wants them: made by the server, unpredictable, and accepted once.
 *
 * @param options.seconds how long they are valid
 * @param options.useOnce whether this is the first use of a name until then, over all replicas
 */
export function createChallenges(options: {
  keys: KeyList;
  seconds: number;
  useOnce(name: string, until: Date): Promise<boolean>;
}): Challenges {
  const { keys, seconds, useOnce } = options;
  const tagOf = (key: Buffer, head: Buffer, context: string) =>
    createHmac('sha256', key).update(head).update(context).digest();
  return {
    issue(context) {
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUIntBE(Date.now() + seconds * 1000, 0, TIME_BYTES);
      randomBytes(RANDOM_BYTES).copy(head, TIME_BYTES);
      return Buffer.concat([head, tagOf(keys[0], head, context)]).toString('base64url');
    },
    async use(challenge, context) {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== HEAD_BYTES + TAG_BYTES) return false;
      const [head, tag] = [bytes.subarray(0, HEAD_BYTES), bytes.subarray(HEAD_BYTES)];
      if (!keys.some((key) => timingSafeEqual(tag, tagOf(key, head, context)))) return false;
      const until = head.readUIntBE(0, TIME_BYTES);
      // Its bytes, as different texts can stand for the same.
      return until > Date.now() && useOnce(`passkey ${bytes.toString('base64url')}`, new Date(until));
    },
  };
}
