/** What contends in a lock storm, for what, and its processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '../environment/wait-until.ts';
import { times } from './plan.ts';

/** A crowd asks all the time; the lanes of a bell ask together, one in each process. */
export interface StormKey {
  readonly key: string;
  readonly rung: 'redis-reentrant' | 'redis-fair';
  readonly arrival: 'crowd' | 'bell';
  /** In the line of a fair lock, some turns are shorter than others: its waiters may sleep. */
  readonly hasShortTurns?: true;
}

/** A key, and how many lanes of this process want it. */
export interface LanesOfKey extends StormKey {
  readonly lanes: number;
}

/** What a contender is told; `seed` is its own. */
export interface Task {
  readonly name: string;
  readonly seed: number;
  readonly folder: string;
  readonly redisUrl: string;
  /** The settings of the lab. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The argument of contender.ts. */
export interface ContenderTask extends Omit<Task, 'redisUrl' | 'environment'> {
  readonly leaseMs: number;
  readonly bellMs: number;
  readonly keys: readonly LanesOfKey[];
}

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** So many processes of one program. */
export interface Kind {
  readonly kind: string;
  readonly count: number;
  program(task: Task): Program;
  /** The lanes that must make progress, as a contender names them: key and number. */
  readonly lanes: readonly string[];
}

const rungs = ['redis-reentrant', 'redis-fair'] as const;

export const stormKeys: readonly StormKey[] = rungs.flatMap((rung) => [
  { rung, key: `${rung}-crowd`, arrival: 'crowd' },
  { rung, key: `${rung}-bell`, arrival: 'bell' },
  { rung, key: `${rung}-second-bell`, arrival: 'bell' },
]);

/** Compiled: a process cannot run TypeScript. */
const contender = fileURLToPath(
  new URL('../../../dist/lab/lock-storm/contender.js', import.meta.url),
);

/** Processes with our locks: in each, several async owners of each key. */
export function ourContenders(count: number, wanted: readonly StormKey[]): Kind {
  const keys: LanesOfKey[] = wanted.map((key) => ({
    ...key,
    lanes: key.arrival === 'crowd' ? 3 : 1,
  }));
  return {
    kind: 'node',
    count,
    lanes: keys.flatMap(({ key, lanes }) =>
      Array.from({ length: lanes }, (_, number) => `${key} ${number}`),
    ),
    program: ({ redisUrl, environment, ...own }) => {
      const task: ContenderTask = { ...own, leaseMs: times.lease, bellMs: times.bell, keys };
      return {
        file: process.execPath,
        args: [contender, JSON.stringify(task)],
        env: {
          ...environment,
          REDIS_URL: redisUrl,
          LOCK_WATCHDOG_MS: String(times.lease),
          LOCK_ANSWER_MS: String(times.answer),
        },
      };
    },
  };
}

/** One process: it is stopped, killed, and asked by its standard input. */
export class Contender {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #said = new Set<string>();
  readonly #log: string;
  isStopped = false;

  constructor(name: string, folder: string, { file, args, env }: Program) {
    this.name = name;
    this.#child = spawn(file, args, { env: { ...process.env, ...env } });
    const { stdin, stdout, stderr } = this.#child;
    if (!stdin || !stdout || !stderr) throw new Error(`${name} has no streams`);
    stdin.on('error', () => {}); // It was killed.
    this.#log = join(folder, `${name}.log`);
    stderr.pipe(createWriteStream(this.#log));
    createInterface({ input: stdout }).on('line', (line) => this.#said.add(line));
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  say(word: 'go' | 'calm' | 'stop' | 'try'): void {
    this.#child.stdin?.write(`${word}\n`);
  }

  hasSaid(line: string): boolean {
    return this.#said.has(line);
  }

  async untilSaid(line: string, withinMs: number): Promise<void> {
    const isOver = () => this.hasSaid(line) || !this.isAlive;
    await waitUntil(`${this.name} to say ${line}`, withinMs, isOver);
    if (!this.hasSaid(line)) throw new Error(`${this.name} ended: ${this.#lastWords()}`);
  }

  #lastWords(): string {
    return readFileSync(this.#log, 'utf8').slice(-2_000);
  }

  pause(): void {
    this.isStopped = true;
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
    this.isStopped = false;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await waitUntil(`${this.name} to end`, 5_000, () => !this.isAlive);
  }
}
