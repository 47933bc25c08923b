import { type Expression, parseSync, type StringLiteral, Visitor } from 'oxc-parser';

/** One import of a file, in any of its forms: import, export … from, import(), import('…').Type, require(). */
export type Import = {
  specifier: string;
  line: number;
  /** Whether it is erased when the file is run. */
  isType: boolean;
};

/**
 * The imports of a TypeScript or JavaScript module, in the order in which they stand.
 * @throws Error that names the file when it cannot be parsed
 */
export function readImports(path: string, text: string): Import[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const imports: Import[] = [];
  const add = (source: StringLiteral | Expression | null, isType: boolean) => {
    if (source?.type !== 'Literal' || typeof source.value !== 'string') return;
    imports.push({ specifier: source.value, line: text.slice(0, source.start).split('\n').length, isType });
  };
  new Visitor({
    ImportDeclaration({ source, importKind, specifiers }) {
      const areTypes = specifiers.every((it) => it.type === 'ImportSpecifier' && it.importKind === 'type');
      add(source, importKind === 'type' || (specifiers.length > 0 && areTypes));
    },
    ExportNamedDeclaration: ({ source, exportKind }) => add(source, exportKind === 'type'),
    ExportAllDeclaration: ({ source, exportKind }) => add(source, exportKind === 'type'),
    ImportExpression: ({ source }) => add(source, false),
    TSImportType: ({ source }) => add(source, true),
    CallExpression({ callee, arguments: [source] }) {
      const isRequire = callee.type === 'Identifier' && callee.name === 'require';
      if (isRequire && source && source.type !== 'SpreadElement') add(source, false);
    },
  }).visit(program);
  return imports;
}
