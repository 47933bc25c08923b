import { date, type FieldDefinition, id, inputsOf, type NewOf, number, oneOf, text } from './fields.ts';
import { foldedKey } from './folded-key.ts';
import { decimalsOf, minorUnits } from './money.ts';

export const PRODUCT_STATUSES = ['active', 'inactive'] as const;

/** Begins the key of products without a sku; their ids follow, so that it is unique. */
export const NO_SKU = '\0';

/**
 * The fields of a product. Commerce makes documents, bodies, views, filters and the search of them, and the dashboard forms and
 * CSV.
 */
export const PRODUCT = {
  id: id(),
  name: text()
    .list({ stored: 'name_key', type: 'folded' })
    .input({ label: 'Name', max: 200, searched: true }),
  description: text().default(null).input({ label: 'Description', initial: null, max: 4096, searched: true }),
  /** Stored as an empty text without one. */
  category: text()
    .list()
    .convert<string | null>({
      read: (stored) => (stored === '' ? null : stored),
      write: (category) => category ?? '',
    })
    .input({ label: 'Category', initial: null, max: 100, searched: true }),
  /** In minor units of the currency. Lists compare the amount, and callers set it, such as 12.5. */
  price: number().stored('price_minor').list({ stored: 'price' }).input({ label: 'Price' }),
  /** An ISO 4217 code. */
  currency: text().list().input({ label: 'Currency' }),
  /** The number of pieces that can be ordered. */
  stock: number().list().input({ label: 'Stock', initial: 0, max: 1_000_000_000 }),
  /** Unique among the products that have one. */
  sku: text()
    .default(null)
    .list({ stored: 'sku_key', type: 'folded', unique: true, missingPrefix: NO_SKU })
    .input({ label: 'SKU', initial: null, max: 64, searched: true }),
  status: oneOf(PRODUCT_STATUSES)
    .list({ mostCommon: 'active' })
    .input({ label: 'Status', initial: 'active' }),
  /** How often people and applications have changed it. */
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date().list(),
};

export type NewProduct = NewOf<typeof PRODUCT>;
export type ProductChanges = Partial<NewProduct>;

/**
 * The problems of a new product, or of changes of the current one: what is valid depends on its currency. A stock that stays as it
 * is may be beyond the maximum, since cancelled orders return theirs to whatever an edit has set.
 */
export function productProblems(
  input: ProductChanges,
  current?: { currency: string; stock: number },
): { field: string; message: string }[] {
  const problems: { field: string; message: string }[] = [];
  for (const { name: field, definition } of inputsOf(PRODUCT)) {
    const isKept = field === 'stock' && input.stock === current?.stock;
    const message = isKept ? undefined : limitProblem(definition, input[field]);
    if (message !== undefined) problems.push({ field, message });
  }
  const { price, currency = current?.currency } = input;
  const decimals = currency === undefined ? undefined : decimalsOf(currency);
  if (input.currency !== undefined && decimals === undefined) {
    problems.push({ field: 'currency', message: 'must be the ISO 4217 code of a currency, such as USD' });
  } else if (price !== undefined && currency !== undefined && minorUnits(price, currency) === undefined) {
    const most = decimals === 0 ? 'without decimals' : `with at most ${decimals} decimals`;
    problems.push({ field: 'price', message: `must be a number of ${currency} from 0, ${most}` });
  }
  if (current !== undefined && currency !== current.currency && price === undefined) {
    problems.push({ field: 'price', message: 'is required with another currency' });
  }
  return problems;
}

function limitProblem({ input, list }: FieldDefinition, value: unknown): string | undefined {
  const max = input?.max;
  if (max === undefined) return undefined;
  if (typeof value === 'number') {
    const isValid = Number.isInteger(value) && value >= 0 && value <= max;
    return isValid ? undefined : `must be a whole number from 0 to ${max}`;
  }
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '' || [...value].length > max) {
    return `must have 1 to ${max} characters, not only spaces`;
  }
  // Sorted and found by that key, it would be missing from lists, and could not be ordered.
  const isInvisible = list?.type === 'folded' && foldedKey(value).trim() === '';
  return isInvisible ? 'must consist of visible characters' : undefined;
}
