import t from 'tap';
import { installPackage, runUnitTests } from './python.ts';

const FRAMEWORKS = ['django', 'fastapi', 'flask', 'gunicorn', 'uvicorn'];

t.setTimeout(300_000);
const installed = installPackage(t, FRAMEWORKS);
t.test('the adapters', 'reason' in installed ? { skip: installed.reason } : {}, async (t) => {
  if ('reason' in installed) return;
  for (const file of ['frameworks_test.py', 'processes_test.py']) {
    const { passed, output } = await runUnitTests(installed.python, file);
    t.ok(passed, `${file}: ${output}`);
  }
});
