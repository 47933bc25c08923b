/** The versions that a write is conditional on (If-Match, RFC 9110 §13.1.1); unconditional when undefined. */
export type IfVersion = readonly number[] | undefined;
