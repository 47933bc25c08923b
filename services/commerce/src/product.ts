import type { EntityOf, ListFieldOf } from '@gatehouse/domain/fields';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { PRODUCT } from '@gatehouse/domain/product-fields';

export type Product = EntityOf<typeof PRODUCT> & {
  /** The number of changes of its stock by orders. They do not raise the version, so that they conflict with no edit. */
  minorVersion?: number;
};

/** The fields of a product that an order needs. */
export type Offer = Pick<Product, 'name' | 'price' | 'currency' | 'stock' | 'status'>;

/** The fields of a product that lists are sorted and filtered by. */
export type StoredField = ListFieldOf<typeof PRODUCT>;

/**
 * The stored fields and two of a search: `q`, the words to look for (a condition only), and `relevance`, how well a product fits them (a
 * sort only, the best first).
 */
export type ProductField = StoredField | 'q' | 'relevance';

/** The store as the use cases need it. */
export type ProductStore = ListSource<ProductField, Product> & {
  /** Throws `conflict` when the sku is taken. */
  insert(product: Product): Promise<unknown>;
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
