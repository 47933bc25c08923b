import { SdkHttpError } from '@modelcontextprotocol/client';
import t from 'tap';
import { createApiDescription } from '../../../src/docs/openapi/source.ts';
import { toolsOf } from '../../../src/features/mcp/tools.ts';
import { build } from '../../build.ts';
import { connect, registerAgent, resultOf, tokenFor } from './agent.ts';

const built = await build(t, { notifications: true });
const { people, call } = built;
// Nobody has a higher role by an agent than its owner.
const agent = await registerAgent(built, 'admin');
const tools = toolsOf((await createApiDescription(built.config)()).document);
const { body: item } = await call<{ id: string }>('POST', '/api/v1/items', 'ann', { name: 'x', value: 'x' });

/** An id for each path, of ann's own or of somebody else. */
function argumentsFor(path: string, properties: object): Record<string, unknown> {
  const ids: [prefix: RegExp, id: string][] = [
    [/users/, people.ann.id],
    [/items/, item.id],
  ];
  const id = ids.find(([prefix]) => prefix.test(path))?.[1] ?? 'usr_unknown';
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const body = 'body' in properties ? { body: {} } : {};
  return { ...Object.fromEntries(names.map((name) => [name, id])), ...body };
}

for (const username of ['ann', 'editor', 'admin'] as const) {
  t.test(`no tool returns to ${username} what the API refuses`, async (t) => {
    async function newClient() {
      const { browser } = await built.signedIn(username);
      return connect(built, (await tokenFor(built, browser, agent, 'mcp:read mcp:write')).token);
    }
    let client = await newClient();
    let successes = 0;
    for (const [name, { definition, located, isDestructive, requestOf }] of tools) {
      if (isDestructive) continue;
      const args = argumentsFor(located.path, definition.inputSchema.properties ?? {});
      const { path, ...init } = requestOf(args);
      const direct = await built.send(username, path, init as RequestInit);
      const result = await resultOf(client, name, args).catch(async (error: unknown) => {
        // A change of the account ends the tokens.
        if (!(error instanceof SdkHttpError) || error.status !== 401) throw error;
        client = await newClient();
        return resultOf(client, name, args);
      });
      if (direct.status >= 400) t.ok(result.isError, `${name}: ${direct.status}, and ${result.text}`);
      if (!result.isError) successes += 1;
    }
    t.ok(tools.size > 80 && successes > 20, `${successes} of ${tools.size}`);
  });
}
