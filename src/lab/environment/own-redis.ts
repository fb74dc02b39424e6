/**
 * Servers beside those of the lab, each with one user that starts, breaks and ends it. Most are a
 * Redis: the masters of a comparison, of the conformance clauses, of a storm, of a test.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { loadingRetryMs } from '../../service/connections/redis.ts';
import { labError } from '../errors.ts';
import { isAlive, type ProcessRef } from './process-table.ts';
import {
  killWithChildren,
  type LabServer,
  pauseWithChildren,
  type Server,
  signalProcess,
  startProcess,
  stopProcess,
} from './processes.ts';
import { type Fsync, type RedisAccess, redisAnswers, redisServer } from './servers/redis.ts';
import { waitUntil } from './wait-until.ts';

interface StartOptions {
  readonly withinMs?: number;
  /** How often it is asked whether it answers. */
  readonly everyMs?: number;
  /** Is told each process, before it answers. */
  readonly onStart?: (ref: ProcessRef) => void;
}

export class OwnServer implements LabServer {
  readonly name: string;
  readonly port: number;
  readonly #server: Server;
  readonly #options: StartOptions;
  #process: ProcessRef | undefined;
  #isOver = false;

  constructor(server: Server, options: StartOptions = {}) {
    this.name = server.name;
    this.port = server.port;
    this.#server = server;
    this.#options = options;
  }

  /** The last one. */
  get process(): ProcessRef {
    if (!this.#process) throw new RangeError(`${this.name} was not started`);
    return this.#process;
  }

  get isRunning(): boolean {
    return this.#process !== undefined && isAlive(this.#process);
  }

  /** With its data, unless it runs. Resolves when it answers. @throws INTERRUPTED */
  async start(): Promise<void> {
    if (this.isRunning) return;
    await this.#server.prepare?.();
    this.#expectNotOver();
    const { withinMs = 20_000, everyMs, onStart } = this.#options;
    this.#process = startProcess(this.#server.program());
    onStart?.(this.#process);
    const answers = () => {
      this.#expectNotOver();
      return this.#server.answers();
    };
    await waitUntil(`${this.name} on port ${this.port}`, withinMs, answers, everyMs);
  }

  async stop(): Promise<void> {
    if (this.#process) await stopProcess(this.#process);
  }

  async kill(): Promise<void> {
    if (this.#process) await killWithChildren(this.#process);
  }

  async pause(): Promise<void> {
    if (this.#process) await pauseWithChildren(this.#process);
  }

  async resume(): Promise<void> {
    if (this.#process) signalProcess(this.#process, 'SIGCONT');
  }

  /** Kills it, and starts it with its data. */
  async restart(downMs = 0): Promise<void> {
    await this.kill();
    await sleep(downMs);
    await this.start();
  }

  /** Kills it. It does not start again: whoever breaks it may still be about to mend it. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.kill();
  }

  #expectNotOver(): void {
    if (this.#isOver) throw labError('INTERRUPTED');
  }
}

export interface OwnRedisOptions extends StartOptions {
  /** Of its data and its log file. */
  readonly folder: string;
  readonly port: number;
  readonly name?: string;
  readonly fsync?: Fsync;
  /** Of redis.conf, such as `replicaof`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly access?: RedisAccess;
  /** Instead of a PING: where a client may not send one. */
  readonly answers?: (port: number) => Promise<boolean>;
}

export class OwnRedis extends OwnServer {
  readonly url: string;
  /** Connects when it is first used, and again after each start. */
  readonly admin: Redis;

  constructor(options: OwnRedisOptions) {
    const { folder, port, name = 'redis', fsync = 'always', settings, access } = options;
    const { answers = () => redisAnswers(port, access) } = options;
    const server = redisServer(name, folder, port, fsync, settings);
    super({ ...server, answers: () => answers(port) }, options);
    this.url = `redis://127.0.0.1:${port}`;
    this.admin = new Redis({
      port,
      host: '127.0.0.1',
      lazyConnect: true,
      retryStrategy: () => 20,
      maxLoadingRetryTime: loadingRetryMs,
      ...access,
    });
    this.admin.on('error', () => {}); // While the server is away.
  }

  override async end(): Promise<void> {
    this.admin.disconnect();
    await super.end();
  }
}
