import { PermanentError } from '@gatehouse/events/job';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import type { Channel } from '../src/notifications/channels/channel.ts';
import { ProviderError } from '../src/notifications/channels/provider.ts';
import type { NotificationJobStates } from '../src/notifications/notification-job-states.ts';
import { createSender } from '../src/notifications/sending.ts';

const notification = { id: 'ntf_1', type: 'email', createdAt: new Date() };

t.test('the error of a notification names no host or path', async (t) => {
  for (const [thrown, told] of [
    [new Error('connect ECONNREFUSED 10.0.0.5:27017'), 'The message could not be sent.'],
    [new PermanentError('The recipient has no phone number.'), 'The recipient has no phone number.'],
    [new ProviderError('failing', 'The mail server fails.'), 'The mail server fails.'],
  ] as const) {
    const channel = { send: () => Promise.reject(thrown) } as unknown as Channel;
    const jobStates = { currentAttempt: () => ({ notification }) } as unknown as NotificationJobStates;
    const send = createSender({ jobStates, logger, channels: new Map([['email', channel]]) });
    const job = { id: 'ntf_1-1' } as Parameters<typeof send>[0];
    const attempt = { number: 1, signal: AbortSignal.timeout(5000) };
    await t.rejects(async () => send(job, attempt), { message: told });
  }
});
