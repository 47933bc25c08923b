import type { Acr } from '@gatehouse/verify/sign-in';
import type { Context } from 'koa';

/** Something that people set up on an account page to sign in with, and the acr of such a sign-in. */
export type SetUp = { path: string; acr: Acr; label(): string; hint(): string };

const COOKIE = 'gatehouse_set_up';
const PATH = '/account';
/** As long as an interaction lives, in milliseconds. */
const MAX_AGE = 3600_000;

/** The page of a sign-in that waits until something is set up. */
export const setUpPath = (uid: string) => `/sign-in/${uid}/set-up`;

/** Notes in the browser the sign-in to go on with once something is set up. */
export function noteSignIn(ctx: Context, uid: string): void {
  const { secure } = ctx;
  ctx.cookies.set(COOKIE, uid, { signed: true, sameSite: 'lax', path: PATH, secure, maxAge: MAX_AGE });
}

/** The page to go on with after something has been set up; undefined if no sign-in waits for it. */
export function afterSetUp(ctx: Context): string | undefined {
  const uid = ctx.cookies.get(COOKIE, { signed: true });
  if (uid === undefined) return undefined;
  ctx.cookies.set(COOKIE, null, { signed: true, path: PATH });
  return setUpPath(uid);
}
