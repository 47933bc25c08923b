import { createListPlan } from '@gatehouse/data/list-plan';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { amountOf } from '@gatehouse/domain/money';
import { wordsOf } from '@gatehouse/domain/search-words';
import { PRODUCT_STATUSES, type Product, type ProductStatus, type StoredField } from '../product.ts';

/** As stored. Names and skus are sorted by their keys. Without a category, `category` is empty. */
export type ProductDocument = VersionedDocument & {
  name: string;
  name_key: string;
  description: string | null;
  category: string;
  /** As an amount, by which lists are sorted and filtered. */
  price: number;
  price_minor: number;
  currency: string;
  stock: number;
  /** How often orders have changed the stock; they leave `version` as it is, so that they conflict with no edit. */
  stock_version?: number;
  sku: string | null;
  sku_key: string;
  status: ProductStatus;
  created_at: Date;
  /** What searches look for. */
  words: string[];
  name_words: string[];
};

/** Begins the sku_key of products without a sku; their ids follow, so that it is unique. */
const NO_SKU = '\0';
export const CATEGORY_INDEX = 'category_1__id_1';

export const PRODUCT_LISTS = createListPlan<StoredField>({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    name: { stored: 'name_key', type: 'folded' },
    category: { stored: 'category', type: 'string', index: CATEGORY_INDEX },
    price: { stored: 'price', type: 'number' },
    currency: { stored: 'currency', type: 'string' },
    stock: { stored: 'stock', type: 'number' },
    sku: { stored: 'sku_key', type: 'folded', unique: true, missingPrefix: NO_SKU },
    status: { stored: 'status', type: 'enum', values: PRODUCT_STATUSES, mostCommon: 'active' },
    createdAt: { stored: 'created_at', type: 'date' },
    updatedAt: { stored: 'updated_at', type: 'date' },
  },
  notDeleted: { name_key: { $gt: '' } },
});

/** The projection of reads: all fields of a Product. */
export const PRODUCT_FIELDS = {
  name: 1,
  description: 1,
  category: 1,
  price_minor: 1,
  currency: 1,
  stock: 1,
  stock_version: 1,
  sku: 1,
  status: 1,
  version: 1,
  created_at: 1,
  updated_at: 1,
} as const;

/** The projection of what an order needs of a product. */
export const OFFER_FIELDS = { name: 1, price_minor: 1, currency: 1, stock: 1, status: 1 } as const;

export function productOf({ _id: id, category, price_minor: price, ...stored }: ProductDocument): Product {
  const { name, description, currency, stock, sku, status, version = 0, stock_version = 0 } = stored;
  return {
    ...{ id, name, description, category: category === '' ? null : category, price, currency, stock, sku },
    ...{
      status,
      version,
      minorVersion: stock_version,
      createdAt: stored.created_at,
      updatedAt: stored.updated_at,
    },
  };
}

/** The stored fields, without those of every VersionedDocument. */
export function storedFields(product: Product) {
  const { id, name, description, category, price, currency, stock, sku, status, createdAt } = product;
  return {
    name,
    name_key: foldedKey(name),
    description,
    category: category ?? '',
    price: amountOf(price, currency),
    price_minor: price,
    currency,
    stock,
    sku,
    sku_key: sku === null ? NO_SKU + id : foldedKey(sku),
    status,
    created_at: createdAt,
    words: wordsOf([name, category, sku, description].filter(Boolean).join('\n')),
    name_words: wordsOf(name),
  };
}
