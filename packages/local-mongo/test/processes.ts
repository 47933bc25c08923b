import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

type Entry = { pid: number; parent: number; group: number };

/** The running processes; not those that have ended and that nobody has asked about yet (zombies). */
function running(): Entry[] {
  const lines = process.platform === 'linux' ? fromProc() : fromPs();
  return lines.flatMap((line) => {
    const [pid, state = 'Z', parent, group] = line.trim().split(/\s+/);
    return state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent), group: Number(group) }];
  });
}

/** As ps would print them, which small Linux images do not have. See proc_pid_stat(5). */
function fromProc(): string[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.flatMap((id) => {
    try {
      return [readFileSync(`/proc/${id}/stat`, 'utf8').replace(/ \(.*\) /s, ' ')];
    } catch {
      return [];
    }
  });
}

function fromPs(): string[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,stat=,ppid=,pgid='], { encoding: 'utf8' }).split('\n');
}

/** Whether a process of this id runs. */
export function isAlive(pid: number | undefined): boolean {
  return running().some((entry) => entry.pid === pid);
}

/** Whether any process of the process group runs. */
export function isGroupAlive(group: number | undefined): boolean {
  return running().some((entry) => entry.group === group);
}

/** The id of the process, which must be there: kill(0) would end this process and those that started it. */
export function pidOf(owner: { readonly pid?: number | undefined } | undefined): number {
  if (!owner?.pid) throw new Error('there is no process');
  return owner.pid;
}

/** The id of the process's parent. */
export function parentOf(pid: number): number {
  return pidOf({ pid: running().find((entry) => entry.pid === pid)?.parent });
}
