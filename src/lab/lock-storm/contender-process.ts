/** The processes of a lock storm: started, stopped, killed, and asked by their standard input. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitUntil } from '../environment/wait-until.ts';

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

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
