/** A lane of a queue, as the API returns it (docs/guides/notifications-api.md). */
export type Lane = {
  queue: string;
  lane: string;
  paused: boolean;
  /** Since when its provider fails. */
  failing: { since: string; error: string } | null;
  /** The number of attempts by their outcome. */
  attempts: Record<string, number>;
  /** Those whose jobs took the most slot-time in the last hour or so. */
  owners?: { owner: string; slot_seconds: number }[];
  priorities: {
    priority: string;
    waiting: number;
    in_flight: number;
    oldest_seconds: number;
    dead_letters: number;
  }[];
};
