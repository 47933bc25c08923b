import { createRequire } from 'node:module';
import type PDFDocument from 'pdfkit';

export type PdfDocument = InstanceType<typeof PDFDocument>;

export const FONTS = {
  // The fonts that every reader has know Latin letters only.
  plain: createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'),
  bold: createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'),
};
export const COLOURS = { ink: '#16211e', soft: '#4d5c57', line: '#d3dad6', bar: '#0b5a4f', shade: '#f1f3f1' };
export const MARGIN = 40;
export const SIZES = { title: 18, text: 9, cell: 7 };
export const ROW_HEIGHT = 14;
const CELL_PADDING = 5;
/** The widths of columns are between these numbers of characters, and what the padding takes. */
const CHARACTERS = { min: 5, max: 34, padding: 3 };
/** The maximum number of characters of a cell that are measured. */
const MAX_CHARACTERS = 120;
const ELLIPSIS = '…';

/** Between the margins, in points. */
export function widthOf(document: PdfDocument): number {
  return document.page.width - 2 * MARGIN;
}

/**
 * Returns a function that cuts texts to a width, in points, before they are laid out: laying out takes long, and far more
 * memory than the text. The width of a text is taken to be that of its characters one by one, which it hardly exceeds.
 */
function createCut(document: PdfDocument, font: string): (text: string, width: number) => string {
  const widths = new Map<string, number>();
  function widthOfCharacter(character: string): number {
    const known = widths.get(character);
    if (known !== undefined) return known;
    const width = document.font(font).fontSize(SIZES.cell).widthOfString(character);
    widths.set(character, width);
    return width;
  }
  return (text, width) => {
    let [taken, characters, end, cutAt] = [0, 0, 0, 0];
    for (const character of text) {
      taken += widthOfCharacter(character);
      characters += 1;
      if (taken > width || characters > MAX_CHARACTERS) return text.slice(0, cutAt).trimEnd() + ELLIPSIS;
      end += character.length;
      if (taken + widthOfCharacter(ELLIPSIS) <= width) cutAt = end;
    }
    return text;
  };
}

/** Rows of one line each: what is longer is cut. A column gets a share of the width by its longest cell in the sample. */
export function createTable(
  document: PdfDocument,
  columns: readonly { title: string; isNumeric: boolean }[],
  sample: readonly (readonly string[])[],
) {
  const titles = columns.map(({ title }) => title);
  const lengths = titles.map((title, i) => {
    const longest = Math.max(title.length, ...sample.map((cells) => cells[i]?.length ?? 0));
    return Math.min(Math.max(longest, CHARACTERS.min), CHARACTERS.max) + CHARACTERS.padding;
  });
  const all = lengths.reduce((sum, length) => sum + length, 0);
  const widths = lengths.map((length) => (widthOf(document) * length) / all);

  const cuts = {
    plain: createCut(document, FONTS.plain),
    bold: createCut(document, FONTS.bold),
  };

  function line(cells: readonly string[], font: keyof typeof FONTS, colour: string): void {
    const y = document.y;
    const texts = cells.map((cell, i) => cuts[font](cell, (widths[i] ?? 0) - 2 * CELL_PADDING));
    document.font(FONTS[font]).fontSize(SIZES.cell).fillColor(colour);
    let x = MARGIN;
    for (const [i, text] of texts.entries()) {
      const width = widths[i] ?? 0;
      const indent = columns[i]?.isNumeric
        ? width - CELL_PADDING - document.widthOfString(text)
        : CELL_PADDING;
      // Without a width, for which every word would be laid out several times.
      document.text(text, x + indent, y + 3, { lineBreak: false });
      x += width;
    }
    document.x = MARGIN;
    document.y = y + ROW_HEIGHT;
  }

  function head(): void {
    document.rect(MARGIN, document.y, widthOf(document), ROW_HEIGHT).fill(COLOURS.bar);
    line(titles, 'bold', '#ffffff');
  }

  return {
    head,
    row(cells: readonly string[], isShaded: boolean): void {
      if (document.y + ROW_HEIGHT > document.page.height - document.page.margins.bottom) {
        document.addPage();
        head();
      }
      if (isShaded) document.rect(MARGIN, document.y, widthOf(document), ROW_HEIGHT).fill(COLOURS.shade);
      line(cells, 'plain', COLOURS.ink);
    },
  };
}
