import { Argument, type Command } from 'commander';

/** For each shell, a script that completes with the output of `gatehouse complete`, or else with files. */
const SCRIPTS = {
  bash: `_gatehouse() { COMPREPLY=($(gatehouse complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)); }
complete -o default -F _gatehouse gatehouse`,
  zsh: `#compdef gatehouse
_gatehouse() {
  local -a found=(\${(f)"$(gatehouse complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _gatehouse; else compdef _gatehouse gatehouse; fi`,
  fish: `complete -c gatehouse -f -a "(gatehouse complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)"
complete -c gatehouse -F -n "__fish_seen_subcommand_from plan apply"`,
};

/** The commands with which shells complete command lines. */
export function addCompletion(program: Command, write: (text: string) => void): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .description('Print the completion script of a shell. In bash, run: source <(gatehouse completion bash)')
    .action((shell: keyof typeof SCRIPTS) => write(SCRIPTS[shell]));
  program
    .command('complete [words...]', { hidden: true })
    .action((words: string[]) => candidates(program, words).forEach(write));
}

/** The commands, arguments and options that may stand in place of the last word. */
function candidates(program: Command, words: readonly string[]): string[] {
  const last = words.at(-1) ?? '';
  let command = program;
  for (const word of words.slice(0, -1))
    command = command.commands.find((it) => it.name() === word) ?? command;
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((it) => it.name());
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const options = [...command.options, ...program.options].map(({ long }) => long ?? '');
  const isFitting = (it: string) => it.startsWith(last) && it.startsWith('-') === last.startsWith('-');
  return [...new Set([...names, ...choices, ...options])].filter(isFitting);
}
