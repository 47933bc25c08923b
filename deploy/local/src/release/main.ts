// `npm run release`: checks the release that package.json names, makes its files in dist/, and tags the commit. It publishes nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { VERSION } from '@gatehouse/core/version';
import { releaseNotes } from './release-notes.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const OUT = join(ROOT, 'dist', VERSION);
const TAG = `v${VERSION}`;
const IMAGE = `gatehouse:${VERSION}`;
/** The packages for npm. */
const PACKAGES = ['packages/verify', 'packages/cli'];
const PNPM = 'pnpm@12.21.0';

const { values: options } = parseArgs({ options: { 'without-tests': { type: 'boolean', default: false } } });

const commit = output('git', 'rev-parse', 'HEAD');
const notes = releaseNotes(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), VERSION);
if (notes === undefined) fail(`CHANGELOG.md has no section "## [${VERSION}] - YYYY-MM-DD".`);
if (output('git', 'status', '--porcelain') !== '') fail('There are changes that are not committed.');
if (output('git', 'tag', '--list', TAG) !== '')
  fail(`The tag ${TAG} exists: give the release another version.`);

if (!options['without-tests'])
  for (const script of [['check'], ['test'], ['test:full', '--', '.full.']]) run('npm', 'run', ...script);

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
writeFileSync(join(OUT, 'notes.md'), `${notes}\n`);
for (const path of PACKAGES) run('npm', 'pack', `./${path}`, '--pack-destination', OUT, '--silent');
const sbom = [
  '--sbom-format=cyclonedx',
  '--sbom-type=application',
  '--prod',
  `--out=${join(OUT, 'sbom.cdx.json')}`,
];
run('npx', '--yes', PNPM, 'sbom', ...sbom);
const hasHelm = isThere('helm', 'version');
if (hasHelm) run('helm', 'package', 'deploy/helm', '--destination', OUT);
const image = buildImage();
const files = readdirSync(OUT).map((name) => ({ name, digest: { sha256: sha256(join(OUT, name)) } }));
writeFileSync(
  join(OUT, 'provenance.intoto.json'),
  JSON.stringify(provenance([...files, ...image]), undefined, 2),
);
writeFileSync(
  join(OUT, 'SHA256SUMS'),
  files.map(({ name, digest }) => `${digest.sha256}  ${name}\n`).join(''),
);
run('git', 'tag', '--annotate', TAG, '--cleanup=verbatim', '--file', join(OUT, 'notes.md'));
process.stdout.write(`
${TAG} is tagged, and its files are in dist/${VERSION}. To publish it, sign and push the tag, \`npm publish\` the packages,
\`docker push\` the image ${image.length > 0 ? IMAGE : '(not built: Docker cannot be reached)'},
and \`helm push\` the chart ${hasHelm ? `gatehouse-${VERSION}.tgz` : '(not packaged: helm is not there)'}.
`);

/** The image of all services, as a subject of the provenance; none where there is no Docker. */
function buildImage() {
  if (!isThere('docker', 'version')) return [];
  const label = (name: string, value: string) => ['--label', `org.opencontainers.image.${name}=${value}`];
  const labels = [
    ...label('version', VERSION),
    ...label('revision', commit),
    ...label('licenses', 'Apache-2.0'),
  ];
  run('docker', 'build', '--file', 'deploy/docker/Dockerfile', '--tag', IMAGE, ...labels, '.');
  const [algorithm = '', digest = ''] = output(
    'docker',
    'image',
    'inspect',
    '--format',
    '{{.Id}}',
    IMAGE,
  ).split(':');
  return [{ name: IMAGE, digest: { [algorithm]: digest } }];
}

/** An in-toto statement with the predicate of SLSA 1.0, unsigned: https://slsa.dev/spec/v1.0/provenance. */
function provenance(subject: object[]) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:gatehouse:npm-run-release:1',
        externalParameters: { version: VERSION },
        resolvedDependencies: [{ name: 'gatehouse', digest: { gitCommit: commit } }],
      },
      runDetails: {
        builder: { id: `node ${process.version}` },
        metadata: { finishedOn: new Date().toISOString() },
      },
    },
  };
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function output(program: string, ...args: string[]): string {
  return execFileSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/** Whether a program is there, by a command that it understands. */
function isThere(program: string, ...args: string[]): boolean {
  try {
    output(program, ...args);
    return true;
  } catch {
    return false;
  }
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
