import type { Command } from 'commander';
import type { createApiClient } from '../api-client.ts';
import { UsageError } from '../errors.ts';
import type { Session } from '../session.ts';

const PAGES = {
  dashboard: '/dashboard',
  applications: '/dashboard/applications',
  webhooks: '/dashboard/webhooks',
  account: '/account',
  docs: '/docs',
};

/** The commands about who is signed in where. */
export function addIdentity(program: Command, session: Session): void {
  program
    .command('login')
    .description('Sign in on a page of the deployment, in any browser.')
    .action(async () => {
      const { deployment, output } = session();
      const { urls, username } = await deployment.login((text, page) => output.line(page, text));
      output.line({ url: urls[0], username }, `You are signed in to ${urls[0]} as ${username}.`);
    });

  program
    .command('whoami')
    .description('Show who is signed in, and what they may do.')
    .action(async () => {
      const { deployment, output } = session();
      const api = await deployment.api();
      const { body } = await api.request('GET', '/api/v1/auth/permissions');
      const person =
        body.user_id === null || body.user_id === undefined ? {} : await readPerson(api, body.user_id);
      const who = { url: api.url, ...person, ...body };
      output.result(who, output.facts(who));
    });

  program
    .command('logout')
    .description('Sign out: the tokens of the profile end.')
    .action(async () => {
      const { deployment, output } = session();
      const { urls, username } = await deployment.logout();
      output.result({ url: urls[0], username, signed_out: true }, `You are signed out of ${urls[0]}.`);
    });

  program
    .command('profiles')
    .description('List the profiles, each with a sign-in of its own (--profile).')
    .action(async () => {
      const { profiles, output } = session();
      // Those with a space are of single APIs.
      const names = (await profiles.names()).filter((name) => !name.includes(' '));
      const found = await Promise.all(names.map((name) => profiles.read(name)));
      const data = names.map((profile, at) => ({
        profile,
        url: found[at]?.urls[0],
        username: found[at]?.username,
      }));
      const text = output.table(
        ['PROFILE', 'URL', 'USERNAME'],
        data.map((it) => Object.values(it)),
      );
      output.result(
        { data },
        data.length === 0 ? 'There are no profiles. `gatehouse login` makes one.' : text,
      );
    });

  program
    .command('open')
    .argument('[page]', Object.keys(PAGES).join(', '), 'dashboard')
    .description('Open a page of the deployment, or print its address without a terminal.')
    .action(async (page: string) => {
      const { deployment, output, openPage } = session();
      if (!Object.hasOwn(PAGES, page)) {
        throw new UsageError(`There is no page ${page}: choose ${Object.keys(PAGES).join(', ')}.`);
      }
      const url = `${await deployment.url()}${PAGES[page as keyof typeof PAGES]}`;
      openPage?.(url);
      output.result({ url }, url);
    });
}

/** Read with what the caller may read: an API key of a machine is of no account. */
async function readPerson(api: ReturnType<typeof createApiClient>, id: string): Promise<object> {
  const { body } = await api
    .request('GET', `/api/v1/users/${encodeURIComponent(id)}`)
    .catch(() => ({ body: {} }));
  return { username: body.username, email: body.email };
}
