import { createLogger } from '@gatehouse/core/logger';
import t from 'tap';
import { createFailureLog } from '../src/failure-log.ts';

t.test('of many failures, one is logged; of those that stopping causes, none', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logger = createLogger({ name: 'test', readable: false, destination });
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
