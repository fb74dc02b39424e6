/** Three Redis masters of the clauses: killed, paused, and emptied between two clauses. */

import { Redis } from 'ioredis';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { isAlive, type ProcessRef } from '../../src/lab/environment/process-table.ts';
import {
  killWithChildren,
  signalProcess,
  startProcess,
} from '../../src/lab/environment/processes.ts';
import { redisServer } from '../../src/lab/environment/servers/redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { labError } from '../../src/lab/errors.ts';
import { loadingRetryMs } from '../../src/service/connections/redis.ts';

const count = 3;
const answersWithinMs = 10_000;

export async function startMasters(folder: string, fromPort: number): Promise<Masters> {
  const first = await freePorts(fromPort, count);
  const places = Array.from({ length: count }, (_, place) => place);
  const masters = new Masters(places.map((place) => new Master(folder, first + place)));
  try {
    await masters.mend();
  } catch (error) {
    await masters.stop();
    throw error;
  }
  return masters;
}

class Master {
  readonly port: number;
  readonly admin: Redis;
  readonly #server;
  #process: ProcessRef | undefined;
  #isOver = false;

  constructor(folder: string, port: number) {
    this.port = port;
    this.#server = redisServer(`master-${port}`, folder, port, 'everysec');
    this.admin = new Redis({
      ...{ port, lazyConnect: true },
      ...{ retryStrategy: () => 20, maxLoadingRetryTime: loadingRetryMs },
    });
    this.admin.on('error', () => {});
  }

  async start(): Promise<void> {
    if (this.#isOver) throw labError('INTERRUPTED');
    await this.#server.prepare?.();
    this.#process = startProcess(this.#server.program());
    await waitUntil(`the Redis on ${this.port}`, answersWithinMs, () => this.#server.answers());
  }

  async kill(): Promise<void> {
    if (this.#process) await killWithChildren(this.#process);
  }

  /** It does not start again: a clause that was interrupted would mend it. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.admin.disconnect();
    await this.kill();
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#process) signalProcess(this.#process, name);
  }

  /** Runs, answers, and is empty. */
  async mend(): Promise<void> {
    if (!this.#process || !isAlive(this.#process)) await this.start();
    this.signal('SIGCONT');
    await this.admin.config('SET', 'min-replicas-to-write', '0');
    await this.admin.flushall();
  }
}

export class Masters {
  readonly #masters: readonly Master[];

  constructor(masters: readonly Master[]) {
    this.#masters = masters;
  }

  get ports(): number[] {
    return this.#masters.map(({ port }) => port);
  }

  kill = (place: number): Promise<void> => this.#at(place).kill();
  /** With SIGSTOP: its connections stand, and nothing is answered. */
  pause = (place: number): void => this.#at(place).signal('SIGSTOP');

  /** It answers every write with an error at once, as a master without its replicas does. */
  async refuseWrites(place: number): Promise<void> {
    await this.#at(place).admin.config('SET', 'min-replicas-to-write', '1');
  }

  /** Every master runs, answers, takes writes, and is empty. */
  async mend(): Promise<void> {
    await Promise.all(this.#masters.map((master) => master.mend()));
  }

  /** Every key that expires, by its master and name, with its value. */
  async keys(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const read = async ({ admin }: Master, place: number) => {
      for (const key of await admin.keys('*')) {
        const [ttl, value] = await Promise.all([admin.pttl(key), admin.dumpBuffer(key)]);
        if (ttl >= 0 && value) found.set(`${place} ${key}`, value.toString('hex'));
      }
    };
    await Promise.all(this.#masters.map(read));
    return found;
  }

  /** Every key, also one that never expires. */
  async countKeys(): Promise<number> {
    const sizes = await Promise.all(this.#masters.map(({ admin }) => admin.dbsize()));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Ends the time of every key that expires, now. */
  async expireKeys(): Promise<void> {
    for (const name of (await this.keys()).keys()) {
      const [place, ...key] = name.split(' ');
      await this.#at(Number(place)).admin.pexpire(key.join(' '), 0);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#masters.map((master) => master.end()));
  }

  #at(place: number): Master {
    const master = this.#masters[place];
    if (!master) throw new RangeError(`there is no master ${place}`);
    return master;
  }
}
