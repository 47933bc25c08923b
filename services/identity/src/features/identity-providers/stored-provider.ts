/** A provider that an admin has added at the API. */
export type StoredProvider = {
  id: string;
  /** The members of ProviderSettings, without its secrets. */
  settings: Readonly<Record<string, unknown>>;
  sealedSecrets: string;
  createdAt: Date;
  updatedAt: Date;
};

/** The provider among what a token rests on. The epoch of its revocation is the time of the change that ends the token. */
export function providerSupport({ id, updatedAt }: Pick<StoredProvider, 'id' | 'updatedAt'>) {
  return { kind: 'grant' as const, id: `provider_${id}`, epoch: updatedAt.getTime() };
}

/** The store of these providers. Writes are durable when they resolve. */
export type ProviderStore = {
  /** All of them, the oldest first. */
  list(): Promise<StoredProvider[]>;
  /** Returns false if there is one with its id. */
  insert(provider: StoredProvider): Promise<boolean>;
  /** Replaces the one that was read; returns false if it was changed or removed since. */
  replace(read: StoredProvider, changed: StoredProvider): Promise<boolean>;
  /** The same for its removal. */
  remove(read: StoredProvider): Promise<boolean>;
};
