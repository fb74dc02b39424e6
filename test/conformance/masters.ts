/** Three Redis masters of the clauses: killed, paused, and emptied between two clauses. */
import { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { freePorts } from '../../src/lab/environment/ports.ts';

const count = 3;

export async function startMasters(folder: string, fromPort: number): Promise<Masters> {
  const first = await freePorts(fromPort, count);
  const ports = Array.from({ length: count }, (_, place) => first + place);
  const fsync = 'everysec';
  const masters = new Masters(
    ports.map((port) => new OwnRedis({ folder, port, name: `master-${port}`, fsync })),
  );
  try {
    await masters.mend();
  } catch (error) {
    await masters.stop();
    throw error;
  }
  return masters;
}

/** Runs, answers, and is empty. */
async function mendMaster(master: OwnRedis): Promise<void> {
  await master.start();
  await master.resume();
  await master.admin.config('SET', 'min-replicas-to-write', '0');
  await master.admin.flushall();
}

export class Masters {
  readonly #masters: readonly OwnRedis[];

  constructor(masters: readonly OwnRedis[]) {
    this.#masters = masters;
  }

  get ports(): number[] {
    return this.#masters.map(({ port }) => port);
  }

  kill = (place: number): Promise<void> => this.#at(place).kill();
  pause = (place: number): Promise<void> => this.#at(place).pause();

  /** It answers every write with an error at once, as a master without its replicas does. */
  async refuseWrites(place: number): Promise<void> {
    await this.#at(place).admin.config('SET', 'min-replicas-to-write', '1');
  }

  /** Every master runs, answers, takes writes, and is empty. */
  async mend(): Promise<void> {
    await Promise.all(this.#masters.map(mendMaster));
  }

  /** Every key that expires, by its master and name, with its value. */
  async keys(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const read = async ({ admin }: OwnRedis, place: number) => {
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

  #at(place: number): OwnRedis {
    const master = this.#masters[place];
    if (!master) throw new RangeError(`there is no master ${place}`);
    return master;
  }
}
