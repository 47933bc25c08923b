// Draws each `.plot` from its table, which stays as the text of what is drawn.
/* global uPlot */

const HEIGHT = 176;

/** The rows of a plot's table: times in seconds, and a list of values for each further column. */
function readTable(table) {
  const rows = [...table.tBodies[0].rows];
  const times = rows.map((row) => Date.parse(row.cells[0].firstElementChild.dateTime) / 1000);
  const columns = [...table.tHead.rows[0].cells].slice(1);
  const values = columns.map((_, at) =>
    rows.map((row) => {
      const text = row.cells[at + 1].dataset.value;
      return text === undefined || text === '' ? null : Number(text);
    }),
  );
  return { data: [times, ...values], names: columns.map((cell) => cell.textContent) };
}

function draw(figure) {
  const target = figure.querySelector('.canvas');
  const { data, names } = readTable(figure.querySelector('table'));
  const style = getComputedStyle(figure);
  const colour = (name) => style.getPropertyValue(name).trim();
  const lines = [colour('--accent'), colour('--bad'), colour('--focus')];
  const axis = {
    stroke: colour('--soft-ink'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  };
  /** A time below its tick: the day, too, where it begins, and at the first tick. */
  const timeAt = (seconds, i, step) => {
    const date = new Date(seconds * 1000);
    const time = date.toISOString().slice(11, 16);
    const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    if (step >= 86_400) return day;
    return i === 0 || time === '00:00' ? `${time}\n${day}` : time;
  };
  const compact = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });
  target.replaceChildren();
  return new uPlot(
    {
      width: Math.max(target.clientWidth, 160),
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 4)] } },
      axes: [
        {
          ...axis,
          space: 64,
          values: (_, splits, __, ___, step) => splits.map((it, i) => timeAt(it, i, step)),
        },
        { ...axis, size: 44, values: (_, splits) => splits.map((it) => compact.format(it)) },
      ],
      series: [
        {},
        ...names.map((label, at) => ({
          label,
          stroke: lines[at % lines.length],
          width: 2,
          // Told apart without colours, too.
          dash: [undefined, [6, 4], [2, 3]][at % lines.length],
          fill: names.length === 1 ? `${lines[0]}22` : undefined,
          points: { show: data[0].length < 3 },
        })),
      ],
    },
    data,
    target,
  );
}

const plots = new Map();

function drawAll() {
  for (const figure of document.querySelectorAll('.plot:has(table)')) {
    plots.get(figure)?.destroy();
    plots.set(figure, draw(figure));
  }
  for (const figure of plots.keys()) if (!figure.isConnected) plots.delete(figure);
}

new ResizeObserver(() => {
  for (const [figure, plot] of plots) {
    const width = Math.max(figure.querySelector('.canvas').clientWidth, 160);
    if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
  }
}).observe(document.body);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
document.addEventListener('htmx:afterSettle', drawAll);
drawAll();
