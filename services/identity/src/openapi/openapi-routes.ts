import { type Route, servedDocument } from '@gatehouse/api/openapi/document';
import { ABOUT_VERSION, INTERFACE } from '@gatehouse/api/openapi/interface';
import { isUnder } from '@gatehouse/core/services';
import Router from '@koa/router';
import type { Operations } from './operations.ts';
import { TAGS } from './tags.ts';

const PATH = '/openapi/identity.json';

/** For other services, or no endpoint of its own. */
const UNDOCUMENTED = [
  '/internal',
  '/oauth2/authorize/:uid',
  '/oauth2/logout/confirm',
  '/oauth2/logout/success',
];

/** GET /openapi/identity.json: the OpenAPI 3.1 document of what third parties use. Throws when a router has a route that is not in it. */
export function openApiRoutes(options: {
  origin: string;
  operations: Operations;
  routers: readonly Router[];
  /** The prefixes of the paths of pages, which are for people. */
  pages: readonly string[];
}): Router {
  const { origin, operations, routers, pages } = options;
  const problems = differences(operations, routers, pages);
  if (problems.length > 0) throw new Error(problems.join('; '));
  const routes = Object.entries(operations).map(([key, operation]): Route => {
    const [method = '', url = ''] = key.split(' ');
    return { method, url, operation };
  });
  const respond = servedDocument(
    {
      title: 'Gatehouse identity',
      ...INTERFACE,
      description: `Tokens for people and machines, applications and their credentials, sessions, and administration.\n\n${ABOUT_VERSION}`,
      path: PATH,
      origin,
      tags: TAGS,
    },
    routes,
  );
  return new Router({ sensitive: true }).get(PATH, (ctx) => {
    const { status, headers, body } = respond(ctx.req);
    ctx.status = status;
    ctx.set({ ...headers, 'access-control-allow-origin': '*' });
    if (body !== undefined) ctx.body = body;
  });
}

/** One sentence for each route of the routers without an operation, and for each operation without a route. */
export function differences(
  operations: Operations,
  routers: readonly Router[],
  pages: readonly string[],
): string[] {
  const undocumented = [...pages, ...UNDOCUMENTED];
  const routes = routers.flatMap((router) =>
    router.stack
      .filter(
        ({ path, methods }) =>
          methods.length > 0 && !undocumented.some((prefix) => isUnder(String(path), prefix)),
      )
      .map(({ path, methods }) => {
        // A path that is passed on as a whole has every method, those included that nobody sends.
        const isPassedOn = methods.includes('PROPFIND');
        const served = methods.filter((method) => method !== 'HEAD' && method !== 'OPTIONS');
        return { path: String(path).replace(/(?<=.)\/$/, ''), methods: isPassedOn ? [] : served, isPassedOn };
      }),
  );
  const documented = Object.keys(operations);
  const missing = routes.flatMap(({ path, methods, isPassedOn }) =>
    isPassedOn && !documented.some((key) => key.endsWith(` ${path}`))
      ? [`${path} is not documented`]
      : methods
          .map((method) => `${method} ${path}`)
          .filter((key) => !documented.includes(key))
          .map((key) => `${key} is not documented`),
  );
  const served = (key: string) => {
    const [method = '', path] = key.split(' ');
    return routes.some(
      (route) => route.path === path && (route.isPassedOn || route.methods.includes(method)),
    );
  };
  return [...missing, ...documented.filter((key) => !served(key)).map((key) => `${key} is not served`)];
}
