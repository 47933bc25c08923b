/**
 * Tells something to every replica that listens at this moment: at most once, nothing is kept. Whoever must not
 * miss a message asks for the state of things after each (re)connection, and when a heartbeat is missing.
 */
export type Broadcast = {
  /**
   * Sends a JSON value. Resolves when it is on its way, the publisher's own listeners included; rejects when it
   * could not be sent, so that the sender can try again later. A message may then arrive twice.
   */
  publish(subject: string, message: unknown): Promise<void>;
  /**
   * Listens to one subject, without wildcards. The listener gets a copy of its own, after the publisher's call
   * has returned, in the order of sending; what it throws hurts nobody else. Returns how to stop listening. Can be
   * called before start(), and then misses nothing of what is sent after the first connection.
   */
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  /** Called after each connection, the first included, when the subscriptions are in force. */
  onReconnect(listener: () => void): () => void;
  /** Resolves at once; connects in the background, for as long as it takes. */
  start(): Promise<void>;
  /** Delivers what has already arrived, then ends. A stopped broadcast is not started again. */
  stop(): Promise<void>;
};
