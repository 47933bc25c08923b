import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AUDIT_ACTIONS, type AuditAction } from '@gatehouse/domain/audit-actions';
import t from 'tap';
import { ocsfEvent } from '../../../src/features/audit-export/ocsf.ts';
import { entryOf } from './entries.ts';

const PACKAGES = ['ocsf-json-schema==1.2.0', 'jsonschema==4.26.0'];
/** Prints the errors of the events on its stdin, by the JSON Schemas of these versions of OCSF. */
const VALIDATE = `
import json, sys
from jsonschema import Draft202012Validator
from ocsf_json_schema import get_ocsf_schema, OcsfJsonSchemaEmbedded
events = json.load(sys.stdin)
for version in sys.argv[1:]:
    schema = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=version))
    validators = {}
    for event in events:
        uid = event["class_uid"]
        if uid not in validators:
            name = schema.lookup_class_name_from_uid(class_uid=uid)
            validators[uid] = Draft202012Validator(schema.get_class_schema(class_name=name))
        for error in validators[uid].iter_errors(event):
            print(version, event["metadata"]["event_code"], error.json_path, error.message[:300])
`;

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-ocsf-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));
const python = join(directory, 'bin', 'python');
spawnSync('python3', ['-m', 'venv', directory]);
const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES];
const isInstalled = spawnSync(python, install).status === 0;

t.test(
  'the event of every action is valid by the schema of OCSF',
  { skip: !isInstalled && 'pip cannot install ocsf-json-schema' },
  async (t) => {
    const events = (Object.keys(AUDIT_ACTIONS) as AuditAction[]).flatMap((action) => {
      const full = entryOf(action);
      const { id, at, expiresAt } = full;
      return [ocsfEvent(full), ocsfEvent({ id, action, at, expiresAt })];
    });
    const versions = ['1.4.0', '1.6.0', '1.8.0'];
    const errorsOf = (sent: unknown) => {
      const options = { input: JSON.stringify(sent), encoding: 'utf8' } as const;
      const { stdout, stderr } = spawnSync(python, ['-c', VALIDATE, ...versions], options);
      return stdout + stderr;
    };
    t.equal(errorsOf(events), '');
    t.match(errorsOf([{ ...events[0], user: {} }]), /^1.4.0 sign_in.succeeded \$\.user /, 'others are not');
  },
);
