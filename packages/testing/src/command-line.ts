import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createFormBrowser, type FormBrowser } from './form-browser.ts';
import { until } from './processes.ts';

const MAIN = new URL('../../cli/src/main.ts', import.meta.url).pathname;

export type Ended = { status: number | null; stdout: string; stderr: string };

/** A command that runs: its output so far, and its end. */
export type Running = { stdout(): string; stderr(): string; ended: Promise<Ended>; end(): Promise<Ended> };

/** The command line of a person, whose configuration is in a directory of theirs. */
export type CommandLine = {
  start(args: readonly string[], input?: string): Running;
  run(args: readonly string[], input?: string): Promise<Ended>;
  /** The parsed output of a command that must succeed, with --json. */
  json<T = Record<string, unknown>>(args: readonly string[]): Promise<T>;
  /** Runs a command that asks for a sign-in, which the person allows in a browser. */
  allow(args: readonly string[], person: Person, browser?: FormBrowser): Promise<Ended>;
};
type Person = { username: string; password: string };

/** `command` is the program, by default from its source. */
export function createCommandLine(
  base: string,
  directory: string,
  { env = {}, command = [process.execPath, MAIN] }: { env?: Record<string, string>; command?: string[] } = {},
): CommandLine {
  function start(args: readonly string[], input = ''): Running {
    const [executable = '', ...before] = command;
    const child = spawn(executable, [...before, ...args], {
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: directory, GATEHOUSE_URL: base, ...env },
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    child.stdin.end(input);
    const ended = once(child, 'close').then(() => ({ status: child.exitCode, ...output }));
    return {
      stdout: () => output.stdout,
      stderr: () => output.stderr,
      ended,
      end() {
        child.kill();
        return ended;
      },
    };
  }

  const run: CommandLine['run'] = (args, input) => start(args, input).ended;
  return {
    start,
    run,
    async json(args) {
      const { status, stdout, stderr } = await run([...args, '--json']);
      if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async allow(args, person, known?: FormBrowser) {
      const running = start(args);
      const page = () => /(\S+)\/device\?user_code=([\w-]+)/.exec(running.stdout() + running.stderr());
      await Promise.race([until(() => page() !== null, 20_000), running.ended]);
      const [, origin = '', user_code = ''] = page() ?? [];
      if (origin === '') throw new Error(`it has not asked: ${running.stderr()}`);
      const browser = known ?? createFormBrowser(origin);
      const verify = await browser.submit(await browser.get('/device'), { user_code });
      let next = await browser.submit(verify, {});
      if (next.url.pathname.startsWith('/sign-in/')) next = await browser.submit(next, person);
      if (!next.html.includes('Your device is connected')) throw new Error(next.html);
      return running.ended;
    },
  };
}
