import { done, ok, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Accounts } from '../../../core/accounts/account.ts';
import { originOf } from '../../../core/audit/audit.ts';
import type { Api } from '../../../http/api.ts';
import { personApi, userParameter } from '../../../http/person-api.ts';
import type { Pictures } from './pictures.ts';

const pictureShape = shape(
  'Picture',
  Type.Object({
    url: Type.Union([Type.String({ format: 'uri' }), Type.Null()], {
      description: 'Null if there is no picture.',
    }),
    uploaded: Type.Boolean({
      description: 'False if it is at another site, such as that of an identity provider.',
    }),
  }),
  { url: 'https://id.example.com/account/pictures/tQ2dLm0bYw7vK1xZs9hJcA', uploaded: true },
);

/**
 * /api/v1/pictures: the picture of an account. People see and remove their own; admins those of others, named by `user_id`.
 * Only the person uploads one, on the page of the account. Errors are thrown.
 */
export function pictureApi(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  pictures: Pick<Pictures, 'pathOf' | 'remove'>;
}): Api {
  const api = personApi('/api/v1/pictures', options.authenticate, 'Pictures');
  const user = userParameter(options.accounts, {
    description: 'The user whose picture it is; by default the caller. Only admins may name another user.',
    forbidden: 'Only an admin may see and remove the pictures of others here.',
  });

  api.get('read', '/', {
    summary: 'Show the picture of an account',
    query: user.query,
    responses: ok('The URL of the picture.', pictureShape),
    kinds: ['not_found'],
    async handle({ person, query }) {
      const account = await user.accountOf(person, query);
      return { url: account.picture, uploaded: options.pictures.pathOf(account) !== undefined };
    },
  });

  api.delete('remove', '/', {
    summary: 'Remove the picture of an account',
    description:
      'An uploaded picture is deleted, and its URL is then not found. Caches may keep it for longer.',
    query: user.query,
    responses: done('The account has no picture.'),
    kinds: ['not_found'],
    async handle({ ctx, caller, person, query }) {
      const account = await user.accountOf(person, query);
      await options.pictures.remove(account, { origin: originOf(ctx), actor: caller.subject });
    },
  });
  return api;
}
