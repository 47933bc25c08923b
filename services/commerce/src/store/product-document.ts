import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import { inputsOf, number, type StoredOf } from '@gatehouse/domain/fields';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { amountOf } from '@gatehouse/domain/money';
import { NO_SKU, PRODUCT } from '@gatehouse/domain/product-fields';
import { wordsOf } from '@gatehouse/domain/search-words';
import type { Product } from '../product.ts';

/** As stored. Names and skus are sorted by their keys. */
export type ProductDocument = StoredOf<typeof READ> &
  VersionedDocument & {
    name_key: string;
    sku_key: string;
    /** As an amount, by which lists are sorted and filtered. */
    price: number;
    /** The words that searches look for. */
    words: string[];
    name_words: string[];
  };

const { write, listFields } = createDocumentMapper(PRODUCT);

/** The fields as they are read: only orders write the minor version. */
const READ = { ...PRODUCT, minorVersion: number().stored('stock_version').default(0) };
const { projection, read, storedAs } = createDocumentMapper(READ);
/** The stored fields of a property of a product. */
export const PRODUCT_STORED_AS = storedAs;
export const PRODUCT_FIELDS = projection;
export const productOf: (document: ProductDocument) => Product = read;

export const CATEGORY_INDEX = 'category_1__id_1';

export const PRODUCT_LISTS = createListPlan({
  fields: listFields,
  notDeleted: { name_key: { $gt: '' } },
});

/** The projection of what an order needs of a product. */
export const OFFER_FIELDS = { name: 1, price_minor: 1, currency: 1, stock: 1, status: 1 } as const;

/** Short texts come first: of a long one, not all words are found. */
const SEARCHED = inputsOf(PRODUCT)
  .filter(({ input }) => input.searched)
  .toSorted((a, b) => Number(a.input.max) - Number(b.input.max));

/** The stored fields, and those by which products are found. */
export function storedFields(product: Product): Omit<ProductDocument, '_id'> {
  const { id, name, price, currency, sku } = product;
  return {
    ...write(product),
    name_key: foldedKey(name),
    price: amountOf(price, currency),
    sku_key: sku === null ? NO_SKU + id : foldedKey(sku),
    words: wordsOf(SEARCHED.map((field) => product[field.name] ?? '').join('\n')),
    name_words: wordsOf(name),
  };
}
