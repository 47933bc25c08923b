import PDFDocument from 'pdfkit';
import type { ReportDefinition, Row } from '../report-types.ts';
import { amountsAsText } from './amounts.ts';
import { type Bar, createBars } from './bars.ts';
import {
  COLOURS,
  createTable,
  FONTS,
  MARGIN,
  type PdfDocument,
  ROW_HEIGHT,
  SIZES,
  widthOf,
} from './pdf-table.ts';

/** About so many lines are drawn behind a chart. */
const LINES = 4;

/** The maximum number of rows, as people read the document; CSV and JSON have all rows. */
export const PDF_ROWS = 10_000;

const FOOTER = 24;
const CHART_HEIGHT = 120;
/** The widest that a bar gets, so that one of few is no block. */
const BAR_WIDTH = 24;
const LABEL_WIDTH = 60;
/** By so many rows the widths of the columns are chosen. */
const SAMPLE = 200;

/**
 * A report as PDF: title and period, a chart over time, and a table with its titles on every page. The chart counts all
 * rows; the table ends after PDF_ROWS and says so.
 */
export async function* pdfReport(
  about: { title: string; lines: readonly string[]; timeZone: string },
  definition: Pick<ReportDefinition, 'columns' | 'chart' | 'amounts'>,
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Uint8Array> {
  const { columns, chart } = definition;
  const names = Object.keys(columns);
  const asText = amountsAsText(definition);
  const bars = createBars(about.timeZone);
  const shown: Row[] = [];
  let total = 0;
  // The chart comes first, and needs all rows.
  for await (const rows of batches) {
    total += rows.length;
    for (const row of rows) {
      bars.add(row[chart.at], chart.value === undefined ? 1 : Number(row[chart.value]));
      if (shown.length < PDF_ROWS) shown.push(row);
    }
  }

  const document = new PDFDocument({
    size: 'A4',
    layout: names.length > 6 ? 'landscape' : 'portrait',
    margins: { top: MARGIN, left: MARGIN, right: MARGIN, bottom: MARGIN + FOOTER },
    info: { Title: about.title, Producer: 'Gatehouse' },
    lang: 'en',
    // It would keep the layout of every word.
    fontLayoutCache: false,
  });
  let page = 1;
  writeFooter(document, page);
  document.on('pageAdded', () => {
    page += 1;
    writeFooter(document, page);
  });

  writeHead(document, about);
  writeChart(document, chart.title, bars.bars());
  function cellsOf(row: Row): string[] {
    const texts = asText(row);
    return names.map((name) => cellOf(texts[name]));
  }
  const sample = shown.slice(0, SAMPLE);
  const columnsOfTable = names.map((name) => ({
    title: columns[name] ?? '',
    isNumeric: sample.some((row) => typeof row[name] === 'number'),
  }));
  const table = createTable(document, columnsOfTable, sample.map(cellsOf));
  table.head();
  for (const [i, row] of shown.entries()) {
    table.row(cellsOf(row), i % 2 === 1);
    // Hands over what is ready, so that a document of many pages is never in memory as a whole.
    for (let chunk = document.read(); chunk !== null; chunk = document.read()) yield chunk as Buffer;
  }
  if (total === 0) writeLine(document, 'There is nothing to show for this period.');
  if (total > shown.length) {
    writeLine(
      document,
      `${(total - shown.length).toLocaleString('en')} more rows are not shown here: CSV and JSON have all rows.`,
    );
  }
  document.end();
  for await (const chunk of document) yield chunk as Buffer;
}

function writeHead(
  document: PdfDocument,
  { title, lines }: { title: string; lines: readonly string[] },
): void {
  document.font(FONTS.bold).fontSize(SIZES.title).fillColor(COLOURS.ink).text(title);
  document.font(FONTS.plain).fontSize(SIZES.text).fillColor(COLOURS.soft).moveDown(0.4);
  for (const line of lines) document.text(line);
  document.moveDown(1);
}

function writeLine(document: PdfDocument, text: string): void {
  document.font(FONTS.plain).fontSize(SIZES.text).fillColor(COLOURS.soft);
  document.text(text, MARGIN, document.y + ROW_HEIGHT, { width: widthOf(document) });
}

function writeFooter(document: PdfDocument, page: number): void {
  const { x, y } = document;
  const bottom = document.page.margins.bottom;
  // Below the margin, where text would otherwise begin another page.
  document.page.margins.bottom = 0;
  document.font(FONTS.plain).fontSize(SIZES.cell).fillColor(COLOURS.soft);
  const width = widthOf(document);
  document.text(`Page ${page}`, MARGIN, document.page.height - MARGIN, {
    width,
    align: 'right',
    lineBreak: false,
  });
  document.page.margins.bottom = bottom;
  document.x = x;
  document.y = y;
}

function writeChart(document: PdfDocument, title: string, bars: readonly Bar[]): void {
  if (bars.length === 0) return;
  const top = document.y;
  const scale = scaleOf(Math.max(...bars.map(({ value }) => value)));
  const highest = scale.at(-1) ?? 1;
  document.font(FONTS.bold).fontSize(SIZES.text).fillColor(COLOURS.ink).text(title, MARGIN, top);
  const base = top + 18 + CHART_HEIGHT;
  const [left, right] = [MARGIN + 50, MARGIN + widthOf(document)];
  const step = (right - left) / bars.length;
  const middleOf = (i: number) => left + step * (i + 0.5);
  document.font(FONTS.plain).fontSize(SIZES.cell).fillColor(COLOURS.soft);
  for (const value of scale) {
    const y = base - (value / highest) * CHART_HEIGHT;
    document.moveTo(left, y).lineTo(right, y).lineWidth(0.5).stroke(COLOURS.line);
    const label = value.toLocaleString('en');
    document.text(label, MARGIN, y - 4, { width: left - MARGIN - 6, align: 'right', lineBreak: false });
  }
  const width = Math.min(step * 0.7, BAR_WIDTH);
  for (const [i, { value }] of bars.entries()) {
    const height = (value / highest) * CHART_HEIGHT;
    document.rect(middleOf(i) - width / 2, base - height, width, height).fill(COLOURS.bar);
  }
  document.fillColor(COLOURS.soft);
  // The first and the last, below their bars.
  for (const i of new Set([0, bars.length - 1])) {
    const x = Math.min(Math.max(middleOf(i), left + LABEL_WIDTH / 2), right - LABEL_WIDTH / 2);
    document.text(bars[i]?.label ?? '', x - LABEL_WIDTH / 2, base + 4, {
      width: LABEL_WIDTH,
      align: 'center',
      lineBreak: false,
    });
  }
  document.x = MARGIN;
  document.y = base + 28;
}

/** On one line, and a time to the minute. */
function cellOf(value: string | number | null | undefined): string {
  const text = String(value ?? '').replace(/\s+/g, ' ');
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? text.slice(0, 16).replace('T', ' ') : text;
}

/**
 * The values of the lines behind a chart of counts, from 0 to the first that is not below the highest: whole multiples of 1, 2
 * or 5 times a power of ten.
 */
export function scaleOf(highest: number): number[] {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(highest / LINES)));
  const step = ([1, 2, 5].find((n) => n * power * LINES >= highest) ?? 10) * power;
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, i) => i * step);
}
