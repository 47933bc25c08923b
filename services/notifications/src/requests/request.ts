import { boolean, type EntityOf, id, type ListFieldOf, number, text, value } from '@gatehouse/domain/fields';
import type { Condition, ListSource } from '@gatehouse/domain/list-query';

/** A request of an application, as its log shows it. */
export const REQUEST = {
  /** In the order in which requests ended. */
  id: id(),
  client: text().list(),
  /** Whether it had a valid credential of the client, and did not only name it. */
  authenticated: boolean().default(true),
  service: text(),
  method: text(),
  path: text().list(),
  status: number().list(),
  ms: number().list(),
  requestId: text().list(),
  credential: text().default(null),
  /** Empty if there was no error. */
  code: text().list(),
  message: text().default(null),
  scope: text().default(null),
  /** The applications that acted for the person, or the admin, the latest first. */
  actors: value<readonly string[]>().default([]),
  /** The job or pod that authenticated as the client, by the token of its platform. */
  workload: text().default(null),
  version: number().default(1),
};
export type LoggedRequest = EntityOf<typeof REQUEST>;
export type RequestField = ListFieldOf<typeof REQUEST>;

export type RequestStore = {
  /** Stores those that are not stored yet. */
  add(requests: readonly LoggedRequest[]): Promise<void>;
  /** The requests of these applications, or of all. */
  of(clients: () => Promise<readonly string[] | 'all'>): ListSource<RequestField, LoggedRequest>;
  findById(id: string): Promise<LoggedRequest | undefined>;
};

/** The condition on a field that finds few requests by itself. */
export const isOfRequestId = ({ field, operator }: Condition<RequestField>): boolean =>
  field === 'requestId' && operator === 'eq';

/** The retention of requests: the days, the number of each application, and the share of those that succeeded. */
export type RequestLogSettings = { days: number; rows: number; successPercent: number };

export const DEFAULT_REQUEST_LOG: RequestLogSettings = { days: 7, rows: 10_000, successPercent: 100 };
