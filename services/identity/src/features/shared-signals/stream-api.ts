import { v2Body } from '@gatehouse/api/http/error-bodies';
import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import { SSF_MANAGE, SSF_READ } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import type { Application, ApplicationStore } from '../../core/applications/application.ts';
import { originOf } from '../../core/audit/audit.ts';
import { createApi } from '../../http/api.ts';
import type { EventStream } from './event-stream.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import type { StreamRight } from './stream-right.ts';
import { PREFIX } from './transmitter-routes.ts';

const ENDED = 'The credential of this token has ended: get a token with another one.';

export type StreamApi = ReturnType<typeof createStreamApi>;

const isReading = ({ method, path }: Context) => method === 'GET' || path.startsWith(`${PREFIX}/events/`);

/** The endpoints of streams, for applications with a token that they have for themselves. */
export function createStreamApi(options: {
  store: Pick<EventStreamStore, 'findOf'>;
  applicationStore: Pick<ApplicationStore, 'findNow'>;
  right: Pick<StreamRight, 'rest'>;
  authenticate(ctx: Context): Promise<Caller>;
}) {
  const api = createApi({
    prefix: PREFIX,
    errors: { body: v2Body },
    scopes: [SSF_MANAGE],
    // A receiver may send members of other versions and profiles.
    validator: bodyValidator,
    async identify(ctx) {
      const caller = await options.authenticate(ctx);
      requireScope(caller, isReading(ctx) ? [SSF_MANAGE, SSF_READ] : [SSF_MANAGE]);
      const { clientId, credentialId = '' } = caller;
      const application = await options.applicationStore.findNow(clientId);
      if (application?.type !== 'web' && application?.type !== 'machine')
        throw new ServiceError('forbidden', 'Event streams are for applications of type web and machine.');
      const isOf = async (it: Application) => (await options.right.rest(it, credentialId)) !== undefined;
      const holds = async () => {
        const now = await options.applicationStore.findNow(clientId);
        return now !== undefined && isOf(now);
      };
      // A token of an ended credential works for up to an hour more.
      if (!(await isOf(application)))
        throw new ServiceError('unauthenticated', ENDED, {
          headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
        });
      return { application, holds, by: { application, credentialId, origin: originOf(ctx) } };
    },
  });

  async function ownStream(application: Application): Promise<EventStream | undefined> {
    const found = await options.store.findOf(application.id);
    return found?.consentEpoch === application.consentEpoch ? found : undefined;
  }

  /** The error does not reveal whether it is the stream of another application. */
  async function findStream(application: Application, id: string): Promise<EventStream> {
    const found = await ownStream(application);
    if (found?.id !== id) throw new ServiceError('not_found', 'This application has no such event stream.');
    return found;
  }

  return { api, ownStream, findStream };
}
