import { PermanentError } from '@gatehouse/events/job';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import type { Channel } from '../src/notifications/channels/channel.ts';
import { ProviderError } from '../src/notifications/channels/provider.ts';
import { createSender } from '../src/notifications/sending.ts';

const document = { _id: 'ntf_1', type: 'email', created_at: new Date() };

t.test('the error of a notification names no host or path', async (t) => {
  for (const [thrown, told] of [
    [new Error('connect ECONNREFUSED 10.0.0.5:27017'), 'The message could not be sent.'],
    [new PermanentError('The recipient has no phone number.'), 'The recipient has no phone number.'],
    [new ProviderError('failing', 'The mail server fails.'), 'The mail server fails.'],
  ] as const) {
    const channel = { send: () => Promise.reject(thrown) } as unknown as Channel;
    const send = createSender({
      logger,
      channels: new Map([['email', channel]]),
      authority: { holds: async () => true },
    });
    const job = { id: 'ntf_1', document } as unknown as Parameters<typeof send>[0];
    const attempt = { signal: AbortSignal.timeout(5000), note() {} };
    await t.rejects(async () => send(job, attempt), { message: told });
  }
});
