import { Argument, type Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import type { Session } from '../session.ts';

const PAGES = {
  dashboard: '/dashboard',
  applications: '/dashboard/applications',
  webhooks: '/dashboard/webhooks',
  account: '/account',
  docs: '/docs',
};

/** The commands for sign-ins and profiles. */
export function addIdentity(program: Command, session: Session): void {
  program
    .command('login')
    .description('Sign in on a page of the deployment, with any browser.')
    .action(async () => {
      const { deployment, output } = session();
      const { urls, username } = await deployment.login((text, page) => output.line(page, text));
      output.line({ url: urls[0], username }, `You are signed in to ${urls[0]} as ${username}.`);
    });

  program
    .command('whoami')
    .description('Show the account that is signed in, with its roles and scopes.')
    .action(async () => {
      const { deployment, output } = session();
      const api = await deployment.api();
      const { body } = await api.request('GET', '/api/v1/auth/permissions');
      const who = { url: api.url, ...(await readPerson(api, body.user_id)), ...body };
      output.result(who, output.facts(who));
    });

  program
    .command('logout')
    .description('Sign out, and revoke the tokens of the profile.')
    .action(async () => {
      const { deployment, output } = session();
      const { urls, username } = await deployment.logout();
      output.result({ url: urls[0], username, signed_out: true }, `You are signed out of ${urls[0]}.`);
    });

  program
    .command('profiles')
    .description('List the profiles. Each has its own sign-in (--profile).')
    .action(async () => {
      const { profiles, output } = session();
      // Names with a space are those of tokens for single APIs.
      const names = (await profiles.names()).filter((name) => !name.includes(' '));
      const data = await Promise.all(
        names.map(async (profile) => {
          const found = await profiles.read(profile);
          return { profile, url: found?.urls[0], username: found?.username };
        }),
      );
      const text = output.table(['profile', 'url', 'username'], data);
      output.result(
        { data },
        data.length === 0 ? 'There are no profiles. To add one, run `gatehouse login`.' : text,
      );
    });

  program
    .command('open')
    .addArgument(new Argument('[page]').choices(Object.keys(PAGES)).default('dashboard'))
    .description('Open a page of the deployment, and print its address.')
    .action(async (page: keyof typeof PAGES) => {
      const { deployment, output, openPage } = session();
      const url = `${await deployment.url()}${PAGES[page]}`;
      openPage?.(url);
      output.result({ url }, url);
    });
}

/** The person's name and address, as far as the caller may read them. A machine has none. */
async function readPerson(
  api: ApiClient,
  id?: string | null,
): Promise<{ username?: string; email?: string }> {
  if (id == null) return {};
  const path = `/api/v1/users/${encodeURIComponent(id)}`;
  const { body } = await api.request('GET', path).catch(() => ({ body: {} }));
  return { username: body.username, email: body.email };
}
