/** The intervals by which values are asked for and stored. */
export const INTERVALS = ['minute', 'hour', 'day'] as const;
export type Interval = (typeof INTERVALS)[number];

export const INTERVAL_MS: Readonly<Record<Interval, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** How many days the values of each interval are kept. */
export type RetentionDays = Readonly<Record<Interval, number>>;

/** The beginning of the interval, in UTC, that contains a time; both in milliseconds since the epoch. */
export function startOf(interval: Interval, ms: number): number {
  return ms - (ms % INTERVAL_MS[interval]);
}

/** In place of a service: the orders, which are counted from their events. */
export const ORDERS_SOURCE = 'order';
/** In place of a client: the values of all clients together. */
export const ALL_CLIENTS = '*';
/** In place of a client: requests without one. */
export const NO_CLIENT = '';

/** Values of one set of labels, which can be added up. Those that are absent are 0. */
export type Entry = {
  labels: Readonly<Record<string, string>>;
  /** By position, such as the class of a status. */
  counts: Readonly<Record<number, number>>;
  /** By the index of the bucket of latency. */
  latency?: Readonly<Record<number, number>>;
  /** A whole number of ten-thousandths of a currency's unit, as text: sums may exceed 2^53. */
  amount?: string;
};

/** A histogram of latencies, from pairs of index and count. */
export function histogramOf(pairs: readonly number[]): Record<number, number> {
  const histogram: Record<number, number> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) histogram[pairs[i] as number] = pairs[i + 1] as number;
  return histogram;
}

/** The counts of one interval, source and client. */
export type Bucket = { source: string; client: string; start: Date; entries: readonly Entry[] };

/** A batch of usage. Those of one sender are added in the order of their ids. */
export type CountedUsage = {
  id: string;
  service: string;
  sender: string;
  until: Date | null;
  isFinal: boolean;
  /** By minute and client. */
  series: readonly (Entry & {
    start: Date;
    client: string;
    /** Whether it is left out of the counts of all clients, since there would be too many sets of labels. */
    isOnlyOfClient?: true;
  })[];
};

/** The latest state of an order as it is counted. */
export type CountedOrder = {
  id: string;
  /** Older versions than the one known are dropped. */
  version: number;
  /** When it was placed. */
  at: Date;
  status: string;
  currency: string;
  /** As in an Entry. */
  amount: string;
};

/** The store as queries need it. */
export type BucketReader = {
  /** The buckets of these sources in a time range, for the clients listed, or for each of them. */
  buckets(query: {
    interval: Interval;
    sources: readonly string[];
    clients: readonly string[] | 'each';
    from: Date;
    to: Date;
    /** Whether the latencies are needed. */
    latency: boolean;
  }): AsyncIterable<Bucket>;
  /**
   * The time up to which usage is complete, or up to which the orders that had arrived are counted. Undefined while
   * nothing has arrived.
   */
  asOf(kind: 'usage' | 'orders'): Promise<Date | undefined>;
};

/** The store as ingestion needs it. */
export type AnalyticsWriter = {
  /** Counts a batch once, however often and by however many processes this is called. Durable when it resolves. */
  addUsage(usage: CountedUsage): Promise<void>;
  /** Durable when it resolves. A version that is not newer than the one known changes nothing. */
  addOrder(order: CountedOrder): Promise<void>;
  /** Counts the orders that have changed, so that readers see them. Resolves to whether there were any. */
  countOrders(signal?: AbortSignal): Promise<boolean>;
};
