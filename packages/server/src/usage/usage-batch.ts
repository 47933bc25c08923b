/** The counters beside those of requests. */
export const USAGE_COUNTERS = ['tokens_issued', 'logins', 'rate_limited', 'agent_requests'] as const;
export type UsageCounter = (typeof USAGE_COUNTERS)[number];

/** Stands for the clients, and for the routes, beyond the number that is counted one by one. */
export const OTHER = 'other';

/** The requests of one minute, route and client. */
export type RequestUsage = {
  /** The number of the minute since the epoch. */
  minute: number;
  /** As in CompletedRequest. */
  route: string;
  /** Null where the caller was not authenticated. */
  client: string | null;
  /** The number of responses by the first digit of their status: 2xx, 3xx, 4xx, 5xx. */
  statuses: number[];
  /** Buckets of latency that are not empty: index, count, index, count and so on (see latencyBucket). */
  latency: number[];
};

/** How often something happened in one minute by way of one client. */
export type CounterUsage = {
  minute: number;
  counter: UsageCounter;
  client: string | null;
  /** How somebody signed in; of logins. */
  method?: string;
  /** The application or admin that acts for the person; of agent_requests. A request of a chain counts for each. */
  actor?: string;
  count: number;
};

/** The requests of one minute with an API key, or with tokens that were issued for one. */
export type KeyUsage = {
  minute: number;
  client: string;
  /** The id of the API key. */
  key: string;
  count: number;
};

/** A request in the log of its application. */
export type LoggedRequest = {
  /** Made when the request ended. */
  id: string;
  client: string;
  /** Whether it had a valid credential of the client, and did not only name it. */
  authenticated: boolean;
  method: string;
  /** Without the query, and with the names of parameters whose values are no ids of ours. */
  path: string;
  status: number;
  ms: number;
  request_id: string;
  /** The last four characters of the credential. */
  credential: string | null;
  /** The code and message of the error, and the missing scopes, any of which is enough; null if there was no error. */
  code: string | null;
  message: string | null;
  scope: string | null;
  /** The applications that acted for the person, or the admin, the latest first; absent where the person acted. */
  actors?: string[];
  /** The job or pod that authenticated as the client, by the token of its platform; absent for another credential. */
  workload?: string;
};

/** The counts of one process of a service in a few seconds. It may be sent more than once, and counts once, by its id. */
export type UsageBatch = {
  id: string;
  service: string;
  /** The id of the process that counted. */
  sender: string;
  /** Everything that ended before this time has been sent (ISO 8601); null if more follows at once. */
  until: string | null;
  /** Whether the sender counts no more. */
  final: boolean;
  /** Requests that were counted, but had to be dropped, since the last batch. */
  dropped: number;
  requests: RequestUsage[];
  counters: CounterUsage[];
  keys: KeyUsage[];
  /** Some of the requests one by one. */
  log: LoggedRequest[];
};

/** The oldest minutes that are sent and accepted, in minutes: an outage of the receiver that is longer loses counts. */
export const MAX_USAGE_AGE_MINUTES = 360;

/** The minute of a time in milliseconds. */
export const minuteOf = (ms: number): number => Math.floor(ms / 60_000);

/** The subject of a service's batches at NATS, and of the events that carry them within one process. */
export const usageSubject = (service: string): string => `analytics.usage.${service}`;
