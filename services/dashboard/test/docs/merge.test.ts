import t from 'tap';
import type { OpenApiDocument, Schema } from '../../src/docs/openapi/document.ts';
import { mergeDocuments } from '../../src/docs/openapi/merge.ts';

const ABOUT = { title: 'All', description: 'Everything.', origin: 'https://api.example.org' };

/** A document with one operation at the path, whose response is the schema `Thing`. */
function documentOf(path: string, schemas: Record<string, Schema>, more: Partial<OpenApiDocument> = {}) {
  const ref = (name: string) => ({ $ref: `#/components/${name}` });
  const document: OpenApiDocument = {
    openapi: '3.1.1',
    info: { title: path, version: '2.1.0' },
    tags: [{ name: path }],
    paths: {
      [path]: {
        get: {
          operationId: `list${path.replaceAll('/', '_')}`,
          summary: 'List',
          tags: [path],
          responses: {
            200: {
              description: 'All.',
              content: {
                'application/json': {
                  schema: ref('schemas/Thing') as Schema,
                  // The value of an example is data, whatever it looks like.
                  example: ref('schemas/Thing'),
                },
              },
            },
            400: ref('responses/Bad'),
          },
        },
      },
    },
    components: {
      schemas,
      responses: {
        Bad: {
          description: 'No.',
          content: { 'application/json': { schema: ref('schemas/Thing') as Schema } },
        },
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
  return { ...document, ...more };
}

const A: Schema = { type: 'object', properties: { a: { type: 'string' } } };
const B: Schema = { type: 'object', properties: { b: { $ref: '#/components/schemas/Thing' } } };

const merge = (...documents: OpenApiDocument[]) =>
  mergeDocuments(
    documents.map((document, i) => ({ service: ['first', 'second', 'third'][i] ?? '', document })),
    ABOUT,
  );
const responseOf = (document: OpenApiDocument, path: string) =>
  JSON.parse(JSON.stringify(document.paths[path]?.get?.responses)) as {
    200: { content: Record<string, { schema: unknown; example: unknown }> };
    400: unknown;
  };

t.test('equal components are kept once, with their name', async (t) => {
  const merged = merge(documentOf('/v1/things', { Thing: A }), documentOf('/v2/things', { Thing: A }));
  t.same(Object.keys(merged.components?.schemas ?? {}), ['Thing']);
  t.same(Object.keys(merged.components?.responses ?? {}), ['Bad']);
  t.same(Object.keys(merged.paths), ['/v1/things', '/v2/things']);
});

t.test(
  'another component of the same name gets the name of its service, and references follow',
  async (t) => {
    const merged = merge(documentOf('/v1/things', { Thing: A }), documentOf('/v2/notes', { Thing: B }));
    const { schemas = {}, responses = {} } = merged.components ?? {};
    const second = '#/components/schemas/Second_Thing';
    t.same(schemas.Thing, A);
    t.same(schemas.Second_Thing, { type: 'object', properties: { b: { $ref: second } } });
    t.same(Object.keys(responses), ['Bad', 'Second_Bad'], 'and so does what refers to it');
    const { 200: ok, 400: bad } = responseOf(merged, '/v2/notes');
    t.same(ok.content['application/json'], {
      schema: { $ref: second },
      example: { $ref: '#/components/schemas/Thing' },
    });
    t.same(bad, { $ref: '#/components/responses/Second_Bad' });
    t.same(
      responseOf(merged, '/v1/things'),
      responseOf(documentOf('/v1/things', { Thing: A }), '/v1/things'),
    );
  },
);

t.test('there is one information, one server and one set of security schemes', async (t) => {
  const merged = merge(documentOf('/a', { Thing: A }), documentOf('/b', { Thing: A }));
  t.match(merged, { info: { title: 'All', version: '2.1.0' }, servers: [{ url: ABOUT.origin }] });
  t.equal(merged.servers?.length, 1);
  t.same(merged.components?.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } });
});

t.test('tags are grouped by what they are about, whatever the version or profile', async (t) => {
  const tags = [
    '/v1/users',
    'OAuth',
    '/kb/api/v1/users',
    '/users',
    '/v2/products/search',
    '/api/v1/dead-letters',
  ];
  const document = documentOf('/v1/users', { Thing: A }, { tags: tags.map((name) => ({ name })) });
  t.same(merge(document, document)['x-tagGroups'], [
    { name: 'Users', tags: ['/v1/users', '/kb/api/v1/users', '/users'] },
    { name: 'OAuth', tags: ['OAuth'] },
    { name: 'Products', tags: ['/v2/products/search'] },
    { name: 'Dead letters', tags: ['/api/v1/dead-letters'] },
  ]);
});
