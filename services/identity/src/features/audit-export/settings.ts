import { createSecretKey, type KeyObject } from 'node:crypto';
import { described, InvalidSetting, optional, type Setting, setting, url } from '@gatehouse/core/config';

export const auditExportSettings = {
  auditOtlpEndpoint: described(
    'The OpenTelemetry collector to which the audit log is sent, as OCSF events by OTLP over HTTP. `/v1/logs` is appended.',
    optional(httpUrl('IDENTITY_AUDIT_OTLP_ENDPOINT')),
    'http://collector:4318',
  ),
  auditOtlpHeaders: described(
    'Headers of the requests to the collector, such as credentials, separated by commas.',
    optional(headers('IDENTITY_AUDIT_OTLP_HEADERS')),
    'authorization=Bearer%20TOKEN',
  ),
  auditWebhookUrl: described(
    'The endpoint to which the audit log is sent, as OCSF events in JSON.',
    optional(httpUrl('IDENTITY_AUDIT_WEBHOOK_URL')),
    'https://siem.example.com/gatehouse',
  ),
  auditWebhookSecret: described(
    'The secret that signs the requests to this endpoint (Standard Webhooks). Set it together with `IDENTITY_AUDIT_WEBHOOK_URL`.',
    optional(webhookSecret('IDENTITY_AUDIT_WEBHOOK_SECRET')),
  ),
};

/** The URL of an endpoint. Its path can be a secret. */
function httpUrl(name: string): Setting<string> {
  const inner = url(name, ['https:', 'http:']);
  return {
    ...inner,
    read(raw) {
      const value = inner.read(raw);
      const { username, password } = URL.parse(value) ?? { username: '?' };
      if (username || password) throw new InvalidSetting('must be a URL without user information');
      return value;
    },
  };
}

/** Headers in the form of OTEL_EXPORTER_OTLP_HEADERS: https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables */
function headers(name: string): Setting<Readonly<Record<string, string>>> {
  const inner = setting<Record<string, string>>(name, 'headers such as name=value', undefined, (raw) => {
    try {
      const pairs = raw.split(',').map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []);
      return Object.fromEntries(
        new Headers(pairs.map(([, key = '', value = '']) => [key, decodeURIComponent(value)])),
      );
    } catch {
      throw new InvalidSetting('must list headers such as name=value, with values that are percent-encoded');
    }
  });
  return { ...inner, isSecret: true };
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme */
function webhookSecret(name: string): Setting<KeyObject> {
  const type = '`whsec_` and 24 to 64 bytes in base64';
  const inner = setting<KeyObject>(name, type, undefined, (raw) => {
    const [, digits = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(raw) ?? [];
    const bytes = Buffer.from(digits, 'base64');
    if (bytes.length < 24 || bytes.length > 64) throw new InvalidSetting(`must be ${type}`);
    return createSecretKey(bytes);
  });
  return { ...inner, isSecret: true };
}
