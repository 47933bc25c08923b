import type { GeneratedText } from '../generated-files.ts';
import type { DeployedService } from './services.ts';

/** The routes of the edge: the public paths of each service, by whole segments. */
export function caddyRoutes(services: readonly DeployedService[]): GeneratedText[] {
  const routes = services.map(({ name, prefixes }) => {
    const paths = prefixes.flatMap((prefix) => (prefix === '/' ? [prefix] : [prefix, `${prefix}/*`]));
    return `\
		@${name} path ${paths.join(' ')}
		handle @${name} {
			vars service ${name}
			import pass_on
		}
`;
  });
  return [{ path: 'deploy/docker/Caddyfile', part: 'routes', text: routes.join('\n') }];
}
