import { date, type EntityOf, id, number, text } from '@gatehouse/domain/fields';

/** The mark by which an admin lets an application of their own apply configurations in their name. */
export const DEPLOYER = {
  /** The client_id. */
  id: id(),
  /** The `gid` of its tokens. */
  grantId: text(),
  /** The admin, and the epoch on which the mark rests. */
  by: text(),
  epoch: number(),
  createdAt: date(),
};
export type Deployer = EntityOf<typeof DEPLOYER>;

/** Writes are durable when they resolve. */
export type DeployerStore = {
  put(deployer: Deployer): Promise<void>;
  find(clientId: string): Promise<Deployer | undefined>;
  /** The deployers that an admin has marked. */
  markedBy(admin: string): Promise<Deployer[]>;
  /** Makes marks with these grant ids rest on another epoch of their admin. */
  setEpoch(admin: string, grantIds: readonly string[], epoch: number): Promise<void>;
  remove(clientId: string): Promise<void>;
};
