/** The scripts in common use today (UAX #31, Table 5, Unicode 17), but for Latin, Greek and Cyrillic. */
const SCRIPTS = [
  'Arabic',
  'Armenian',
  'Bengali',
  'Bopomofo',
  'Devanagari',
  'Ethiopic',
  'Georgian',
  'Gujarati',
  'Gurmukhi',
  'Han',
  'Hangul',
  'Hebrew',
  'Hiragana',
  'Kannada',
  'Katakana',
  'Khmer',
  'Lao',
  'Malayalam',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Tamil',
  'Telugu',
  'Thaana',
  'Thai',
  'Tibetan',
];

/** The scripts of which a name may have letters together. Greek and Cyrillic letters look like Latin ones. */
const COMBINATIONS = [
  ['Greek'],
  ['Cyrillic'],
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
  ...SCRIPTS.map((script) => ['Latin', script]),
];

const scriptClass = (scripts: readonly string[]) =>
  `[${['Common', 'Inherited', ...scripts].map((script) => `\\p{Script_Extensions=${script}}`).join('')}]*`;
const MODERATELY_RESTRICTIVE = new RegExp(`^(?:${COMBINATIONS.map(scriptClass).join('|')})$`, 'u');

/**
 * Whether a name keeps to one script, as far as names in it do: the level Moderately Restrictive of UTS #39 §5.2. It is
 * judged in the form in which names are compared, where mathematical letters, for example, are those that they look like.
 */
export function keepsToOneScript(name: string): boolean {
  return MODERATELY_RESTRICTIVE.test(name.normalize('NFKC'));
}
