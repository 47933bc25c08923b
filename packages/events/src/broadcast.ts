/**
 * Sends messages to every replica that is subscribed at the moment: at most once, and nothing is stored. A subscriber
 * that must not miss a message fetches the current state after each (re)connection and when a heartbeat is missing.
 */
export type Broadcast = {
  /**
   * Sends a JSON value, also to the publisher's own listeners. Resolves when it is on its way; rejects when it may not
   * have been sent, so that the sender can try again later. A message may then arrive twice.
   */
  publish(subject: string, message: unknown): Promise<void>;
  /**
   * Subscribes to one subject, without wildcards. The listener gets its own copy of each message, after the publisher's
   * call has returned, in the order of sending; its errors do not affect other listeners. Returns a function that
   * unsubscribes. A listener added before start() misses nothing that is sent after the first connection.
   */
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  /** The listener is called after each connection, including the first, when the subscriptions are in force. */
  onReconnect(listener: () => void): () => void;
  /** The listener is called whenever a connection has been lost, or a first one cannot be made. */
  onDisconnect(listener: () => void): () => void;
  /** Resolves at once; connects in the background, however long that takes. */
  start(): Promise<void>;
  /** Delivers what has already arrived, then ends. A stopped broadcast cannot be started again. */
  stop(): Promise<void>;
};
