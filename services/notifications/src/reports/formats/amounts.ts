import { decimalsOf } from '@gatehouse/domain/money';
import type { ReportDefinition, Row } from '../report-types.ts';

/** Rows for people: the amounts are text with all decimals of their currency, such as 12.50 EUR and 1200 JPY. */
export function amountsAsText({ amounts = [] }: Pick<ReportDefinition, 'amounts'>): (row: Row) => Row {
  return (row) => {
    const decimals = decimalsOf(String(row.currency));
    const texts = amounts.flatMap((name) => {
      const value = row[name];
      return typeof value === 'number' && decimals !== undefined ? [[name, value.toFixed(decimals)]] : [];
    });
    return { ...row, ...Object.fromEntries(texts) };
  };
}
