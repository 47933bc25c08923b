import { type ErrorBody, plainBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { serializer } from '@gatehouse/api/http/schema';
import { documented } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { send } from '@gatehouse/api/resource/json-response';
import { requireScope } from '@gatehouse/tokens/caller';
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
    app.get(
      `${prefix}/categories`,
      {
        config: { errorBody },
        schema: documented({
          operationId: ['categories', ...prefix.split('/').filter(Boolean)].join('_'),
          summary: 'List the categories of products',
          description: 'In the order of their names, with the number of products in each.',
          tag: prefix,
          scopes: READ,
          responses: {
            200: { description: 'The categories.', shapes: [{ name, schema, example: exampleOf(isBare) }] },
          },
          errors: { body: errorBody },
        }),
        onRequest: [authenticate, async (request) => requireScope(callerOf(request), READ)],
      },
      async (_request, reply) => {
        const categories = await products.categories();
        const text = write(isBare ? categories : { data: categories });
        return send(reply, { status: 200, headers: { 'cache-control': 'no-store' }, text });
      },
    );
  }
}

function exampleOf(isBare: boolean) {
  const categories = [{ name: 'Tea', products: 12 }];
  return isBare ? categories : { data: categories };
}
