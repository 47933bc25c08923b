import type { FieldProblem } from '@gatehouse/core/errors';
import { date, type EntityOf, id, type ListFieldOf, number, oneOf, text } from '@gatehouse/domain/fields';
import { foldedKey } from '@gatehouse/domain/folded-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import { decimalsOf, minorUnits } from '@gatehouse/domain/money';

export const PRODUCT_STATUSES = ['active', 'inactive'] as const;
export type ProductStatus = (typeof PRODUCT_STATUSES)[number];

/** Begins the key of products without a sku; their ids follow, so that it is unique. */
export const NO_SKU = '\0';

export const PRODUCT = {
  id: id(),
  name: text().list({ stored: 'name_key', type: 'folded' }),
  description: text().default(null),
  /** Stored as an empty text without one. */
  category: text()
    .list()
    .convert<string | null>({
      read: (stored) => (stored === '' ? null : stored),
      write: (category) => category ?? '',
    }),
  /** In minor units of the currency. Lists compare the amount. */
  price: number().stored('price_minor').list({ stored: 'price' }),
  /** An ISO 4217 code. */
  currency: text().list(),
  /** The number of pieces that can be ordered. */
  stock: number().list(),
  /** Unique among the products that have one. */
  sku: text().default(null).list({ stored: 'sku_key', type: 'folded', unique: true, missingPrefix: NO_SKU }),
  status: oneOf(PRODUCT_STATUSES).list({ mostCommon: 'active' }),
  /** How often people and applications have changed it. */
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date().list(),
};
export type Product = EntityOf<typeof PRODUCT> & {
  /** How often orders have changed its stock; they leave the version as it is, so that they conflict with no edit. */
  minorVersion?: number;
};

/** The fields of a product that an order needs. */
export type Offer = Pick<Product, 'name' | 'price' | 'currency' | 'stock' | 'status'>;

/** The fields of a product that lists are sorted and filtered by. */
export type StoredField = ListFieldOf<typeof PRODUCT>;

/**
 * Those, and of a search the words that it looks for (`q`, a condition only) and how well a product fits them (`relevance`, a
 * sort only, the best first).
 */
export type ProductField = StoredField | 'q' | 'relevance';

/** The fields that callers set. The price is an amount, such as 12.5. */
export type ProductInput = Pick<
  Product,
  'name' | 'description' | 'category' | 'price' | 'currency' | 'stock' | 'sku' | 'status'
>;
export type NewProduct = Pick<ProductInput, 'name' | 'price' | 'currency'> & Partial<ProductInput>;
export type ProductChanges = Partial<ProductInput>;

/** The store as the use cases need it. */
export type ProductStore = ListSource<ProductField, Product> & {
  /** Throws `conflict` when the sku is taken. */
  insert(product: Product): Promise<void>;
  findById(id: string): Promise<Product | undefined>;
  /** The id of the product that has this sku, in whatever case. */
  findIdBySku(sku: string): Promise<string | undefined>;
  /** The products with these ids, as far as they exist. */
  findOffers(ids: readonly string[]): Promise<ReadonlyMap<string, Offer>>;
  /** Calls `decide` with the current product. Throws `not_found`, `precondition_failed`, and what `insert` and `decide` throw. */
  update(id: string, decide: (current: Product) => Product, ifVersion: IfVersion): Promise<Product>;
  remove(id: string, ifVersion: IfVersion): Promise<void>;
  /** The categories of products, in the order of their names, and the number of products in each. */
  categories(): Promise<Category[]>;
};

export type Category = { name: string; products: number };

/** In characters (code points); of the stock, in pieces. */
export const PRODUCT_LIMITS = { name: 200, description: 4096, category: 100, sku: 64, stock: 1_000_000_000 };

/** The problems of the fields that are present; `currency` is that of the product afterwards. */
export function productProblems(input: ProductChanges, currency: string | undefined): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const field of ['name', 'description', 'category', 'sku'] as const) {
    const value = input[field];
    if (typeof value !== 'string') continue;
    if (value.trim() === '' || [...value].length > PRODUCT_LIMITS[field]) {
      const message = `must have 1 to ${PRODUCT_LIMITS[field]} characters, not only spaces`;
      problems.push({ field, message });
    } else if ((field === 'name' || field === 'sku') && foldedKey(value).trim() === '') {
      // Sorted and found by that key, it would be missing from lists, and could not be ordered.
      problems.push({ field, message: 'must consist of visible characters' });
    }
  }
  const { stock, price } = input;
  if (stock !== undefined && !(Number.isInteger(stock) && stock >= 0 && stock <= PRODUCT_LIMITS.stock)) {
    problems.push({ field: 'stock', message: `must be a whole number from 0 to ${PRODUCT_LIMITS.stock}` });
  }
  const decimals = currency === undefined ? undefined : decimalsOf(currency);
  if (input.currency !== undefined && decimals === undefined) {
    problems.push({ field: 'currency', message: 'must be the ISO 4217 code of a currency, such as USD' });
  } else if (price !== undefined && currency !== undefined && minorUnits(price, currency) === undefined) {
    const most = decimals === 0 ? 'without decimals' : `with at most ${decimals} decimals`;
    problems.push({ field: 'price', message: `must be a number of ${currency} from 0, ${most}` });
  }
  return problems;
}
