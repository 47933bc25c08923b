import { AUTHORITY, AUTHORITY_EVENTS, type AuthorityEvent, type Outcome } from '@gatehouse/identity';
import { markdownTable } from './markdown-table.ts';

type Cells = Readonly<Partial<Record<Outcome, Readonly<Record<string, readonly AuthorityEvent[]>>>>>;

const COLUMNS: readonly (readonly [title: string, ...outcomes: Outcome[]])[] = [
  ['ends when', 'ends'],
  ['pauses, asks again or is limited when', 'pauses', 'asks', 'bounded'],
  ['stays when', 'stays'],
];
/** How a cell says which of the outcomes of its column it is. */
const LABELS: Record<Outcome, string> = {
  ends: '',
  pauses: 'pauses: ',
  asks: 'asks again: ',
  bounded: 'is limited: ',
  stays: '',
};

/** The table of AUTHORITY, with the outcome of each event for each capability, and the numbered reasons below it. */
export function authorityTable(): string {
  const reasons = new Map<string, number>();
  const numberOf = (reason: string) => {
    const number = reasons.get(reason) ?? reasons.size + 1;
    reasons.set(reason, number);
    return number;
  };
  const cell = (cells: Cells, outcomes: readonly Outcome[]) =>
    outcomes
      .flatMap((outcome) =>
        Object.entries(cells[outcome] ?? {}).map(([reason, events]) => {
          const texts = events.map((event) => AUTHORITY_EVENTS[event]).join('; ');
          return `• ${LABELS[outcome]}${texts} (${numberOf(reason)})`;
        }),
      )
      .join('<br>');
  const rows = Object.values(AUTHORITY).map(({ name, givenBy, bound, cells }) => [
    `**${name}**<br>given by: ${givenBy}<br>bounded by: ${bound}`,
    ...COLUMNS.map(([, ...outcomes]) => cell(cells, outcomes)),
  ]);
  const table = markdownTable(['access', ...COLUMNS.map(([title]) => title)], rows);
  const notes = [...reasons].map(([reason, number]) => `${number}. ${sentence(reason)}`);
  return `\n${table}\n\nThe numbers are reasons:\n\n${notes.join('\n')}\n\n`;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
