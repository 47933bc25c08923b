// `GATEHOUSE_TEST_FILES=… node batch-process.ts` runs test files one after the other in this process, each as a subtest.
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import root, { type Test } from 'tap';

const LEFT_BEHIND_MS = 5000;

declare global {
  /** The test that stands for each file, by its address. */
  var testOf: Map<string, Test>;
}
globalThis.testOf = new Map();

// In a test file, `tap` is the subtest of this file. Its helpers, which are loaded once, get tap itself.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context;
    if (specifier !== 'tap' || !globalThis.testOf.has(parentURL)) return next(specifier, context);
    return { url: `test-of:${parentURL}`, format: 'module', shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith('test-of:')) return next(url, context);
    const source = `export default globalThis.testOf.get(${JSON.stringify(url.slice('test-of:'.length))});`;
    return { format: 'module', source, shortCircuit: true };
  },
});

const { GATEHOUSE_TEST_FILES = '', TAP_TIMEOUT } = process.env;
const files = GATEHOUSE_TEST_FILES.split('\n');
for (const file of files) {
  await root.test(file, async (t) => {
    t.setTimeout((Number(TAP_TIMEOUT) * 1000) / files.length);
    const { href } = pathToFileURL(resolve(file));
    globalThis.testOf.set(href, t);
    await import(href);
  });
}
// A file that still keeps this process alive has left something behind. Each then runs by itself, which shows which file it is.
setTimeout(() => process.exit(1), LEFT_BEHIND_MS).unref();
