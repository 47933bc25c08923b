import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { readRows } from '../collections.ts';
import { CliError, UsageError } from '../errors.ts';
import { cell, jsonOf } from '../output.ts';
import type { Session } from '../session.ts';
import { toObject } from './collections.ts';

const KEY = /^gatehouse_([\w-]{11})/;
const JWT = /^[\w-]+\.([\w-]+)\.[\w-]*$/;
const TIMES = ['iat', 'nbf', 'exp', 'auth_time'];

type Parts = { header: Record<string, unknown>; claims: Record<string, unknown> };

/** The commands for access tokens and API keys, and for requests with the token of the profile. */
export function addTokens(program: Command, session: Session): void {
  program
    .command('token')
    .description('Show the purpose of your access token, which is bound to a key (DPoP, RFC 9449).')
    .option('--resource <identifier>', 'your own API that accepts the token, instead of the API of Gatehouse')
    .option('--show', 'print the token itself')
    .action(async ({ resource, show }: { resource?: string; show?: true }) => {
      const { deployment, output } = session();
      const tokens = await (resource === undefined
        ? deployment.credentials()
        : deployment.resourceCredentials(resource));
      const { accessToken, expiresAt } = tokens.credentials;
      const { claims } = decode(accessToken);
      const { aud, scope } = claims;
      const facts = { token_type: 'DPoP', aud, scope, expires_at: new Date(expiresAt).toISOString() };
      const text = show ? accessToken : output.facts(facts);
      output.result(show ? { access_token: accessToken, ...facts } : facts, text);
      if (!show && !output.json) output.note('To print the token itself, use --show.');
    });

  program
    .command('decode')
    .argument('<token>', 'a JWT, or - to read it from stdin')
    .description('Show the header and the claims of a token, without verifying it.')
    .action(async (argument: string) => {
      const { deployment, output, secretOf } = session();
      const parts = decode(await secretOf(argument));
      const inWords = Object.entries(parts.claims).map(([name, value]) => {
        const isTime = TIMES.includes(name) && typeof value === 'number';
        return [name, isTime ? new Date(value * 1000).toISOString() : value];
      });
      output.result(parts, output.facts({ ...parts.header, ...Object.fromEntries(inWords) }));
      const { exp, iss } = parts.claims;
      if (typeof exp === 'number' && exp * 1000 < Date.now()) output.note('The token has expired.');
      const issuer = await deployment.issuer().catch(() => iss);
      if (iss !== issuer) output.note(otherIssuer(iss, issuer));
    });

  program
    .command('revoke')
    .argument(
      '<token>',
      'an access token or refresh token of this program, a login token, or an API key; - reads it from stdin',
    )
    .description('Revoke a token or an API key within a second.')
    .action(async (argument: string) => {
      const { deployment, output, secretOf, signIn } = session();
      const token = await secretOf(argument);
      const keyId = KEY.exec(token)?.[1];
      if (keyId !== undefined) await revokeKey(await deployment.api(), keyId);
      else {
        const issuer = await deployment.issuer();
        const { client_id: client = 'gatehouse-cli', iss = issuer } = JWT.test(token)
          ? decode(token).claims
          : {};
        if (iss !== issuer)
          throw new CliError(`${otherIssuer(iss, issuer)} Name that deployment with --url.`);
        if (client === 'gatehouse-login')
          await deployment.apiWith(issuer, token).request('POST', '/api/v1/auth/logout');
        else if (client === 'gatehouse-cli') await signIn.revoke(issuer, token);
        else throw new CliError(elsewhere(String(client)));
      }
      output.result(
        { revoked: true },
        keyId === undefined ? 'The token is revoked.' : `The API key ${keyId} is revoked.`,
      );
    });

  program
    .command('api')
    .argument('<method>', 'such as GET')
    .argument('<path>', 'such as /api/v1/items')
    .option('--data <json>', 'the body, as a JSON object', toObject)
    .description('Make any request to the API, and print the response.')
    .action(async (method: string, path: string, { data }: { data?: object }) => {
      const { deployment, output } = session();
      if (!path.startsWith('/')) throw new UsageError(`The path ${path} must begin with a slash.`);
      const api = await deployment.api();
      const { body } = await api.request(method.toUpperCase(), path, { body: data });
      if (body !== undefined) output.result(body, jsonOf(body, 2));
    });
}

const otherIssuer = (issuer: unknown, deployment: unknown) =>
  `The token is from the issuer ${cell(issuer)}, and not from ${cell(deployment)}.`;

const elsewhere = (client: string) =>
  `Only the application ${client} can revoke its tokens (RFC 7009 §2.1). To end its access to your account, run ` +
  `\`gatehouse api DELETE /api/v1/consents/${encodeURIComponent(client)}\`.`;

/** The parts of a JWT (RFC 7519 §3). Throws a CliError, which does not quote the token. */
function decode(token: string): Parts {
  try {
    const [header, claims] = token
      .split('.', 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
    if (JWT.test(token)) return { header, claims };
  } catch {}
  throw new CliError(
    KEY.test(token)
      ? 'An API key has no claims to show. `gatehouse keys list --application` shows its scopes.'
      : 'This is not a JWT. A JWT has three parts with dots between them.',
  );
}

async function revokeKey(api: ApiClient, id: string): Promise<void> {
  const { rows } = await readRows(api, '/api/v1/access');
  const found = rows.find((row) => row.kind === 'api_key' && row.id === id);
  if (found === undefined) {
    throw new CliError(
      'You have no such API key, or it is already revoked. To see the keys of an application, run `gatehouse keys list --application`.',
    );
  }
  const application = encodeURIComponent(String(found.client_id));
  await api.request('DELETE', `/api/v1/applications/${application}/api-keys/${id}`);
}
