import { randomUUID } from 'node:crypto';
import { VERSION } from '@gatehouse/core/version';
import { MCP_WRITE } from '@gatehouse/tokens/scopes';
import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import type { Connect } from '../../api/api.ts';
import { ApiError, apiErrorOf } from '../../api/api-error.ts';
import type { Cause } from '../../api/cause.ts';
import type { ApiDescription } from '../../docs/openapi/source.ts';
import { type ApiTool, type Arguments, toolsOf } from './tools.ts';

export type McpServerOptions = { describe(): Promise<ApiDescription>; api: Connect; publicUrl: string };
/** A request with its token for the API. */
type McpRequest = {
  token: string;
  scopes: ReadonlySet<string>;
  cause: Cause;
  /** Protocol revisions before 2026-07-28 ask for an input by an error, and later ones by a result. */
  era: 'legacy' | 'modern';
};

/** The longest response of a tool, in characters: about what an agent can read at once. */
const MAX_RESPONSE = 100_000;
const WRITE_PREFIX = 'write:';
const OPENED = 'opened';

const INSTRUCTIONS =
  'The tools are operations of the Gatehouse API, which you call as the person who has signed in. Lists have pages: ask for few rows with ' +
  '`limit`, and continue with the `cursor` of the response. The person makes requests that cannot be undone, on a page that the tool names.';

/** A server for one request. Its tools are the operations that the token may call. */
export function createMcpServer(options: McpServerOptions, request: McpRequest): Server {
  const server = new Server(
    { name: 'gatehouse', title: 'Gatehouse', version: VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  const mayWrite = [...request.scopes].some((scope) => scope.startsWith(WRITE_PREFIX));
  const isAllowed = (tool: ApiTool) => (tool.reads || mayWrite) && tool.isFor(request.scopes);

  server.setRequestHandler('tools/list', async () => {
    const tools = [...(await currentTools(options)).values()].filter(isAllowed);
    return { tools: tools.map(({ definition }) => definition) };
  });

  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = (await currentTools(options)).get(params.name);
    if (tool === undefined) {
      const message = `Unknown tool: ${params.name.slice(0, 100)}`;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
    }
    if (!isAllowed(tool)) {
      const missing = tool.reads || mayWrite ? 'The role of the person' : `A token without ${MCP_WRITE}`;
      return failure(`${missing} does not allow this tool.`);
    }
    const args = params.arguments ?? {};
    const answer = mcpReq.inputResponses?.[OPENED] as { action?: string } | undefined;
    if (answer?.action === 'accept')
      return textResult('The person has opened the page. Read the object to see whether they have done it.');
    if (answer !== undefined) return failure('The person has declined to open the page.');
    try {
      const prepared = tool.requestOf(args);
      const askPerson = () => onPage(options, request, { server, tool, args });
      if (tool.isDestructive) return askPerson();
      const api = options.api(async () => request.token, request.cause);
      const response = await api.probe(prepared);
      if (response.status < 400) return textResult(response.text);
      const error = apiErrorOf(response, response.text);
      if (error.takesSignIn) return askPerson();
      return failure(`${response.status}: ${response.text}`);
    } catch (error) {
      if (error instanceof ApiError || error instanceof TypeError) return failure(error.message);
      throw error;
    }
  });
  return server;
}

const toolsOfDescription = new WeakMap<ApiDescription, ReturnType<typeof toolsOf>>();

async function currentTools({ describe }: McpServerOptions): Promise<ReturnType<typeof toolsOf>> {
  const description = await describe();
  const tools = toolsOfDescription.get(description) ?? toolsOf(description.document);
  toolsOfDescription.set(description, tools);
  return tools;
}

/**
 * Leaves the request to the person, who sees its path and query on a page of the dashboard, and sends it with their own sign-in. The
 * agent gets only the address of this page.
 */
function onPage(
  { publicUrl }: McpServerOptions,
  { era }: McpRequest,
  { server, tool, args }: { server: Server; tool: ApiTool; args: Arguments },
): InputRequiredResult | CallToolResult {
  const { operationId, summary } = tool.located.operation;
  const url = `${publicUrl}/dashboard/try/${encodeURIComponent(operationId)}${tool.pageQueryOf(args)}`;
  const message = `“${summary}” is done by the person, on this page: ${url}`;
  if (era === 'legacy')
    throw new UrlElicitationRequiredError(
      [{ mode: 'url', elicitationId: randomUUID(), message, url }],
      message,
    );
  if (server.getClientCapabilities()?.elicitation?.url === undefined) return failure(message);
  return inputRequired({ inputRequests: { [OPENED]: inputRequired.elicitUrl({ message, url }) } });
}

function textResult(text: string): CallToolResult {
  if (text.length > MAX_RESPONSE) {
    const most = MAX_RESPONSE.toLocaleString('en');
    return failure(
      `The response is longer than ${most} characters. Ask for fewer rows with \`limit\`, and go on with \`cursor\`.`,
    );
  }
  return { content: [{ type: 'text', text }] };
}

const failure = (text: string): CallToolResult => ({
  content: [{ type: 'text', text: text.slice(0, MAX_RESPONSE) }],
  isError: true,
});
