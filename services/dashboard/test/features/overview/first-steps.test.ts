import { render } from '@gatehouse/web/html';
import t from 'tap';
import type { Api } from '../../../src/api/api.ts';
import { ApiError } from '../../../src/api/api-error.ts';
import { firstSteps, progressOf } from '../../../src/features/overview/first-steps.ts';

/** An API with this many applications, and these requests. */
function apiOf(applications: number, statuses: readonly number[] | 'away'): Api {
  return {
    async get(path: string, query: Record<string, string>) {
      if (path === '/api/v1/applications') {
        return { data: Array.from({ length: applications }, () => ({ client_id: 'app_1' })) };
      }
      if (statuses === 'away') throw new ApiError(503, 'away');
      return { data: statuses.filter((status) => !('filter[status][lt]' in query) || status < 400) };
    },
  } as unknown as Api;
}

t.test('the next step is the only one with a way to it', async (t) => {
  const cases: [name: string, api: Api, next: string | undefined, done: number][] = [
    ['nothing yet', apiOf(0, []), '/dashboard/applications/new', 0],
    ['an application', apiOf(1, []), '/dashboard/applications/app_1/quick-start', 1],
    ['requests that failed', apiOf(1, [403]), '/dashboard/requests?status=failed', 2],
    ['a request that succeeded', apiOf(1, [403, 200]), undefined, 0],
    ['nothing yet, and the request log is away', apiOf(0, 'away'), '/dashboard/applications/new', 0],
    ['the request log is away', apiOf(1, 'away'), undefined, 0],
  ];
  for (const [name, api, next, done] of cases) {
    const progress = await progressOf(api);
    const page = progress === undefined ? '' : render(firstSteps(progress));
    t.equal(/href="([^"]+)"/.exec(page)?.[1], next, name);
    t.equal(page.split('>done<').length - 1, done, `${name}: steps that are done`);
  }
});
