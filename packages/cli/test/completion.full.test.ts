import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const folder = t.testdir({ gatehouse: `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n` });
execFileSync('chmod', ['+x', `${folder}/gatehouse`]);
const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };

/** For each shell, a program that prints the completions of the words in its arguments. The shell's own functions are replaced in zsh. */
const SHELLS = {
  bash: [
    '-c',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it, not JavaScript.
    'source <(gatehouse completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gatehouse; printf "%s\\n" "${COMPREPLY[@]}"',
    'bash',
  ],
  zsh: [
    ...['-f', '-c'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: zsh expands it, not JavaScript.
    'compdef() {}; compadd() { print -l -- ${(P)2} }; _files() { print files }; source <(gatehouse completion zsh); words=("$@"); CURRENT=$#; _gatehouse',
    'zsh',
  ],
  fish: ['--no-config', '-c', 'gatehouse completion fish | source; complete -C "$argv"'],
};
const LINES: [words: string[], completions: string[]][] = [
  [
    ['gatehouse', 'appl'],
    ['applications', 'apply'],
  ],
  [
    ['gatehouse', 'applications', ''],
    ['create', 'delete', 'help', 'list', 'show'],
  ],
  [
    ['gatehouse', 'open', 'a'],
    ['account', 'applications'],
  ],
  [['gatehouse', '--prof'], ['--profile']],
];

for (const [shell, args] of Object.entries(SHELLS)) {
  const isThere = spawnSync(shell, ['--version']).status === 0;
  t.test(
    `${shell} completes command lines`,
    { skip: !isThere && `${shell} is not installed.` },
    async (t) => {
      for (const [words, completions] of LINES) {
        const output = execFileSync(shell, [...args, ...words], { env, encoding: 'utf8' });
        t.strictSame(output.trim().split('\n').sort(), completions, words.join(' '));
      }
    },
  );
}
