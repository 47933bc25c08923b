import type { Command } from 'commander';
import { UsageError } from './errors.ts';

/** For each shell, a script that asks `gatehouse complete` for what may follow. */
const SCRIPTS: Record<string, string> = {
  bash: `_gatehouse() { COMPREPLY=($(gatehouse complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)); }
complete -o default -F _gatehouse gatehouse`,
  zsh: `#compdef gatehouse
_gatehouse() { compadd -- \${(f)"$(gatehouse complete -- \${words[2,CURRENT]} 2>/dev/null)"}; }
compdef _gatehouse gatehouse`,
  fish: 'complete -c gatehouse -f -a "(gatehouse complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)"',
};

/** The commands by which shells complete command lines. */
export function addCompletion(program: Command, write: (text: string) => void): void {
  program
    .command('completion')
    .argument('<shell>', Object.keys(SCRIPTS).join(', '))
    .description('Print the completion script of a shell, such as for: source <(gatehouse completion bash)')
    .action((shell: string) => {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined)
        throw new UsageError(
          `There is no completion for ${shell}: choose ${Object.keys(SCRIPTS).join(', ')}.`,
        );
      write(script);
    });
  program
    .command('complete [words...]', { hidden: true })
    .action((words: string[]) => write(candidates(program, words).join('\n')));
}

/** The commands and options that may stand in place of the last word. */
function candidates(program: Command, words: readonly string[]): string[] {
  const last = words.at(-1) ?? '';
  let command = program;
  for (const word of words.slice(0, -1))
    command = command.commands.find((it) => it.name() === word) ?? command;
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((it) => it.name());
  const options = [...command.options, ...program.options].map(({ long }) => long ?? '');
  return [...names, ...options].filter((it) => it.startsWith(last) && (last !== '' || !it.startsWith('-')));
}
