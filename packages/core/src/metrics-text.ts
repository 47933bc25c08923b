export type MetricSample = { labels?: Readonly<Record<string, string>>; value: number };

/** A metric for operators, by the naming rules of https://prometheus.io/docs/practices/naming/. */
export type MetricFamily = {
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  samples: readonly MetricSample[];
};

/** A histogram by the same rules. The counts are per bucket and not cumulative; there is one more than there are bounds. */
export type HistogramFamily = {
  name: string;
  help: string;
  type: 'histogram';
  bounds: readonly number[];
  samples: readonly { labels: Readonly<Record<string, string>>; counts: readonly number[]; sum: number }[];
};

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Writes metrics in the text format of Prometheus, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Families of the same name become one.
 */
export function metricsText(families: readonly (MetricFamily | HistogramFamily)[]): string {
  const lines: string[] = [];
  for (const [name, same] of Map.groupBy(families, (family) => family.name)) {
    const [first] = same;
    if (first === undefined) continue;
    lines.push(`# HELP ${name} ${escapeHelp(first.help)}`, `# TYPE ${name} ${first.type}`);
    for (const family of same) {
      if (family.type === 'histogram') lines.push(...histogramLines(family));
      else lines.push(...family.samples.map(({ labels, value }) => line(name, labels, value)));
    }
  }
  return `${lines.join('\n')}\n`;
}

function histogramLines({ name, bounds, samples }: HistogramFamily): string[] {
  return samples.flatMap(({ labels, counts, sum }) => {
    let count = 0;
    const buckets = counts.map((inBucket, i) => {
      count += inBucket;
      return line(`${name}_bucket`, { ...labels, le: numberText(bounds[i] ?? Infinity) }, count);
    });
    return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
  });
}

function line(name: string, labels: Readonly<Record<string, string>> = {}, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

const escapeHelp = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"');
