import { ServiceError } from '@gatehouse/core/errors';
import type { StoredDocument } from '@gatehouse/data/collection';
import { MAX_QUERY_MS } from '@gatehouse/data/database';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { OUTBOX_INDEX } from '@gatehouse/data/outbox';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { allowsVersion } from '@gatehouse/domain/if-version';
import type { ListQuery } from '@gatehouse/domain/list-query';
import { amountOf } from '@gatehouse/domain/money';
import type { Connection } from 'mongoose';
import type { Category, Product, ProductStore, StoredField } from '../product.ts';
import {
  CATEGORY_INDEX,
  OFFER_FIELDS,
  PRODUCT_FIELDS,
  PRODUCT_LISTS,
  PRODUCT_STORED_AS,
  type ProductDocument,
  productOf,
  storedFields,
} from './product-document.ts';
import { createProductSearch, SEARCH_INDEXES } from './product-search.ts';
import { RESERVATIONS_INDEX } from './stock-reservation.ts';

/** How long the categories are kept, since counting them reads an index as a whole. */
const CATEGORIES_MS = 2000;

/** Products in MongoDB; defines its collection on the connection. */
export function createProductStore(connection: Connection): ProductStore {
  const store = createDocumentStore(connection, {
    name: 'products',
    noun: 'product',
    plan: PRODUCT_LISTS,
    indexes: [OUTBOX_INDEX, RESERVATIONS_INDEX, ...SEARCH_INDEXES],
    projection: PRODUCT_FIELDS,
    read: productOf,
    storedAs: PRODUCT_STORED_AS,
    write: storedFields,
    duplicate: (key) =>
      new ServiceError('conflict', key === 'sku_key' ? 'This sku is taken.' : 'This product already exists.'),
  });
  const collection = connection.collection<StoredDocument>('products');
  const search = createProductSearch(collection);
  /** A write after which this process counts the categories, and the results of searches, again. */
  async function forgetting<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      categories = undefined;
      search.forget();
    }
  }

  let categories: { found: Promise<Category[]>; until: number } | undefined;

  async function readCategories(): Promise<Category[]> {
    const groups = collection.aggregate<{ _id: string; products: number }>(
      [
        { $match: { category: { $gt: '' } } },
        { $group: { _id: '$category', products: { $sum: 1 } } },
        { $sort: { _id: 1 } },
      ],
      { hint: CATEGORY_INDEX, maxTimeMS: MAX_QUERY_MS },
    );
    return (await groups.toArray()).map(({ _id: name, products }): Category => ({ name, products }));
  }

  return {
    ...store,
    byOffset: (query, page) => (isSearch(query) ? search : store).byOffset(query as StoredQuery, page),
    byKeyset: (query, page) => (isSearch(query) ? search : store).byKeyset(query as StoredQuery, page),
    count: (conditions) =>
      (isSearch({ conditions }) ? search : store).count(conditions as StoredQuery['conditions']),
    insert: (product) => forgetting(store.insert(product, [changed(product)])),
    async update(id, decide, ifVersion) {
      const { next } = await forgetting(
        store.update(
          id,
          (current, revision) => {
            const next = { ...decide(current), ...revision };
            const { version, minorVersion = 0 } = current;
            const isStockKept = next.stock === current.stock;
            if (!isStockKept && !allowsVersion(ifVersion, version, minorVersion)) {
              throw new ServiceError(
                'precondition_failed',
                'The stock of this product has been changed meanwhile.',
              );
            }
            const unchanged = { stock_version: minorVersion === 0 ? { $in: [0, null] } : minorVersion };
            return {
              next,
              events: [changed(next)],
              ...(isStockKept ? { unwritten: ['stock'] } : ifVersion && { unchanged }),
            };
          },
          ifVersion,
        ),
      );
      return next;
    },
    async remove(id, ifVersion) {
      await forgetting(
        store.remove(
          id,
          (_current, { version }) => ({
            events: [{ subject: 'commerce.product.deleted', data: { id, version } }],
          }),
          ifVersion,
        ),
      );
    },
    async findIdBySku(sku) {
      const found = await collection.findOne({ sku_key: foldedKey(sku) }, { projection: { _id: 1 } });
      return found?._id;
    },
    async findOffers(ids) {
      const found = await collection
        .find<ProductDocument>(
          { _id: { $in: [...ids] }, name_key: { $gt: '' } },
          { projection: OFFER_FIELDS },
        )
        .toArray();
      return new Map(found.map(({ _id, price_minor: price, ...offer }) => [_id, { ...offer, price }]));
    },
    categories() {
      if (categories === undefined || categories.until < performance.now()) {
        const reading = { found: readCategories(), until: performance.now() + CATEGORIES_MS };
        reading.found.catch(() => {
          if (categories === reading) categories = undefined;
        });
        categories = reading;
      }
      return categories.found;
    },
  };
}

/** A query without a search, or one that is given to the search. */
type StoredQuery = ListQuery<StoredField>;

function isSearch({ conditions }: Pick<ListQuery, 'conditions'>): boolean {
  return conditions.some(({ field }) => field === 'q');
}

/** The event of a product that was created or changed. */
function changed({ createdAt, updatedAt, price, minorVersion: _, ...product }: Product) {
  const data = {
    ...product,
    price: amountOf(price, product.currency),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
  return { subject: 'commerce.product.changed', data };
}
