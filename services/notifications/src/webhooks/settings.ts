import type { KeyList } from '@gatehouse/core/sealing';

export type WebhookSettings = {
  /** Seal the secrets: the first is used, all are accepted. */
  masterKeys: KeyList;
  /** The private networks in which there may be endpoints (addresses and CIDR ranges). */
  networks: readonly string[];
  /** How many deliveries a process makes at a time; with 0 it makes none. */
  slots: number;
  /** How many deliveries of an owner may be pending; DEFAULT_BACKLOG unless given. */
  backlog?: number;
  /** For each request. */
  timeoutMs?: number;
  /** Shortens the pauses after failures, in tests. */
  scale?: number;
};
