import { readSettings } from '@gatehouse/core/config';
import t from 'tap';
import { auditExportSettings } from '../../../src/features/audit-export/settings.ts';

const SECRET = 'cGFzc3dvcmQ';
const bytes = (length: number) => `whsec_${Buffer.alloc(length, 1).toString('base64')}`;

t.test('the settings of the export are checked at the start, and not quoted', async (t) => {
  for (const [name, value, isValid] of [
    ['IDENTITY_AUDIT_OTLP_ENDPOINT', 'http://collector:4318', true],
    ['IDENTITY_AUDIT_OTLP_ENDPOINT', `https://user:${SECRET}@collector`, false],
    ['IDENTITY_AUDIT_OTLP_ENDPOINT', `https://${SECRET}@collector`, false],
    ['IDENTITY_AUDIT_OTLP_ENDPOINT', `ftp://${SECRET}`, false],
    ['IDENTITY_AUDIT_OTLP_HEADERS', `authorization=Bearer%20${SECRET}==`, true],
    ['IDENTITY_AUDIT_OTLP_HEADERS', SECRET, false],
    ['IDENTITY_AUDIT_OTLP_HEADERS', `a=%${SECRET}`, false],
    ['IDENTITY_AUDIT_OTLP_HEADERS', `a=x%0a${SECRET}`, false],
    ['IDENTITY_AUDIT_WEBHOOK_URL', `https:// ${SECRET}`, false],
    ['IDENTITY_AUDIT_WEBHOOK_SECRET', bytes(24), true],
    ['IDENTITY_AUDIT_WEBHOOK_SECRET', bytes(64), true],
    ['IDENTITY_AUDIT_WEBHOOK_SECRET', bytes(23), false],
    ['IDENTITY_AUDIT_WEBHOOK_SECRET', bytes(65), false],
    ['IDENTITY_AUDIT_WEBHOOK_SECRET', `${SECRET}${SECRET}${SECRET}`, false],
  ] as const) {
    const read = () => readSettings(auditExportSettings, { [name]: value });
    if (isValid) t.doesNotThrow(read, value);
    else t.throws(read, { message: new RegExp(`^The setting ${name} must (?!.*${SECRET})`) }, value);
  }
});
