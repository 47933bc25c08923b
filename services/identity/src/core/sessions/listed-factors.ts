import type { Content } from '@gatehouse/web/html';
import type { Text } from '../../texts/texts.ts';
import type { Origin } from '../audit/audit.ts';
import type { AccountPage } from './account-router.ts';

/** A passkey or a second factor of an account, as its owner and admins see it: without its secret. */
export type ListedFactor = {
  id: string;
  type: 'passkey' | 'authenticator_app';
  /** The name that its owner has given it. */
  name: string | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  /** How many recovery codes are left, where there are some with it. */
  recoveryCodesLeft?: number;
};

/** The factors of one feature. */
export type FactorList = {
  list(userId: string): Promise<ListedFactor[]>;
  /** Removes one, which is audited and mailed to its owner. Returns whether there was one. */
  remove(userId: string, id: string, by: { origin: Origin; actor: string }): Promise<boolean>;
};

/** The part that a feature adds to the page on how an account is signed in to. */
export type SecurityPart = { title: Text; content(page: AccountPage): Promise<Content> | Content };
