import { fileURLToPath } from 'node:url';

/** The writes of the protocol (docs/orders.md), each as `collection.method [arguments]`. */
export const CRASH_POINTS = {
  'the order is stored as an intent': /^orders\.insertOne .*"reserving"/,
  'the stock of a product is reserved': /^products\.bulkWrite (?!.*"returned").*"reservations/,
  'the order is placed': /^orders\.updateOne .*commerce\.order\.created/,
  'the reservations are removed': /^products\.updateMany .*"\$pull":\{"reservations"/,
  'the order is settled': /^orders\.updateMany .*"settling".*"\$unset"/,
  'an order is to be undone': /^orders\.findOneAndUpdate .*"undoing"/,
  'the stock of a product is released': /^products\.updateOne (?!.*"returns").*"\$pull":\{"reservations"/,
  'an order that was undone is deleted': /^orders\.deleteOne /,
  'an order is cancelled': /^orders\.updateOne .*"phase":"restocking"/,
  'the stock of a product is returned': /^products\.bulkWrite .*"returned"/,
  'all stock is returned': /^orders\.updateMany .*"phase":"returned"/,
} as const;

const SCRIPT = fileURLToPath(new URL('fixtures/dying-main.ts', import.meta.url));

/** The script, with its arguments, of a commerce that dies before or after a write for the nth time. */
export function dyingAt(point: keyof typeof CRASH_POINTS, when: 'before' | 'after', nth: number): string[] {
  return [SCRIPT, CRASH_POINTS[point].source, when, String(nth)];
}
