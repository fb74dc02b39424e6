/** The Redis of a lock storm: its own server, which is restarted with what it had. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { loadScript, runScript } from '../../service/connections/scripts.ts';
import { freePorts } from '../environment/ports.ts';
import { isAlive, type ProcessRef } from '../environment/process-table.ts';
import { startProcess } from '../environment/processes.ts';
import { redisServer } from '../environment/servers/redis.ts';
import type { Server } from '../environment/servers/server.ts';
import { waitUntil } from '../environment/wait-until.ts';

const leaveScript = loadScript('locks/leave-fair');

/** Below those that the kernel gives to clients: a killed server finds its port free again. */
const firstPort = 20_300;

const processFile = (folder: string): string => join(folder, 'redis.json');

/** The Redis of a storm whose command was killed runs on. */
export function endKilledStorm(folder: string): void {
  const file = processFile(folder);
  const left = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ProcessRef) : null;
  if (left && isAlive(left)) process.kill(left.pid, 'SIGKILL');
}

const isLatch = (key: string): boolean => key.startsWith('redisson_unlock_latch:');

export class StormRedis {
  readonly url: string;
  readonly #server: Server;
  readonly #processFile: string;
  readonly #redis: Redis;
  #process: ProcessRef | undefined;

  static async start(folder: string): Promise<StormRedis> {
    const redis = new StormRedis(folder, await freePorts(firstPort));
    await redis.#start();
    await redis.#redis.connect();
    return redis;
  }

  private constructor(folder: string, port: number) {
    this.url = `redis://127.0.0.1:${port}`;
    this.#processFile = processFile(folder);
    // It syncs before it answers: a restart loses no lock.
    this.#server = redisServer('redis', folder, port, 'always');
    const retryStrategy = () => 50;
    this.#redis = new Redis({ port, retryStrategy, maxRetriesPerRequest: null, lazyConnect: true });
    this.#redis.on('error', () => {});
  }

  async killClients(type: 'normal' | 'pubsub'): Promise<void> {
    await this.#redis.call('CLIENT', 'KILL', 'TYPE', type);
  }

  async flushScripts(): Promise<void> {
    await this.#redis.script('FLUSH');
  }

  /** With kill -9. */
  async restart(downMs: number): Promise<void> {
    await this.#kill();
    await sleep(downMs);
    await this.#start();
  }

  async end(): Promise<void> {
    this.#redis.disconnect();
    await this.#kill();
  }

  /**
   * Every key, and every channel that somebody listens to. But not a latch that expires: a process
   * that is killed after a release leaves one.
   */
  async everything(): Promise<string[]> {
    const keys = await this.#redis.keys('*');
    const lives = await Promise.all(keys.map((key) => this.#redis.pttl(key)));
    const left = keys.filter((key, index) => !isLatch(key) || (lives[index] ?? -1) < 0);
    return [...left, ...((await this.#redis.pubsub('CHANNELS')) as string[])];
  }

  /** The latches of releases whose end nobody heard. */
  async latches(): Promise<number> {
    return (await this.#redis.keys('*')).filter(isLatch).length;
  }

  /** Takes these clients out of the line of a fair lock. @returns how many places they had */
  async leaveLine(lock: string, clients: ReadonlySet<string>): Promise<number> {
    const queue = `redisson_lock_queue:{${lock}}`;
    const channels = `redisson_lock__channel:{${lock}}`;
    const keys = [lock, queue, `redisson_lock_timeout:{${lock}}`, channels];
    const owners = await this.#redis.lrange(queue, 0, -1);
    const leaving = owners.filter((owner) => clients.has(owner.replace(/:.*/, '')));
    // The turns of those behind stay as they are: theirs need not have been as long.
    for (const owner of leaving) await runScript(this.#redis, leaveScript, keys, [owner, '0', '0']);
    return leaving.length;
  }

  async #start(): Promise<void> {
    await this.#server.prepare?.();
    this.#process = startProcess(this.#server.program());
    writeFileSync(this.#processFile, JSON.stringify(this.#process));
    await waitUntil('Redis to answer', 10_000, () => this.#server.answers());
  }

  async #kill(): Promise<void> {
    const server = this.#process;
    if (!server) return;
    process.kill(server.pid, 'SIGKILL');
    await waitUntil('Redis to end', 5_000, () => !isAlive(server));
    this.#process = undefined;
  }
}
