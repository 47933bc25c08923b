export type Circuit = {
  /**
   * Undefined when the provider may be used: the circuit is closed, or the caller's attempt is the probe. Otherwise the
   * time to wait, in milliseconds.
   */
  admit(): number | undefined;
  /** Whether nobody is admitted now. */
  isOpen(): boolean;
  /** The provider works, whatever it thought of the message. */
  succeeded(): void;
  /** The provider failed at this message. Returns whether the circuit is open now. */
  failed(messageId: string, error: string): boolean;
  /** Opens for a time that the provider has asked for. */
  open(forMs: number, error: string): void;
  /** The admitted attempt ended without telling anything about the provider. */
  undecided(): void;
  /** Since when the provider fails, and how; undefined while the circuit is closed. */
  failure(): { since: Date; error: string } | undefined;
};

/** Failures in a row before the circuit opens, and the number of messages that they are spread over at least. */
const THRESHOLD = { failures: 5, messages: 3 };
const PROBE_MS = { first: 1000, max: 60_000 };

/**
 * A circuit breaker for a provider: open after failures in a row, so that messages wait instead of failing one after the
 * other. A single message at which the provider fails does not open it. While it is open, one probe at a time is admitted,
 * at growing intervals.
 *
 * @param options.now the time in milliseconds
 */
export function createCircuit(
  options: { now?: () => number; threshold?: typeof THRESHOLD; probeMs?: typeof PROBE_MS } = {},
): Circuit {
  const { now = Date.now, threshold = THRESHOLD, probeMs = PROBE_MS } = options;
  let failures = 0;
  const messages = new Set<string>();
  let opened:
    | { since: number; error: string; probeAt: number; pauseMs: number; isProbing: boolean }
    | undefined;

  function close(): void {
    failures = 0;
    messages.clear();
    opened = undefined;
  }

  function open(pauseMs: number, error: string): void {
    const since = opened?.since ?? now();
    opened = { since, error, probeAt: now() + pauseMs, pauseMs, isProbing: false };
  }

  return {
    admit() {
      if (opened === undefined) return undefined;
      if (opened.isProbing || now() < opened.probeAt) {
        return Math.max(opened.probeAt - now(), opened.isProbing ? opened.pauseMs : 1);
      }
      opened.isProbing = true;
      return undefined;
    },
    isOpen: () => opened !== undefined && (opened.isProbing || now() < opened.probeAt),
    succeeded: close,
    failed(messageId, error) {
      if (opened !== undefined) {
        // Another attempt, which began before it opened, does not count.
        if (opened.isProbing) open(Math.min(opened.pauseMs * 2, probeMs.max), error);
        return true;
      }
      failures += 1;
      if (messages.size < threshold.messages) messages.add(messageId);
      if (failures >= threshold.failures && messages.size >= threshold.messages) open(probeMs.first, error);
      return opened !== undefined;
    },
    open,
    undecided() {
      if (opened?.isProbing) opened = { ...opened, isProbing: false, probeAt: now() };
    },
    failure: () => opened && { since: new Date(opened.since), error: opened.error },
  };
}
