import type { Collection } from 'mongoose';

/** A document of oidc-provider's, such as a code, a refresh token, a grant or a session. */
export type OidcDocument = {
  _id: string;
  /** The payload as JSON: its keys include URLs and client ids, which are no field names. */
  payload: string;
  /** In a session: the authorization of each client as JSON, by the client's id (see clientField). */
  authorizations?: Readonly<Record<string, string>> | undefined;
  /** The hash of a session's id, which changes; its _id is the uid, which does not. */
  id_hash?: string | undefined;
  grant_id?: string | undefined;
  /** In a grant: the uid of the session in which it was made. */
  uid?: string | undefined;
  account_id?: string | undefined;
  client_id?: string | undefined;
  /** In a grant: whether it outlives the sign-out that ends its session. */
  offline?: boolean | undefined;
  /** The payload of the session, in a grant that outlived it. */
  session?: string | undefined;
  /** In a grant: the destination of its latest code or token. */
  redirect_uri?: string | undefined;
  /** The account's sign_in_epoch when this was created; it has ended once the account's is higher. */
  epoch?: number | undefined;
  /** Set on a session or grant that has ended: a tombstone, which keeps requests in flight from storing it again. */
  ended?: boolean;
  consumed_at?: Date | null;
  /** In a device code: what the person types. */
  user_code?: string | undefined;
  /** In a device code: when the device asked last, and how many seconds it has to wait before it asks again. */
  polled_at?: Date;
  poll_interval?: number;
  expires_at: Date | null;
};

/** The collection of one kind. */
export type Documents = Collection<OidcDocument>;
