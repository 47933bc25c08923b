import { readFileSync } from 'node:fs';
import { AUDIT_ACTIONS } from '@gatehouse/domain/audit-actions';
import t from 'tap';

const FILE = '../../../../../deploy/observability/grafana/dashboards/audit.json';

t.test('the dashboard of the audit log shows every action once', async (t) => {
  const { panels } = JSON.parse(readFileSync(new URL(FILE, import.meta.url), 'utf8')) as {
    panels: { targets: { expr: string }[] }[];
  };
  const shown = panels
    .flatMap(({ targets }) => targets)
    .flatMap(({ expr }) => [...(/sum by \(action\).*\baction=~"([^"]+)"/.exec(expr) ?? [])].slice(1))
    .map((pattern) => new RegExp(`^(?:${pattern})$`));
  for (const action of Object.keys(AUDIT_ACTIONS)) {
    const count = shown.filter((it) => it.test(action)).length;
    // The panels of accounts and of administration both have it.
    t.equal(count, action === 'account.impersonated' ? 2 : 1, action);
  }
});
