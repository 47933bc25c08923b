import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { Sealer } from '@gatehouse/core/sealing';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Application } from '../../core/applications/application.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { EventQueue } from './event-queue.ts';
import type { EventStream, StreamSettings, StreamStatus } from './event-stream.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import { streamNotice } from './stream-notice.ts';
import type { StreamRight } from './stream-right.ts';

/** An application that configures its stream, and the credential with which it does. */
export type Configurer = { application: Application; credentialId: string; origin: Origin };
/** `authorization` as the application sent it. */
export type SentSettings = Omit<StreamSettings, 'push'> & {
  push: { url: string; authorization: string | undefined } | undefined;
};

export type EventStreams = ReturnType<typeof createEventStreams>;

/** The streams of applications, with what follows from a change: a record, a mail to the owner, and other deliveries. */
export function createEventStreams(options: {
  store: EventStreamStore;
  events: Pick<EventQueue, 'follow' | 'removeAll'>;
  right: Pick<StreamRight, 'rest'>;
  sealer: Sealer;
  audit: Pick<Audit, 'record'>;
  mails: Pick<AccountMails, 'notify'>;
}) {
  const { store, events, right, sealer, audit, mails } = options;

  function record(
    { application, origin }: Pick<Configurer, 'application' | 'origin'>,
    action: AuditAction & `event_stream.${string}`,
    { id, push, status }: EventStream,
  ): Promise<void> {
    const { id: client, owner } = application;
    const details = { stream: id, status, host: push && new URL(push.url).host };
    return audit.record({ action, origin, actor: null, client, details, ...(owner && { subject: owner }) });
  }

  function notify({ application }: Configurer, { push }: EventStream, isNew: boolean): void {
    if (application.owner === null) return;
    const host = push && new URL(push.url).host;
    void mails.notify(application.owner, streamNotice(application.name, isNew, host));
  }

  async function restOn({ application, credentialId }: Configurer) {
    const rest = await right.rest(application, credentialId);
    if (rest !== undefined) return { ...rest, credentialId };
    throw new ServiceError(
      'forbidden',
      'The credential of this token has ended. Get a token with another one.',
    );
  }

  function sealed(id: string, { push, ...settings }: SentSettings): StreamSettings {
    if (push?.authorization === undefined) return { ...settings, push };
    return { ...settings, push: { ...push, authorization: sealer.seal(push.authorization, id) } };
  }

  /** Changes a stream, which then rests on this credential. */
  async function change(
    by: Configurer,
    before: EventStream,
    changes: Partial<EventStream>,
  ): Promise<EventStream> {
    const stream = { ...before, ...changes, ...(await restOn(by)) };
    await store.change(stream);
    await record(by, 'event_stream.changed', stream);
    const isElsewhere = stream.push?.url !== before.push?.url;
    const isOther = stream.credentialId !== before.credentialId;
    if (isElsewhere || isOther || stream.given?.epoch !== before.given?.epoch) notify(by, stream, false);
    await events.follow(stream);
    return stream;
  }

  return {
    /** Throws `conflict` when the application has a stream. */
    async create(by: Configurer, settings: SentSettings): Promise<EventStream> {
      const { id: clientId, owner, consentEpoch } = by.application;
      const id = newId('str');
      const stream: EventStream = {
        ...{ id, clientId, owner, consentEpoch, ...(await restOn(by)), ...sealed(id, settings) },
        ...{ status: 'enabled', reason: undefined, turns: 0, createdAt: new Date() },
      };
      if (!(await store.insert(stream)))
        throw new ServiceError('conflict', 'This application has an event stream already.');
      await record(by, 'event_stream.created', stream);
      notify(by, stream, true);
      return stream;
    },
    /** `keepsSecret`: the stream keeps the authorization header for the same URL if none is sent. */
    configure(by: Configurer, before: EventStream, settings: SentSettings, keepsSecret: boolean) {
      const next = sealed(before.id, settings);
      const isSame = next.push !== undefined && next.push.url === before.push?.url;
      const isKept = keepsSecret && isSame && next.push?.authorization === undefined;
      return change(by, before, isKept ? { ...next, push: before.push } : next);
    },
    setStatus: (by: Configurer, before: EventStream, status: StreamStatus, reason: string | undefined) =>
      change(by, before, { status, reason }),
    async remove(by: Pick<Configurer, 'application' | 'origin'>, stream: EventStream): Promise<void> {
      await store.remove(stream.clientId);
      await events.removeAll(stream.id);
      await record(by, 'event_stream.deleted', stream);
    },
    /** That of an application which is gone, or has another owner. */
    async removeOf(clientId: string): Promise<void> {
      const stream = await store.findOf(clientId);
      if (stream === undefined) return;
      // Last, so that it is found again after a crash.
      await events.removeAll(stream.id);
      await store.remove(clientId);
    },
  };
}
