/** For how many days a browser is not asked for a second factor. */
export const REMEMBERED_DAYS = 30;

/** A browser in which an account is signed in to without its second factor. */
export type RememberedBrowser = {
  id: string;
  name: string;
  address: string;
  createdAt: Date;
  lastUsedAt: Date;
};

/** The second factors of an account (see second-factor.ts). */
export type Factors = readonly { credentialId: string }[];

export type OfAccount = { id: string; sign_in_epoch: number };

/** Browsers by the id in their cookie (pages/browser-cookie.ts), of which the hash is stored. Writes are durable when they resolve. */
export type RememberedBrowsers = {
  collection: string;
  /**
   * Whether it is remembered for the account and these second factors; notes the use. A new password ends that, and so does
   * another app, also for a browser that is remembered at the moment in which the app is replaced.
   */
  isRemembered(browser: string, account: OfAccount, factors: Factors): Promise<boolean>;
  /** Returns the id under which it can be forgotten. */
  remember(
    browser: string,
    account: OfAccount,
    by: { factors: Factors; name: string; address: string },
  ): Promise<string>;
  /** Those that are remembered, the last used one first. */
  list(account: OfAccount): Promise<RememberedBrowser[]>;
  forget(userId: string, id: string): Promise<void>;
  /** Forgets all, or those from before the epoch. */
  forgetAll(userId: string, belowEpoch?: number): Promise<void>;
};
