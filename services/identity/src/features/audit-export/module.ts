import type { MetricFamily } from '@gatehouse/core/metrics-text';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { AuditRecord } from '../../core/audit/audit.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { destinationsOf } from './destinations.ts';
import { createAuditExporter } from './exporter.ts';
import type { auditExportSettings } from './settings.ts';

/** Sends the audit log to the destinations of the deployment, and counts its entries. */
export function auditExport(core: Ports & WithSettings<typeof auditExportSettings>): IdentityModule {
  const destinations = destinationsOf(core.config);
  const exporters = destinations.map((destination) =>
    createAuditExporter({ ...core, store: core.auditStore, destination }),
  );
  const entries = new Map<AuditAction, number>();
  const countEntry = ({ action }: AuditRecord) => {
    entries.set(action, (entries.get(action) ?? 0) + 1);
  };

  function metrics(): MetricFamily[] {
    const states = exporters.map(({ destination, state }) => ({ labels: { destination }, ...state() }));
    const lost = states.flatMap(({ labels, rejected, expired }) =>
      Object.entries({ rejected, expired }).map(([reason, value]) => ({
        labels: { ...labels, reason },
        value,
      })),
    );
    return [
      {
        ...{ name: 'gatehouse_audit_entries_total', type: 'counter' },
        help: 'Entries of the audit log that this replica has written.',
        samples: [...entries].map(([action, value]) => ({ labels: { action }, value })),
      },
      {
        ...{ name: 'gatehouse_audit_export_behind_seconds', type: 'gauge' },
        help: 'The age of the oldest entry of the audit log that the destination has not accepted.',
        samples: states.map(({ labels, behindSeconds: value }) => ({ labels, value })),
      },
      {
        ...{ name: 'gatehouse_audit_exported_total', type: 'counter' },
        help: 'Entries of the audit log that the destination has accepted.',
        samples: states.map(({ labels, exported: value }) => ({ labels, value })),
      },
      {
        ...{ name: 'gatehouse_audit_export_lost_total', type: 'counter' },
        help: 'Entries of the audit log that the destination has rejected, or that expired before it accepted them.',
        samples: lost,
      },
    ];
  }

  return {
    parts: exporters,
    metrics,
    extensions: { auditListeners: [countEntry], auditDestinations: destinations.map(({ name }) => name) },
  };
}
