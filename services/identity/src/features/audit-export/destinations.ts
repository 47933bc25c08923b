import type { KeyObject } from 'node:crypto';
import type { SettingValues } from '@gatehouse/core/config';
import { derivedId } from '@gatehouse/core/ids';
import { VERSION } from '@gatehouse/core/version';
import { signWebhook } from '@gatehouse/core/webhook-signature';
import type { AuditRecord } from '../../core/audit/audit.ts';
import { ocsfEvent } from './ocsf.ts';
import type { auditExportSettings } from './settings.ts';

/** A receiver of the audit log. */
export type Destination = {
  name: string;
  url: string;
  /** The request for some entries. */
  requestOf(entries: readonly AuditRecord[]): { headers: Record<string, string>; body: string };
};

/** The destinations that the settings name. */
export function destinationsOf(config: Partial<SettingValues<typeof auditExportSettings>>): Destination[] {
  const { auditOtlpEndpoint, auditOtlpHeaders, auditWebhookUrl, auditWebhookSecret } = config;
  return [
    ...(auditOtlpEndpoint ? [otlp(auditOtlpEndpoint, auditOtlpHeaders)] : []),
    ...(auditWebhookUrl && auditWebhookSecret ? [webhook(auditWebhookUrl, auditWebhookSecret)] : []),
  ];
}

/** Logs by OTLP over HTTP, in JSON: https://opentelemetry.io/docs/specs/otlp/#otlphttp */
function otlp(endpoint: string, headers: Readonly<Record<string, string>> = {}): Destination {
  return {
    name: 'otlp',
    url: `${endpoint.replace(/\/$/, '')}/v1/logs`,
    requestOf(entries) {
      const attributes = attributesOf({ 'service.name': 'gatehouse-identity', 'service.version': VERSION });
      const scopeLogs = [{ scope: { name: 'gatehouse.audit' }, logRecords: entries.map(logRecord) }];
      return {
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ resourceLogs: [{ resource: { attributes }, scopeLogs }] }),
      };
    },
  };
}

/** https://opentelemetry.io/docs/specs/otel/logs/data-model/ */
function logRecord(entry: AuditRecord) {
  const event = ocsfEvent(entry);
  const isFailure = event.status_id === 2;
  return {
    timeUnixNano: `${entry.at.getTime()}000000`,
    observedTimeUnixNano: `${entry.at.getTime()}000000`,
    ...(isFailure
      ? { severityNumber: 13, severityText: 'WARN' }
      : { severityNumber: 9, severityText: 'INFO' }),
    eventName: entry.action,
    attributes: attributesOf({ 'log.record.uid': entry.id }),
    // As in JSON: details may have dates and the like.
    body: anyValue(JSON.parse(JSON.stringify(event))),
  };
}

function attributesOf(values: object) {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

/** AnyValue of opentelemetry/proto/common/v1/common.proto. */
function anyValue(value: unknown): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return value === null ? {} : { kvlistValue: { values: attributesOf(Object(value)) } };
}

/** Standard Webhooks 1.0.0, with several events in a message. The same events have the same `webhook-id`. */
function webhook(url: string, key: KeyObject): Destination {
  return {
    name: 'webhook',
    url,
    requestOf(entries) {
      const now = new Date();
      const id = derivedId('msg', entries.map((entry) => entry.id).join());
      const timestamp = Math.floor(now.getTime() / 1000);
      const events = entries.map(ocsfEvent);
      const body = JSON.stringify({ type: 'audit.recorded', timestamp: now, data: { events } });
      return {
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': `${timestamp}`,
          'webhook-signature': signWebhook(key, { id, timestamp, body }),
        },
        body,
      };
    },
  };
}
