import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

const ROUND_MS = 500;
const WARM_UP = 4;

/** A process that serves at a port of this machine. */
export type Server = { pid: number; port: number };
export type Call = {
  method: 'GET' | 'POST';
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** The status of the response. */
  status: number;
};
/** The requests to a server: they are repeated until the round is over, or there are no more. */
export type Load = { server: Server; prepare?: () => Promise<void>; next: () => Call | undefined };
/** The figures of one round: requests a second, milliseconds, microseconds of CPU for each request. */
type Figures = { rate: number; p50: number; p95: number; p99: number; cpu: number };

export type LoadComparison = {
  /** The body of the response. */
  send(server: Server, call: Call): Promise<string>;
  /** Drives the loads in turns, so that whatever else the machine does falls on all, and prints each beside the first. */
  compare(loads: Record<string, Load>): Promise<void>;
  printTitle(title: string): void;
  close(): void;
};

/**
 * Compares servers under load.
 *
 * @param options.rounds of half a second each
 * @param options.concurrency requests at the same time
 */
export function createLoadComparison(options: { rounds: number; concurrency: number }): LoadComparison {
  const { rounds, concurrency } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });

  function send({ port }: Server, { method, path, headers = {}, body, status }: Call): Promise<string> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const sent = request(
        { agent, host: '127.0.0.1', port, method, path, headers: { ...headers, ...length } },
        (response) => {
          text(response).then((reply) => {
            if (response.statusCode === status) resolve(reply);
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${reply}`));
          }, reject);
        },
      );
      sent.on('error', reject).end(body);
    });
  }

  async function drive({ server, prepare, next }: Load): Promise<Figures> {
    await prepare?.();
    const times: number[] = [];
    const cpu = cpuOf(server);
    const begin = performance.now();
    async function one(): Promise<void> {
      while (performance.now() - begin < ROUND_MS) {
        const call = next();
        if (call === undefined) return;
        const sentAt = performance.now();
        await send(server, call);
        times.push(performance.now() - sentAt);
      }
    }
    await Promise.all(Array.from({ length: concurrency }, one));
    const seconds = (performance.now() - begin) / 1000;
    times.sort((a, b) => a - b);
    const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0;
    return {
      rate: times.length / seconds,
      p50: at(0.5),
      p95: at(0.95),
      p99: at(0.99),
      cpu: (cpuOf(server) - cpu) / times.length,
    };
  }

  async function compare(loads: Record<string, Load>): Promise<void> {
    const figuresOf = new Map(Object.keys(loads).map((name) => [name, [] as Figures[]]));
    for (let i = -WARM_UP; i < rounds; i += 1) {
      for (const [name, load] of Object.entries(loads)) {
        const figures = await drive(load);
        if (i >= 0) figuresOf.get(name)?.push(figures);
      }
    }
    const [[firstName, first] = ['', []]] = figuresOf;
    for (const [name, own] of figuresOf) {
      const of = (key: keyof Figures) => median(own.map((it) => it[key]));
      print(name, [
        of('rate').toFixed(0),
        ...[of('p50'), of('p95'), of('p99')].map((ms) => ms.toFixed(1)),
        of('cpu').toFixed(0),
      ]);
      if (own === first) continue;
      // Each round with the first one beside it.
      const ratio = (key: keyof Figures) =>
        median(own.map((it, i) => it[key] / (first[i]?.[key] ?? Number.NaN))).toFixed(3);
      print(`  to ${firstName}`, (['rate', 'p50', 'p95', 'p99', 'cpu'] as const).map(ratio));
    }
  }

  return {
    send,
    compare,
    printTitle: (title) => print(title, ['requests/s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU µs']),
    close: () => agent.destroy(),
  };
}

/** The time for which the threads of a process have run, in microseconds. Linux counts it in nanoseconds. */
function cpuOf({ pid }: Server): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((id) => readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]);
  return times.reduce((sum, nanoseconds) => sum + Number(nanoseconds), 0) / 1000;
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function print(name: string, figures: string[]): void {
  process.stdout.write(`${name.padEnd(26)}${figures.map((it) => it.padStart(11)).join('')}\n`);
}
