import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

const FOLDER = resolve(import.meta.dirname, '../../observability');
const read = (path: string) => readFileSync(join(FOLDER, path), 'utf8');

const RULE_TESTS = ['rules.test.yml', 'rules.days.test.yml', 'dependencies.test.yml'];

type Rule = { record?: string; alert?: string; expr: string; annotations?: { runbook_url: string } };
type AlertTest = { alertname: string; exp_alerts?: unknown[] };
const rulesIn = (path: string) =>
  (parse(read(path)).groups as { rules: Rule[] }[]).flatMap((group) => group.rules);
const ownRules = rulesIn('rules.yml');
// monitoring.full.test.ts has their metrics.
const rules = [...ownRules, ...rulesIn('dependencies.yml')];
const recorded = rules.flatMap(({ record = [] }) => record);
const alerts = rules.filter(({ alert }) => alert !== undefined);

type Panel = { title: string; targets: { expr: string }[] };
type Dashboard = { panels: Panel[]; templating: { list: { query: { query: string } }[] } };
const dashboards = globSync('grafana/dashboards/*.json', { cwd: FOLDER }).map(
  (path) => JSON.parse(read(path)) as Dashboard,
);
const queries = dashboards.flatMap(({ templating }) => templating.list.map(({ query }) => query.query));
/** The expressions of the dashboards, with values for what Grafana replaces. */
const shown = dashboards.flatMap(({ panels }) =>
  panels.flatMap(({ targets }) =>
    targets.map(({ expr }) =>
      expr.replaceAll(/\$__(?:rate_interval|range)\b/g, '5m').replaceAll('$service', '.*'),
    ),
  ),
);

/** The metrics that an expression reads: what is left without texts, labels, ranges, functions and operators. */
function metricsIn(expr: string): string[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '');
  const words = [...bare.matchAll(/[a-z_:][\w:]*\b(?!\s*\()/gi)].map(([word]) => word);
  return words.filter((word) => !['or', 'and', 'unless', 'service'].includes(word));
}

t.test('every metric that is used is one that a running service has', async (t) => {
  const { base } = await startGatehouse(t, temporaryDir(t));
  await fetch(`${base}/health/ready`);
  let text = '';
  const scrape = async () => {
    text = await (await fetch(`${base}/metrics`)).text();
    return text;
  };
  await until(async () => (await scrape()).includes('gatehouse_jobs_oldest_seconds{'), 20_000);
  // Of Prometheus itself, and recorded by it.
  const known = new Set(['up', 'ALERTS', ...recorded]);
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      known.add(name + suffix);
  }
  const used = [...ownRules.map(({ expr }) => expr), ...shown, ...queries].flatMap(metricsIn);
  t.ok(used.length > 50);
  t.same(
    [...new Set(used)].filter((name) => !known.has(name)),
    [],
  );
  t.match(text, /^gatehouse_ready\{service="identity"\} 1$/m);
  for (const name of ['revocations_behind_seconds', 'mongodb_connections_in_use']) {
    t.match(text, new RegExp(`^gatehouse_${name}\\{service="notifications"\\} [0-2](?:\\.\\d+)?$`, 'm'));
  }
  t.match(
    text,
    /^gatehouse_signing_key_rotation_seconds\{service="identity",algorithm="ES256"\} 77\d{5}(?:\.\d+)?$/m,
  );
});

t.test('every alert has a runbook, and a test that it fires when it must and not before', async (t) => {
  const runbooks = readFileSync(join(FOLDER, '../../docs/guides/runbooks.md'), 'utf8');
  const tests = RULE_TESTS.flatMap((file) => parse(read(file), { merge: true }).tests).flatMap(
    (group: { alert_rule_test: AlertTest[] }) => group.alert_rule_test,
  );
  t.ok(alerts.length >= 8);
  for (const { alert = '', annotations } of alerts) {
    t.equal(annotations?.runbook_url, `docs/guides/runbooks.md#${alert.toLowerCase()}`);
    t.match(runbooks, `\n## ${alert}\n`);
    const own = tests.filter(({ alertname }) => alertname === alert);
    t.ok(
      own.some(({ exp_alerts: expected = [] }) => expected.length > 0),
      `${alert} fires`,
    );
    t.ok(
      own.some(({ exp_alerts: expected = [] }) => expected.length === 0),
      `${alert} does not fire too early`,
    );
  }
  const described = [...runbooks.matchAll(/^## (Gatehouse\w+)$/gm)].map(([, name]) => name);
  t.same(
    described.sort(),
    alerts.map(({ alert }) => alert).sort(),
    'and no runbook is for an alert that is gone',
  );
});

const hasAmtool = spawnSync('amtool', ['--version']).status === 0;
t.test('amtool', { skip: !hasAmtool && 'amtool is not there' }, async (t) => {
  const amtool = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('amtool', args, { cwd: FOLDER, encoding: 'utf8' });
    t.equal(status, 0, `amtool ${args.join(' ')}\n${status === 0 ? '' : stdout + stderr}`);
    return stdout.trim();
  };
  amtool('check-config', 'alertmanager.yml');
  for (const severity of ['page', 'ticket'])
    t.equal(
      amtool('config', 'routes', 'test', '--config.file=alertmanager.yml', `severity=${severity}`),
      severity,
    );
});

t.test('Alertmanager silences alerts that there are, and its secrets are in files', async (t) => {
  const text = read('alertmanager.yml');
  const names = [...text.matchAll(/Gatehouse\w+/g)].map(([name]) => name);
  const known = alerts.map(({ alert }) => alert);
  t.same(
    names.filter((name) => !known.includes(name)),
    [],
  );
  t.notMatch(text, /(?:password|_key|secret|_url|token): /);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
t.test('promtool', { skip: !hasPromtool && 'promtool is not there' }, async (t) => {
  const dashboardRules = join(temporaryDir(t), 'dashboard.yml');
  const group = { name: 'dashboard', rules: shown.map((expr, i) => ({ record: `panel:${i}`, expr })) };
  writeFileSync(dashboardRules, stringify({ groups: [group] }));
  for (const args of [
    ['check', 'config', 'prometheus.yml'],
    ['test', 'rules', ...RULE_TESTS],
    ['check', 'rules', dashboardRules],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
    t.equal(status, 0, `promtool ${args.join(' ')}\n${status === 0 ? '' : stdout + stderr}`);
  }
});
