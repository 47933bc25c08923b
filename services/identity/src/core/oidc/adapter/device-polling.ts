import type { Documents } from './oidc-document.ts';

/** How long a device waits before it asks again, in seconds: at first, more each time that it did not, at most. RFC 8628 §3.5. */
const POLL_SECONDS = { first: 5, more: 5, most: 60 };
/** A request may take less time than the one before it, in milliseconds. */
const EARLY_POLL_MS = 1000;

/** Notes that a device has asked for its tokens (RFC 8628 §3.5); returns whether it was too soon. */
export async function notePolling(codes: Documents, _id: string): Promise<boolean> {
  const now = Date.now();
  const wait = { $ifNull: ['$poll_interval', POLL_SECONDS.first] };
  const since = { $subtract: [new Date(now + EARLY_POLL_MS), { $ifNull: ['$polled_at', new Date(0)] }] };
  const isTooSoon = { $lt: [since, { $multiply: [wait, 1000] }] };
  const longer = { $min: [{ $add: [wait, POLL_SECONDS.more] }, POLL_SECONDS.most] };
  const before = await codes.findOneAndUpdate(
    { _id },
    [{ $set: { polled_at: new Date(now), poll_interval: { $cond: [isTooSoon, longer, wait] } } }],
    { returnDocument: 'before' },
  );
  const { polled_at: last, poll_interval: interval = POLL_SECONDS.first } = before ?? {};
  return last !== undefined && now + EARLY_POLL_MS - last.getTime() < interval * 1000;
}
