import type { Context } from 'koa';
import { isConfidential } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';

/**
 * Some libraries send the client_id of a public client by HTTP Basic, with an empty secret (RFC 6749 §2.3.1: the secret may
 * be omitted if it is empty). It then counts as sent in the form, where public clients have it (§3.2.1).
 */
export async function acceptEmptySecret(
  ctx: Context,
  form: URLSearchParams,
  find: Applications['find'],
): Promise<void> {
  const [, encoded = ''] = /^Basic +([\w+/]+={0,2})$/i.exec(ctx.get('authorization')) ?? [];
  const [, name] = /^([^:]+):$/.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  if (name === undefined) return;
  // It is encoded as in a form (RFC 6749 §2.3.1).
  const id = new URLSearchParams(`id=${name}`).get('id') ?? '';
  const application = await find(id);
  const other = form.has('client_id') && form.get('client_id') !== id;
  if (application === undefined || isConfidential(application) || other) return;
  form.set('client_id', id);
  delete ctx.req.headers.authorization;
}
