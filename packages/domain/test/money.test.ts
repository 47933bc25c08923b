import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { amountOf, decimalsOf, MAX_MINOR_UNITS, minorUnits } from '../src/money.ts';

const CURRENCIES = Intl.supportedValuesOf('currency').filter((code) => decimalsOf(code) !== undefined);

t.test('currencies of ISO 4217', async (t) => {
  t.ok(CURRENCIES.length > 140, 'most codes are those that the runtime knows, too');
  const decimals = { USD: 2, EUR: 2, JPY: 0, KRW: 0, KWD: 3, BHD: 3, IQD: 3, LAK: 2, CLF: 4, ISK: 0 };
  for (const [code, expected] of Object.entries(decimals)) t.equal(decimalsOf(code), expected, code);
  // Not active, without minor units, or no codes at all.
  for (const code of ['DEM', 'HRK', 'XAU', 'XXX', 'XTS', 'usd', 'US', '', 'constructor'])
    t.equal(decimalsOf(code), undefined, code);
});

t.test('an amount of at most 15 digits is exact, in both directions', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CURRENCIES),
      fc.integer({ min: 0, max: MAX_MINOR_UNITS }),
      (currency, minor) => {
        const amount = amountOf(minor, currency);
        assert.equal(minorUnits(amount, currency), minor);
        // As it goes over the wire.
        assert.equal(minorUnits(JSON.parse(JSON.stringify(amount)), currency), minor);
      },
    ),
    { numRuns: 2000 },
  );
});

t.test('amounts that are none', async (t) => {
  const cases: [amount: number, currency: string][] = [
    [12.505, 'USD'],
    [0.1 + 0.2, 'USD'],
    [0.5, 'JPY'],
    [1.0005, 'KWD'],
    [-1, 'USD'],
    [1e-7, 'USD'],
    [1e13, 'USD'],
    [1e21, 'JPY'],
    [Number.NaN, 'USD'],
    [Number.POSITIVE_INFINITY, 'USD'],
    [1, 'XXX'],
  ];
  for (const [amount, currency] of cases)
    t.equal(minorUnits(amount, currency), undefined, `${amount} ${currency}`);
  t.equal(minorUnits(-0, 'USD'), 0);
  t.equal(minorUnits(1.1, 'USD'), 110);
});
