/** The intervals by which values are asked for and stored. */
export const INTERVALS = ['minute', 'hour', 'day'] as const;
export type Interval = (typeof INTERVALS)[number];

export const INTERVAL_MS: Readonly<Record<Interval, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** The beginning of the interval, in UTC, that contains a time; both in milliseconds since the epoch. */
export function startOf(interval: Interval, ms: number): number {
  return ms - (ms % INTERVAL_MS[interval]);
}

/** The aggregates that are counted from their events, one fact for each. Other values come from a service, by its name. */
export const TOPICS = ['order'] as const;
export type Topic = (typeof TOPICS)[number];

/** In place of a client: the values of all clients together. */
export const ALL_CLIENTS = '*';
/** In place of a client: requests without one. */
export const NO_CLIENT = '';

/** Values of one set of labels, which can be added up. */
export type Entry = {
  labels: Readonly<Record<string, string>>;
  /** Added up by position. */
  counts: readonly number[];
  /** Buckets of latency that are not empty: index, count, index, count and so on. */
  latency?: readonly number[];
  /** A whole number of ten-thousandths of a currency's unit, as text: sums may exceed 2^53. */
  amount?: string;
};

/** What happened in one interval at one source by way of one client. */
export type Bucket = { source: string; client: string; start: Date; entries: readonly Entry[] };

/** The bucket of an interval, or several of one client each, is computed as a whole: a unit. */
export type Unit = { source: string; start: Date };

/** The latest state of an aggregate as it is counted. */
export type Fact = {
  topic: Topic;
  id: string;
  /** Of the aggregate; older versions than the one known are dropped. */
  version: number;
  /** When it was created. */
  at: Date;
  labels: Readonly<Record<string, string>>;
  amount?: string;
};

/** A batch of usage as it is stored; `requests` and `counters` are of its minutes only. */
export type StoredBatch = {
  id: string;
  service: string;
  sender: string;
  until: Date | null;
  isFinal: boolean;
  series: readonly (Entry & { start: Date; client: string })[];
};

/** Adds up entries of the same labels. */
export function mergeEntries(entries: Iterable<Entry>): Entry[] {
  const merged = new Map<
    string,
    { labels: Entry['labels']; counts: number[]; latency: number[]; amount: bigint }
  >();
  for (const { labels, counts, latency = [], amount = '0' } of entries) {
    const key = JSON.stringify(labels);
    let sum = merged.get(key);
    if (sum === undefined) {
      sum = { labels, counts: [], latency: [], amount: 0n };
      merged.set(key, sum);
    }
    for (const [i, count] of counts.entries()) sum.counts[i] = (sum.counts[i] ?? 0) + count;
    addLatency(sum.latency, latency);
    sum.amount += BigInt(amount);
  }
  return [...merged.values()].map(({ labels, counts, latency, amount }) => ({
    labels,
    counts,
    ...(latency.length === 0 ? {} : { latency: pairsOf(latency) }),
    ...(amount === 0n ? {} : { amount: amount.toString() }),
  }));
}

/** Adds pairs of index and count to a histogram. */
export function addLatency(histogram: number[], pairs: readonly number[]): void {
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const bucket = pairs[i] as number;
    histogram[bucket] = (histogram[bucket] ?? 0) + (pairs[i + 1] as number);
  }
}

function pairsOf(histogram: readonly number[]): number[] {
  const pairs: number[] = [];
  // Without the holes of the array.
  histogram.forEach((count, bucket) => {
    pairs.push(bucket, count);
  });
  return pairs;
}

/** Adds up the entries of each client, and of all together. */
export function bucketsOf(
  unit: Unit,
  rows: Iterable<{ client: string; entries: Iterable<Entry> }>,
): Bucket[] {
  const byClient = new Map<string, Entry[]>();
  for (const { client, entries } of rows) {
    const known = byClient.get(client);
    if (known === undefined) byClient.set(client, [...entries]);
    else known.push(...entries);
  }
  const all = [...byClient.values()].flat();
  return [...byClient, [ALL_CLIENTS, all] as const].map(([client, entries]) => ({
    ...unit,
    client,
    entries: mergeEntries(entries),
  }));
}

/** What adding up needs of a store. */
export type RollupStore = {
  /** What changed since it was last added up into this interval, some of it; `settle` gets it back. */
  pending(interval: Interval): Promise<Pending>;
  /** Forgets what was added up, unless it has changed again. */
  settle(interval: Interval, pending: Pending): Promise<void>;
  /** The revisions of a unit's buckets by client, 0 where there is none. Read before the rows. */
  revisions(interval: Interval, unit: Unit): Promise<ReadonlyMap<string, number>>;
  /** What is added up in a unit. */
  rows(interval: Interval, unit: Unit): Promise<{ client: string; entries: readonly Entry[] }[]>;
  /** Replaces the buckets that are still at these revisions; resolves to whether all were. */
  replace(
    interval: Interval,
    buckets: readonly Bucket[],
    revisions: ReadonlyMap<string, number>,
  ): Promise<boolean>;
  /** Records that the interval now has everything up to these times. */
  complete(interval: Interval, state: RollupState): Promise<void>;
  state(interval: Interval): Promise<RollupState>;
  /** Up to when all live senders have sent what they counted, and it was added up into minutes. */
  sentUntil(now: Date): Promise<Date>;
};

/** `usage` of services: everything that ended before is in it. `facts`: what had arrived then is in it. */
export type RollupState = { usage: Date; facts: Date };

export type Pending = { units: Unit[]; marks: readonly unknown[]; isAll: boolean };

/** What questions need of a store. */
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
  state(interval: Interval): Promise<RollupState>;
  /**
   * The earliest time of which the shorter intervals have something that has not been added up into this one; of facts, within
   * the last day only. Undefined for none, and always for minutes.
   */
  firstMissing(interval: Interval, kind: keyof RollupState): Promise<Date | undefined>;
};

/** What ingestion needs of a store. */
export type AnalyticsWriter = {
  /** Durable when it resolves; the same batch is stored once. */
  addBatch(batch: StoredBatch): Promise<void>;
  /** Durable when it resolves. A version that is not newer than the one known changes nothing. */
  addFact(fact: Fact): Promise<void>;
};
