import type { Role } from '@gatehouse/tokens/scopes';
import { errors } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import type { Application } from '../applications/application.ts';
import { lesserRole, withinCeiling } from './person.ts';

/** What an application may do just now, which its owner bounds. */
export type Standing = {
  /** What it may ask for, within the owner's ceiling. */
  scopes: readonly string[];
  /** Undefined where no owner bounds it: the operator's own applications, and trusted ones. */
  owner: Account | undefined;
};

/** The role that a person has in an application: never more than that of its owner. */
export function roleIn({ owner }: Pick<Standing, 'owner'>, person: Account): Role {
  return owner === undefined ? person.role : lesserRole(person.role, owner.role);
}

/**
 * An application never exceeds its owner (design: credentials): of its scopes count those that the owner's role
 * allows now. Throws unauthorized_client (RFC 6749 §5.2) when the owner is inactive or gone.
 */
export async function standingOf(
  application: Application,
  findAccount: (id: string) => Promise<Account | undefined>,
): Promise<Standing> {
  if (application.owner === null || application.trusted)
    return { scopes: application.scopes, owner: undefined };
  const owner = await findAccount(application.owner);
  if (owner === undefined || owner.status !== 'active') {
    throw new errors.UnauthorizedClient('the owner of this application has no active account');
  }
  return { scopes: withinCeiling(application.scopes, owner), owner };
}
