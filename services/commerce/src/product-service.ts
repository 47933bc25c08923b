import { invalidFields } from '@gatehouse/api/http/schema';
import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { initialsOf } from '@gatehouse/domain/fields';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import { minorUnits } from '@gatehouse/domain/money';
import {
  type NewProduct,
  PRODUCT,
  type ProductChanges,
  productProblems,
} from '@gatehouse/domain/product-fields';
import type { Category, Product, ProductField, ProductStore } from './product.ts';

/** The use cases of products. Who may do what is decided by the routes: products have no owner. */
export type ProductService = {
  list: ListSource<ProductField, Product>;
  categories(): Promise<Category[]>;
  create(draft: NewProduct & { id: string }): Promise<Product>;
  read(id: string): Promise<Product>;
  /** Throws `precondition_failed` unless the product is at one of these versions; so does `remove`. */
  update(id: string, changes: ProductChanges, ifVersion: IfVersion): Promise<Product>;
  remove(id: string, ifVersion: IfVersion): Promise<void>;
  /** Updates the product that has the sku of the draft, if there is one; otherwise creates one. */
  createOrUpdate(draft: NewProduct & { id: string }): Promise<{ id: string; isNew: boolean }>;
};

/** How often createOrUpdate() starts over when the sku is taken, or its product deleted, at the same moment. */
const ATTEMPTS = 3;

export function createProductService(store: ProductStore): ProductService {
  const service: ProductService = {
    list: store,
    categories: store.categories,
    async create(draft) {
      assertValid(productProblems(draft));
      const now = new Date();
      const product: Product = {
        ...initialsOf(PRODUCT),
        ...draft,
        price: minorUnits(draft.price, draft.currency) ?? 0,
        version: 1,
        createdAt: now,
        updatedAt: now,
      };
      await store.insert(product);
      return product;
    },
    async read(id) {
      const product = await store.findById(id);
      if (product === undefined) throw new ServiceError('not_found', 'There is no such product.');
      return product;
    },
    update: (id, changes, ifVersion) =>
      store.update(id, (current) => changeProduct(current, changes), ifVersion),
    remove: store.remove,
    async createOrUpdate(draft) {
      const { id: newId, ...changes } = draft;
      for (let attempt = 1; ; attempt += 1) {
        const id = draft.sku ? await store.findIdBySku(draft.sku) : undefined;
        try {
          const { id: written } =
            id === undefined ? await service.create(draft) : await service.update(id, changes, undefined);
          return { id: written, isNew: id === undefined };
        } catch (error) {
          const raced = error instanceof ServiceError && ['conflict', 'not_found'].includes(error.kind);
          if (!raced || attempt === ATTEMPTS) throw error;
        }
      }
    },
  };
  return service;
}

/** The product after the changes. Throws `invalid`. */
export function changeProduct(current: Product, changes: ProductChanges): Product {
  assertValid(productProblems(changes, current));
  const { price, ...others } = changes;
  const minor = price === undefined ? undefined : minorUnits(price, changes.currency ?? current.currency);
  return { ...current, ...omitUndefined(others), price: minor ?? current.price };
}

function assertValid(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw invalidFields(problems);
}
