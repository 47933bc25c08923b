import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { type Static, Type } from 'typebox';
import { createManagedApi } from './api.ts';
import { requireFirstParty } from './first-party.ts';

type Person = NonNullable<Caller['person']>;

/**
 * An API for people, who are in its requests as `person`. `subject` begins the messages for other callers, such as "Sessions".
 * `require` throws `forbidden` for whoever may not use any of it.
 */
export function personApi(
  prefix: string,
  authenticate: (ctx: Context) => Promise<Caller>,
  subject: string,
  require: (caller: Caller, subject: string) => Person = requireFirstParty,
) {
  return createManagedApi(prefix, async (ctx) => {
    const caller = await authenticate(ctx);
    return { caller, person: require(caller, subject) };
  });
}

/**
 * The parameter by which admins name another user, where people see and end their own. `description` is that of the parameter,
 * and `forbidden` the message for people who are no admins.
 */
export function userParameter<A>(
  accounts: { find(id: string): Promise<A | undefined> },
  { description, forbidden }: { description: string; forbidden: string },
) {
  const query = Type.Object({ user_id: Type.Optional(Type.String({ description })) });
  return {
    query,
    /** The account that a request is about. Throws `forbidden` and `not_found`. */
    async accountOf(person: Person, { user_id: id = person.id }: Static<typeof query>): Promise<A> {
      if (id !== person.id && person.role !== 'admin') throw new ServiceError('forbidden', forbidden);
      const account = await accounts.find(id);
      if (account === undefined) throw new ServiceError('not_found', 'There is no such user.');
      return account;
    },
  };
}
