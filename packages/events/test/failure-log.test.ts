import { recordingLogger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createFailureLog } from '../src/failure-log.ts';

t.test('one of many failures is logged, and none that stopping causes', async (t) => {
  const { logger, lines } = recordingLogger();
  const stopping = new AbortController();
  const logFailure = createFailureLog(logger, 'a lease was lost', stopping.signal);
  const logOther = createFailureLog(logger, 'nobody answers', stopping.signal);
  for (let i = 0; i < 1000; i += 1) logFailure(new Error('away'), { job: `j${i}` });
  logOther(new Error('away'));
  stopping.abort();
  createFailureLog(logger, 'stopped', stopping.signal)(new Error('closed'));
  t.match(lines, [
    { level: 'warn', msg: 'a lease was lost', job: 'j0', err: { message: 'away' } },
    { level: 'warn', msg: 'nobody answers' },
  ]);
  t.equal(lines.length, 2);
});
