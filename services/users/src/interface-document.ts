import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import type { OpenApiOptions } from '@gatehouse/openapi/operation';
import { PATH_GROUPS, type PathGroup } from './path-groups.ts';
import { TakenError } from './user.ts';

const DESCRIPTION = `
Accounts of people, in all profiles of the interface at once. Where several share a path, an application can pin
one; else the request decides, if it fits one of them only; else the default of the deployment answers.
Every list can be walked by cursor.

The version of this document is the version of the interface.
`.trim();

/** The description of the interface, but for where the service is reached. */
export const INTERFACE_DOCUMENT: Omit<OpenApiOptions, 'origin'> = {
  title: 'Gatehouse users',
  version: '2.1.0',
  description: DESCRIPTION,
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  path: '/openapi/users.json',
  tags: [
    ...PATH_GROUPS.map(tagOf),
    { name: 'guides', description: 'What is said of the interface in whole sentences.' },
  ],
  errorExamples: {
    invalid: invalidFields([{ field: 'email', message: 'must be a valid email address' }]),
    not_found: new ServiceError('not_found', 'There is no such user.'),
    conflict: new TakenError('username'),
    precondition_failed: new ServiceError('precondition_failed', 'This user has been changed meanwhile.'),
  },
};

/** A path, and who speaks there. */
function tagOf({ prefix, profiles }: PathGroup) {
  const lines = profiles.map(({ name, about }) => `- **${name}**: ${about}`);
  return { name: prefix, description: ['Profiles:', '', ...lines.sort()].join('\n') };
}
