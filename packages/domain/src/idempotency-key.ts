/** An Idempotency-Key as it is stored in the document that it creates: by hashes, and never the key itself. */
export type IdempotencyKey = {
  /** Identifies the key together with its caller, method and path. */
  id: string;
  /** The hash of the body of the request. */
  fingerprint: string;
  expiresAt: Date;
};

/**
 * The outcome of an earlier request with the same key: it is still running, it had another body, or it has created
 * something, which is given as it was then, whatever has happened to it since.
 */
export type EarlierCreation<T> = { state: 'running' } | { state: 'reused' } | { state: 'done'; created: T };
