import { type ErrorBody, plainBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { serializer } from '@gatehouse/api/http/schema';
import { ok, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { ProductService } from './product-service.ts';
import { READ } from './profiles/product-resource.ts';

const Category = Type.Object({
  name: Type.String(),
  products: Type.Integer({ description: 'The number of products in it.' }),
});

const PATHS: { prefix: string; errorBody: ErrorBody; isBare: boolean }[] = [
  { prefix: '/v2/products', errorBody: v2Body, isBare: false },
  { prefix: '/products', errorBody: v2Body, isBare: false },
  { prefix: '/api/v1/products', errorBody: plainBody, isBare: true },
];

/** Mounts the lists of the categories that products have. */
export function mountCategories(
  app: FastifyInstance,
  options: { products: ProductService; authenticate: onRequestAsyncHookHandler },
): void {
  const { products, authenticate } = options;
  for (const { prefix, errorBody, isBare } of PATHS) {
    const schema: TSchema = isBare ? Type.Array(Category) : Type.Object({ data: Type.Array(Category) });
    const name = isBare ? 'CategoriesList' : 'Categories';
    const write = serializer(schema) as (value: unknown) => string;
    const api = mountEndpoints(app, authenticate, { prefix, errors: { body: errorBody }, scopes: READ });
    api.get('categories', '/categories', {
      summary: 'List the categories of products',
      description: 'In the order of their names, with the number of products in each.',
      responses: ok('The categories.', shape(name, schema, exampleOf(isBare))),
      async handle({ reply }) {
        const categories = await products.categories();
        return uncached(reply, write(isBare ? categories : { data: categories }));
      },
    });
  }
}

function exampleOf(isBare: boolean) {
  const categories = [{ name: 'Tea', products: 12 }];
  return isBare ? categories : { data: categories };
}
