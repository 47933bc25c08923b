import type { Given } from '../authority/given.ts';
import type { Application, LastUse } from './application.ts';
import type { Manager } from './ownership.ts';

/** Keys with which applications call the API without requesting tokens. Writes are durable when they resolve. */
export type ApplicationKeys = {
  /** The valid keys of an application that the manager may see. */
  list(
    manager: Manager,
    clientId: string,
  ): Promise<
    {
      id: string;
      name: string;
      lastFour: string | null;
      createdAt: Date;
      lastUse: LastUse | null;
      given?: Given | undefined;
    }[]
  >;
  hasAny(clientId: string): Promise<boolean>;
  /** The valid keys of an application: the ids of each and of those that it replaced, and who gave it. */
  live(clientId: string): Promise<{ ids: string[]; given: Given | undefined }[]>;
  exists(clientId: string, id: string): Promise<boolean>;
  revoke(manager: Manager, clientId: string, id: string): Promise<void>;
  /** Removes the keys of an application that has been deleted, or has another owner. */
  removeAll(clientId: string): Promise<void>;
  /** Revokes the keys of an application that their givers could no longer give. */
  removeEnded(application: Application): Promise<void>;
  /** Changes who gave the application's keys with these ids. */
  changeGivers(
    clientId: string,
    ids: ReadonlySet<string>,
    change: (given: Given | undefined) => Given,
  ): Promise<void>;
  /** Creates the key that comes with an application of the deployment, unless it exists. */
  createFirst(application: {
    clientId: string;
    owner: string | null;
    apiKey?: { key: string; scopes: readonly string[] };
  }): Promise<void>;
  /** The current permissions of the key with this hash; undefined when it is not valid. `address` is where it is used. */
  resolve(hash: string, address?: string): Promise<ResolvedApiKey | undefined>;
};

/** The data of a key with which a service is called. */
export type ResolvedApiKey = {
  id: string;
  client_id: string;
  scopes: string[];
  /** Of a key for a resource of others, its identifier: no service of ours accepts it. */
  resource?: string;
  /** Whether it acts in its own right, under nobody's role. */
  trusted: boolean;
  owner: string | null;
  role: 'user' | 'editor' | 'admin' | null;
  /** The ID of the person who made it, if it was not the owner. */
  given_by?: string;
  profiles?: Readonly<Record<string, string>>;
  epoch: { client: number; subject?: number };
  expires_at: string | null;
};
