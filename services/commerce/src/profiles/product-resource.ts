import { plainBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { documentedLimits } from '@gatehouse/api/http/schema';
import { bareArray, pageEnvelopeWithPages, withFacets } from '@gatehouse/api/lists/paging';
import { createEntityProfile, type PropertyShape } from '@gatehouse/api/resource/entity-profile';
import type { ListProfile, Profile } from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { ServiceError } from '@gatehouse/core/errors';
import { type InputFieldOf, initialsOf, inputsOf, inSnakeCase } from '@gatehouse/domain/fields';
import { foldedKey, IGNORABLE } from '@gatehouse/domain/folded-key';
import { amountOf, CURRENCIES } from '@gatehouse/domain/money';
import {
  type NewProduct,
  PRODUCT,
  PRODUCT_STATUSES,
  type ProductChanges,
} from '@gatehouse/domain/product-fields';
import type { Caller } from '@gatehouse/tokens/caller';
import { Type } from 'typebox';
import type { Product, ProductField } from '../product.ts';
import type { ProductService } from '../product-service.ts';

type ProductTypes = { entity: Product; field: ProductField; draft: NewProduct; changes: ProductChanges };

export const READ = ['read:data', 'read:all'];
const WRITE = ['write:data'];

const INPUTS = inputsOf(PRODUCT);
type TextField = InputFieldOf<typeof PRODUCT, { searched: true }>;

/** The limits of a text in productProblems() as JSON Schema keywords. No text of a body contains NUL. */
export function textLimits(field: TextField) {
  const { input, list } = PRODUCT[field].definition;
  const hidden = list?.type === 'folded' ? IGNORABLE : '';
  const pattern = String.raw`^[^\u0000]*[^\s\u0000${hidden}][^\u0000]*$`;
  return { minLength: 1, maxLength: input.max, pattern };
}
/** A text within its limits; or null, if it may be absent. */
function textShape(field: TextField) {
  const { input, list } = PRODUCT[field].definition;
  const isNullable = 'initial' in input;
  const unique = list?.unique ? ', unique whatever its case' : '';
  const schema = Type.Unsafe<string | null>({
    type: isNullable ? ['string', 'null'] : 'string',
    description: `1 to ${input.max} characters${unique}, ${isNullable ? 'or null' : 'not only spaces'}.`,
    ...documentedLimits(textLimits(field)),
  });
  return { input: schema, output: schema };
}
const TEXTS = INPUTS.filter(({ input }) => input.searched).map(({ name }) => name as TextField);

const Status = Type.Unsafe<Product['status']>({ type: 'string', enum: [...PRODUCT_STATUSES] });
const Price = Type.Number({
  minimum: 0,
  description: 'With at most the decimals that its currency has in ISO 4217: USD 2, JPY 0, KWD 3.',
});
const Currency = Type.String({
  description: 'The ISO 4217 code of a currency, in capital letters.',
  ...documentedLimits({ enum: CURRENCIES }),
});
const MAX_STOCK = PRODUCT.stock.definition.input.max;
const Stock = Type.Integer({
  minimum: 0,
  description: `The pieces that can be ordered. At most ${MAX_STOCK} can be set; cancelled orders may return more.`,
});
const Timestamp = Type.String({ format: 'date-time' });

/** Every property of a product in requests and responses. */
const PRODUCT_SHAPES = {
  ...(Object.fromEntries(TEXTS.map((field) => [field, textShape(field)])) as Record<
    TextField,
    ReturnType<typeof textShape>
  >),
  id: { output: Type.String({ description: 'Opaque.' }) },
  price: { input: Price, output: Price, show: ({ price, currency }) => amountOf(price, currency) },
  currency: { input: Currency, output: Currency },
  stock: { input: Stock, output: Stock },
  status: { input: Status, output: Status },
  createdAt: { output: Timestamp },
  updatedAt: { output: Timestamp },
} satisfies Record<string, PropertyShape<Product>>;

type Shaped = keyof typeof PRODUCT_SHAPES;
/** In the order of bodies and responses. */
const REQUIRED = INPUTS.filter(({ input }) => input.initial === undefined).map(({ name }) => name);
const OPTIONAL = INPUTS.filter(({ input }) => input.initial !== undefined).map(({ name }) => name);
const shaped = createEntityProfile<Product, typeof PRODUCT, Shaped>(PRODUCT, PRODUCT_SHAPES, inSnakeCase);
const NewStock = Type.Integer({
  minimum: 0,
  maximum: MAX_STOCK,
  description: 'The pieces that can be ordered.',
});
const created = createEntityProfile<Product, typeof PRODUCT, Shaped>(
  PRODUCT,
  { ...PRODUCT_SHAPES, stock: { input: NewStock } },
  inSnakeCase,
);
const product = shaped.view('Product', ['id', ...REQUIRED, ...OPTIONAL, 'createdAt', 'updatedAt']);

const rules: Omit<ListProfile<ProductTypes>['rules'], 'paging'> = {
  filters: shaped.filters(),
  plain: ['category'],
  sort: {
    fields: {
      name: 'name',
      price: 'price',
      stock: 'stock',
      created_at: 'createdAt',
      updated_at: 'updatedAt',
    },
    by: 'sort',
    order: 'order',
  },
};

const SEARCH_FILTERS = { q: { field: 'q', type: 'search' } } as const;

const EXAMPLE = { name: 'Green tea', price: 12.5, currency: 'USD', category: 'Tea', stock: 40, sku: 'TEA-1' };

const latest: Profile<ProductTypes> = {
  name: 'latest',
  about: 'the list by page, and all operations on one product',
  errorBody: v2Body,
  list: { rules: { ...rules, paging: 'page' }, envelope: pageEnvelopeWithPages, item: product },
  create: {
    body: created.body('NewProduct', { required: REQUIRED, optional: OPTIONAL, example: EXAMPLE }),
    response: product,
  },
  read: product,
  update: {
    method: 'PUT',
    body: shaped.body('ProductChanges', {
      optional: [...REQUIRED, ...OPTIONAL],
      example: { price: 11.9, stock: 60 },
    }),
    response: product,
  },
  remove: true,
};

const listOnly: Profile<ProductTypes> = {
  name: 'list',
  about: 'the list as a bare array by offset',
  errorBody: plainBody,
  list: {
    rules: {
      ...rules,
      filters: { ...SEARCH_FILTERS, ...rules.filters },
      plain: ['q', 'category'],
      paging: 'offset',
      legacy: true,
    },
    envelope: bareArray,
    item: { ...product, name: 'ProductV1' },
  },
};

const search: Profile<ProductTypes> = {
  name: 'search',
  about: 'products with all words of `q`, the last one as the beginning of a word, by page',
  errorBody: v2Body,
  list: {
    rules: {
      filters: { ...SEARCH_FILTERS, ...rules.filters },
      plain: ['q', 'category'],
      required: ['q'],
      sort: {
        fields: { relevance: 'relevance', price: 'price', created_at: 'createdAt' },
        by: 'sort',
        order: 'order',
      },
      paging: 'page',
    },
    envelope: withFacets(['category']),
    item: { ...product, name: 'ProductFound' },
  },
};

export const SEARCH_PATHS: readonly ResourcePath<ProductTypes>[] = [
  { prefix: '/v2/products/search', profiles: [search] },
  { prefix: '/products/search', profiles: [search] },
];

export const PRODUCT_PATHS: readonly ResourcePath<ProductTypes>[] = [
  { prefix: '/v2/products', profiles: [latest] },
  { prefix: '/products', profiles: [latest] },
  { prefix: '/api/v1/products', profiles: [listOnly] },
];

/** Products as a resource: everybody reads them; staff and machines write them. */
export function createProductResource(products: ProductService): Resource<ProductTypes> {
  return {
    noun: { one: 'a product', many: 'products' },
    idPrefix: 'prd',
    paths: PRODUCT_PATHS,
    example: EXAMPLE_PRODUCT,
    operations: {
      list: { scopes: READ, source: () => products.list },
      create: {
        scopes: WRITE,
        authorize: authorizeWrite,
        run: products.create,
        import: {
          description:
            'a line with the sku of a product changes that product as PUT does, and the last of several lines with the same sku ' +
            'counts. For admins and trusted applications.',
          authorize: authorizeImport,
          keyOf: ({ sku }) => (sku ? foldedKey(sku) : undefined),
          run: products.createOrUpdate,
        },
      },
      read: { scopes: READ, run: products.read },
      update: {
        scopes: WRITE,
        authorize: authorizeWrite,
        run: (id, changes, _caller, ifVersion) => products.update(id, changes, ifVersion),
      },
      remove: {
        scopes: WRITE,
        authorize: authorizeWrite,
        run: (id, _caller, ifVersion) => products.remove(id, ifVersion),
      },
    },
  };
}

/** The search for products as a resource, which has a list only. */
export function createSearchResource({ list }: ProductService): Resource<ProductTypes> {
  return {
    noun: { one: 'a product', many: 'products with these words' },
    idPrefix: 'prd',
    paths: SEARCH_PATHS,
    example: EXAMPLE_PRODUCT,
    operations: { list: { scopes: READ, source: () => list } },
  };
}

const EXAMPLE_PRODUCT: Product = {
  id: 'prd_06f2k1c8w0h3v5n7q9t1x3z5b7',
  ...initialsOf(PRODUCT),
  ...EXAMPLE,
  price: 1250,
  version: 1,
  createdAt: new Date('2026-03-01T09:30:00Z'),
  updatedAt: new Date('2026-03-01T09:30:00Z'),
};

/** A person needs the role editor or admin; a trusted application is not a person. */
function authorizeWrite({ person }: Caller): void {
  if (person !== undefined && person.role === 'user') {
    throw new ServiceError(
      'forbidden',
      'You are not permitted to change products: that is for editors, admins and trusted applications.',
    );
  }
}

function authorizeImport({ person }: Caller): void {
  if (person !== undefined && person.role !== 'admin') {
    throw new ServiceError('forbidden', 'Importing products is for admins and trusted applications.');
  }
}
