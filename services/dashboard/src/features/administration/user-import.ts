import type { FieldProblem } from '@gatehouse/core/errors';
import { html } from '@gatehouse/web/html';
import type { Imported } from '../../resources/resource.ts';
import type { User } from './user-page.ts';
import { ROLES } from './user-role.ts';

/** Accounts from a CSV file. Each has a password that nobody knows. */
export const userImport: Imported<User> = {
  role: 'admin',
  fields: [
    { name: 'username', label: 'Username', required: true, maxlength: 64 },
    { name: 'email', label: 'Email', subject: 'The email address', required: true, maxlength: 254 },
    { name: 'role', label: 'Role', options: ROLES, initial: 'user' },
  ],
  required: ['username', 'email'],
  unique: ['username', 'email'],
  list: '/kb/api/v1/users',
  about: html`Nobody knows the passwords of the new accounts, and their email addresses are not confirmed, so that “Forgotten your password?” sends no mail. To let somebody in, open the page of the user and create a set-up link. To have people create their accounts themselves, <a href="/dashboard/invitations">invite them</a> instead.`,
  problems({ username, email }) {
    const problems: FieldProblem[] = [];
    if (!/^[\p{L}\p{M}\p{N}._+-]{3,}$/u.test(String(username))) {
      const message = 'must have 3 to 64 letters, digits, dots, underscores, plus signs or hyphens';
      problems.push({ field: 'username', message });
    }
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(String(email))) {
      problems.push({ field: 'email', message: 'must be a valid email address' });
    }
    return problems;
  },
  // This profile takes the role, too.
  create: (api, account, password) => api.send('POST', '/kb/api/v1/users', { ...account, password }),
};
