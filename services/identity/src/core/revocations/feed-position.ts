import type { StoredRevocation } from './revocation-store.ts';

/** How far a listener has got: it has seen everything up to `known`, and since then the pages up to `after`. */
export type FeedPosition = {
  known: Date | undefined;
  after: Pick<StoredRevocation, 'kind' | 'id' | 'updatedAt'> | undefined;
};

/** As text, which listeners pass back as it is. */
export function writePosition({ known, after }: FeedPosition): string {
  const time = (known ?? new Date(0)).toISOString();
  return after === undefined ? time : [time, after.updatedAt.toISOString(), after.kind, after.id].join(' ');
}

/** One that cannot be read means the beginning. */
export function readPosition(text = ''): FeedPosition {
  const [time = '', last, kind = '', ...id] = text.split(' ');
  const [known, updatedAt] = [new Date(time), new Date(last ?? 0)];
  if ([known, updatedAt].some((date) => Number.isNaN(date.getTime()))) {
    return { known: undefined, after: undefined };
  }
  return { known, after: last === undefined ? undefined : { updatedAt, kind, id: id.join(' ') } };
}
