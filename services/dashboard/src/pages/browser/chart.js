// Draws each `.plot` from its table, which stays as the text of what is drawn.
/* global uPlot */

const HEIGHT = 176;
const BAR_SHARE = 0.8;
/** Steps between the ticks of what is counted. */
const WHOLE = Array.from({ length: 15 }, (_, i) => [1, 2, 5].map((it) => it * 10 ** i)).flat();

/** That of the element around the canvas, which is not displayed while it is empty. */
const widthOf = (canvas) => Math.max(canvas.parentElement.clientWidth, 160);

/** The rows of a plot's table: times in seconds, and a list of values for each further column. */
function readTable(table) {
  const rows = [...table.tBodies[0].rows];
  const times = rows.map((row) => Date.parse(row.cells[0].firstElementChild.dateTime) / 1000);
  const columns = [...table.tHead.rows[0].cells].slice(1);
  const cells = columns.map((_, at) => rows.map((row) => row.cells[at + 1]));
  const numberOf = ({ dataset: { value } }) => (value ? Number(value) : null);
  return {
    times,
    values: cells.map((column) => column.map(numberOf)),
    texts: cells.map((column) => column.map((cell) => cell.textContent)),
    names: columns.map((cell) => cell.textContent),
  };
}

const compact = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

function draw(figure) {
  const target = figure.querySelector('.canvas');
  const readout = figure.querySelector('.readout');
  const { times, values, texts, names } = readTable(figure.querySelector('table'));
  const seconds = Number(figure.dataset.seconds);
  const isBars = figure.classList.contains('bars');
  const style = getComputedStyle(figure);
  const colour = (name) => style.getPropertyValue(name).trim();
  const colours = ['--line-1', '--line-2', '--line-3'].map(colour);
  const axis = {
    stroke: colour('--soft-ink'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  };
  // Days are those of UTC, whatever the zone of the reader.
  const timeZone = seconds === 86_400 ? 'UTC' : document.documentElement.dataset.timeZone;
  const textOf = (options) => {
    const format = new Intl.DateTimeFormat('en-GB', { timeZone, ...options });
    return (at) => format.format(new Date(at * 1000));
  };
  const day = textOf({ day: 'numeric', month: 'short' });
  const clock = textOf({ hour: '2-digit', minute: '2-digit' });
  /** A time below its tick: the day, too, where it begins, and at the first tick. */
  const tick = (at, i, step) => {
    if (step >= 86_400) return day(at);
    return i === 0 || clock(at) === '00:00' ? `${clock(at)}\n${day(at)}` : clock(at);
  };
  const read = (i) => {
    const from = seconds === 86_400 ? day(times[i]) : `${day(times[i])}, ${clock(times[i])}`;
    return `${from}: ${names.map((name, at) => `${name} ${texts[at][i]}`).join(', ')}`;
  };
  const width = (seconds * BAR_SHARE) / names.length;
  const bars = (at) =>
    uPlot.paths.bars({
      align: 1,
      disp: {
        x0: {
          unit: 1,
          values: () => times.map((time) => time + (seconds * (1 - BAR_SHARE)) / 2 + at * width),
        },
        size: { unit: 1, values: () => [width] },
      },
    });
  /** A value between two that are missing has no line to be seen by. */
  const alone = (_, at) =>
    times.flatMap((__, i) => {
      const [before, value, after] = [values[at - 1][i - 1], values[at - 1][i], values[at - 1][i + 1]];
      return value !== null && before == null && after == null ? [i] : [];
    });

  target.replaceChildren();
  const plot = new uPlot(
    {
      width: widthOf(target),
      height: HEIGHT,
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), timeZone),
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false },
        points: { show: !isBars, size: 6 },
        // A bar has the time from its beginning on.
        dataIdx: (_, __, nearest, at) => {
          const i = times.findLastIndex((time) => time <= at);
          return isBars && i !== -1 ? i : nearest;
        },
      },
      hooks: {
        setCursor: [
          ({ cursor: { idxs } }) => {
            const i = idxs?.[1];
            readout.textContent = i == null ? '' : read(i);
          },
        ],
      },
      scales: {
        x: { range: () => [times[0], times.at(-1) + (isBars || times.length === 1 ? seconds : 0)] },
        y: { range: (_, __, max) => [0, Math.max(max * 1.1, 4)] },
      },
      axes: [
        {
          ...axis,
          space: 64,
          values: (_, splits, __, ___, step) => splits.map((at, i) => tick(at, i, step)),
        },
        {
          ...axis,
          size: 44,
          ...(isBars ? { incrs: WHOLE } : {}),
          values: (_, splits) => splits.map((it) => compact.format(it)),
        },
      ],
      series: [
        {},
        ...names.map((label, at) => {
          const stroke = colours[at % colours.length];
          // Told apart without colours, too.
          return isBars
            ? {
                label,
                stroke,
                width: 1,
                fill: [stroke, `${stroke}44`, 'transparent'][at % 3],
                dash: [undefined, undefined, [2, 2]][at % 3],
                paths: bars(at),
                points: { show: false },
              }
            : {
                label,
                stroke,
                width: 2,
                dash: [undefined, [6, 4], [2, 3]][at % 3],
                points: { show: false, filter: alone },
              };
        }),
      ],
    },
    // A bar without a height is not drawn.
    [times, ...(isBars ? values.map((column) => column.map((it) => it || null)) : values)],
    target,
  );
  readWithKeys(target, { plot, times, seconds: isBars ? seconds : 0 });
  return plot;
}

/** Moves through the times of a plot that has the focus. */
function readWithKeys(target, { plot, times, seconds }) {
  let at = times.length - 1;
  const show = () => plot.setCursor({ left: plot.valToPos(times[at] + seconds / 2, 'x'), top: 0 });
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -times.length, End: times.length };
  target.onfocus = show;
  target.onblur = () => plot.setCursor({ left: -10, top: -10 });
  target.onkeydown = (event) => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    at = Math.min(times.length - 1, Math.max(0, at + step));
    show();
  };
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
    const width = widthOf(figure.querySelector('.canvas'));
    if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
  }
}).observe(document.body);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
document.addEventListener('htmx:afterSettle', drawAll);
drawAll();
