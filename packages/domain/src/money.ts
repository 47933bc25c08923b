/**
 * Money is a whole number of minor units inside (cents of USD, whole JPY, thousandths of KWD) and a number with the
 * decimals of its currency outside, so that no sum is one of binary fractions.
 */

/** The active currencies of ISO 4217 by their numbers of decimals. Codes without minor units, such as XAU, are no prices. */
const CODES_BY_DECIMALS: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY ' +
    'COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS ' +
    'INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR ' +
    'MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP ' +
    'STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const DECIMALS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES_BY_DECIMALS).flatMap(([decimals, codes]) =>
    codes.split(' ').map((code): [string, number] => [code, Number(decimals)]),
  ),
);

/** The codes of all currencies that prices can have. */
export const CURRENCIES: readonly string[] = [...DECIMALS.keys()].sort();

/** In minor units. Every number of at most 15 digits is exact as a double, with its decimals too. */
export const MAX_MINOR_UNITS = 999_999_999_999_999;

/** The number of decimals of an active ISO 4217 currency; undefined for other codes. */
export function decimalsOf(currency: string): number | undefined {
  return DECIMALS.get(currency);
}

/**
 * The minor units of an amount such as 12.5; undefined if it is negative, too large, or has more decimals than the
 * currency.
 */
export function minorUnits(amount: number, currency: string): number | undefined {
  const decimals = decimalsOf(currency);
  // The shortest text of the number: as it was written in JSON, without trailing zeros.
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(String(amount)) ?? [];
  if (decimals === undefined || whole === undefined || fraction.length > decimals) return undefined;
  const minor = Number(whole + fraction.padEnd(decimals, '0'));
  return minor <= MAX_MINOR_UNITS ? minor : undefined;
}

/** The amount of these minor units, as a number with the decimals of the currency. */
export function amountOf(minor: number, currency: string): number {
  return minor / 10 ** (decimalsOf(currency) ?? 0);
}
