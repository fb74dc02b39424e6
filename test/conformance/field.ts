/** Three Redis masters, and what one clause has while it runs: contenders, closed after it. */
import { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';
import { within } from './ask.ts';
import type { Contender, Grant, Subject, Terms } from './subject.ts';

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

/** A package that has not ended an acquire by then will not. */
const endLimitMs = 4_000;
const closeLimitMs = 1_000;

export class Field {
  readonly masters: Masters;
  readonly #closers: (() => unknown)[] = [];
  readonly #acquires: Promise<Grant | null>[] = [];

  constructor(masters: Masters) {
    this.masters = masters;
  }

  /**
   * A contender that has acquired and released a lock once: it is connected, and Redis has its
   * scripts.
   */
  async contender(
    subject: Subject,
    terms: Terms,
    proxies?: readonly TcpProxy[],
  ): Promise<Contender> {
    const ports = proxies?.map(({ port }) => port) ?? this.masters.ports;
    const urls = ports.map((port) => `redis://127.0.0.1:${port}`);
    const opened = await subject.open(urls, terms);
    this.#closers.push(() => opened.close());
    const contender = { ...opened, acquire: (resource: string) => this.#noted(opened, resource) };
    const grant = await contender.acquire(`warm-up-${ports[0]}-${this.#closers.length}`);
    await grant?.release();
    return contender;
  }

  contenders(subject: Subject, terms: Terms, count: number): Promise<Contender[]> {
    return Promise.all(Array.from({ length: count }, () => this.contender(subject, terms)));
  }

  /** One proxy in front of each master. */
  async proxies(): Promise<TcpProxy[]> {
    const proxies = this.masters.ports.map((port) => new TcpProxy(0, port));
    this.#closers.push(...proxies.map((proxy) => () => proxy.close()));
    await Promise.all(proxies.map((proxy) => proxy.listen()));
    return proxies;
  }

  /**
   * Mends the masters and ends what was begun before it disconnects: else a lock of this clause
   * would go on into the next one.
   */
  async close(): Promise<void> {
    await this.masters.mend();
    const ends = this.#acquires.splice(0).map(async (acquiring) => {
      const grant = await acquiring;
      await grant?.release();
    });
    await within(endLimitMs, Promise.allSettled(ends), () => null);
    for (const close of this.#closers.splice(0).reverse())
      await within(closeLimitMs, Promise.resolve(close()), () => null);
    await this.masters.mend();
  }

  #noted(contender: Contender, resource: string): Promise<Grant | null> {
    const acquiring = contender.acquire(resource);
    this.#acquires.push(acquiring);
    return acquiring;
  }
}
