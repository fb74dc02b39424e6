/**
 * The lock storm: processes contend for the same keys of the reentrant and of the fair lock, while
 * connections are cut, scripts forgotten, processes stopped and killed, and Redis restarted, at
 * moments that a seed decides. Then it is calm, and the witness is asked.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { Contender, type Program } from './lock-storm-contenders.ts';
import { type Judgement, judge } from './lock-storm-judge.ts';
import { roundLength, type Step, stormPlan, times } from './lock-storm-plan.ts';
import { type Done, machineMs, type Period, readRecords, recordsOf } from './lock-storm-records.ts';
import { StormRedis } from './lock-storm-redis.ts';

/** A crowd asks all the time; the lanes of a bell ask together, one in each process. */
export interface StormKey {
  readonly key: string;
  readonly rung: 'redis-reentrant' | 'redis-fair';
  readonly arrival: 'crowd' | 'bell';
  /** In the line of a fair lock, some turns are shorter than others: its waiters may sleep. */
  readonly hasShortTurns?: true;
}

/** What a contender is told; `seed` is its own. */
export interface Task {
  readonly name: string;
  readonly seed: number;
  readonly folder: string;
  readonly redisUrl: string;
}

export interface Kind {
  readonly kind: string;
  readonly count: number;
  program(task: Task): Program;
  /** The lanes that must make progress, as a contender names them: key and number. */
  readonly lanes: readonly string[];
}

export interface StormOptions {
  readonly keys: readonly StormKey[];
  readonly seed: number;
  readonly stormMs: number;
  readonly kinds: readonly Kind[];
  readonly folder: string;
}

export interface Storm extends Judgement {
  /** How often each fault was injected. */
  readonly faults: Readonly<Record<string, number>>;
}

export async function lockStorm(options: StormOptions): Promise<Storm> {
  mkdirSync(options.folder, { recursive: true });
  const storm = new LockStorm(options, await StormRedis.start(options.folder));
  try {
    await storm.start();
    return await storm.run();
  } finally {
    await storm.end();
  }
}

/** As many lanes of a process may be in a release when it is killed or loses its connections. */
const latchesForEachFault = 4;

class LockStorm {
  readonly #options: StormOptions;
  readonly #redis: StormRedis;
  readonly #contenders: Contender[] = [];
  readonly #kindOf = new Map<string, Kind>();
  readonly #faults: Record<string, number> = {};
  readonly #stops: Done['stops'][number][] = [];
  readonly #kills: Done['kills'][number][] = [];
  /** The names of killed clients in the lines of the fair lock. */
  readonly #dead = new Set<string>();
  readonly #disconnections: Period[] = [];
  /** Contenders that are resumed or replaced. */
  readonly #background: Promise<unknown>[] = [];
  readonly #violations: string[] = [];
  #clearing: Promise<void> | undefined;
  #started = 0;
  #isOver = false;
  /** A process that is stopped before this may not have renewed its leases. */
  #quietFrom = 0;

  constructor(options: StormOptions, redis: StormRedis) {
    this.#options = options;
    this.#redis = redis;
  }

  async start(): Promise<void> {
    for (const kind of this.#options.kinds)
      for (let count = 0; count < kind.count; count++) this.#open(kind);
    await Promise.all(this.#contenders.map((each) => each.untilSaid('ready', 30_000)));
    this.#clearing = this.#clearPlacesOfTheDead();
  }

  async run(): Promise<Storm> {
    for (const each of this.#contenders) each.say('go');
    const calm: Period[] = [await this.#calm(times.bell * 3)];
    await this.#storm();
    await sleep(times.lease + times.answer * 3); // What a fault cost has expired.
    for (const each of this.#alive()) each.say('calm');
    calm.push(await this.#calm(times.bell * 3));
    await this.#expectProgress();
    await this.#expectNothingLeft();
    await this.#expectFree();
    return this.#judge(calm);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    for (const each of this.#contenders) if (each.isAlive) await each.kill();
    await this.#redis.end();
    await Promise.allSettled([this.#clearing, ...this.#background]);
  }

  #alive(): Contender[] {
    return this.#contenders.filter(({ isAlive }) => isAlive);
  }

  #open(kind: Kind): Contender {
    const { seed, folder } = this.#options;
    const name = `${kind.kind}-${++this.#started}`;
    const own = seed * 100 + this.#started;
    const task = { name, seed: own, folder, redisUrl: this.#redis.url };
    const contender = new Contender(name, folder, kind.program(task));
    this.#contenders.push(contender);
    this.#kindOf.set(name, kind);
    return contender;
  }

  async #calm(forMs: number): Promise<Period> {
    const from = machineMs();
    await sleep(forMs);
    return { from, to: machineMs() };
  }

  async #storm(): Promise<void> {
    const until = performance.now() + this.#options.stormMs;
    let injected = 0;
    for (const step of stormPlan(this.#options.seed)) {
      if (injected++ >= roundLength && performance.now() > until) break;
      await sleep(step.afterMs);
      this.#faults[step.fault] = (this.#faults[step.fault] ?? 0) + 1;
      await this.#inject(step);
    }
    await Promise.all(this.#background.splice(0));
  }

  async #inject(step: Step): Promise<void> {
    switch (step.fault) {
      case 'kill-clients':
        return this.#disconnecting(() => this.#redis.killClients('normal'));
      case 'kill-subscribers':
        return this.#disconnecting(() => this.#redis.killClients('pubsub'));
      case 'restart-redis':
        return this.#disconnecting(() => this.#redis.restart(step.forMs));
      case 'flush-scripts':
        return this.#redis.flushScripts();
      case 'stop-shortly':
      case 'stop-past-the-lease':
        return this.#stop(step);
      case 'kill-contender':
        return this.#kill(step);
    }
  }

  async #disconnecting(work: () => Promise<void>): Promise<void> {
    const from = machineMs();
    await work();
    this.#disconnections.push({ from, to: machineMs() + times.answer });
    this.#disturb();
  }

  /** The next stop waits until each lease was renewed again: then it has `leastLeftMs`. */
  #disturb(): void {
    this.#quietFrom = performance.now() + (times.lease * 2) / 3 + times.answer;
  }

  /** While it is inside a section, if it enters one soon. It is resumed in the background. */
  async #stop(step: Step): Promise<void> {
    while (performance.now() < this.#quietFrom) await sleep(50);
    const victim = this.#victim(step);
    if (!victim) return;
    const isInside = () => this.#marksOf(victim.name).length > 0;
    await waitUntil('the victim to enter', 1_000, isInside, 2).catch(() => {});
    const from = machineMs();
    victim.pause();
    const resuming = sleep(step.forMs).then(() => {
      victim.resume();
      this.#stops.push({ process: victim.name, from, to: machineMs() });
      this.#disturb();
    });
    this.#background.push(resuming);
  }

  /** Another one takes its place. Its marks are removed: it is not inside any more. */
  async #kill(step: Step): Promise<void> {
    const victim = this.#victim(step);
    const kind = victim && this.#kindOf.get(victim.name);
    if (!victim || !kind) return;
    await victim.kill();
    this.#kills.push({ process: victim.name, at: machineMs() });
    for (const each of recordsOf(this.#options.folder, victim.name))
      if (each.event === 'client') this.#dead.add(each.client);
    for (const mark of this.#marksOf(victim.name)) rmSync(mark);
    const next = this.#open(kind);
    const replacing = next.untilSaid('ready', 30_000).then(() => next.say('go'));
    this.#background.push(replacing.catch((error) => this.#violations.push(String(error))));
  }

  #victim({ pick }: Step): Contender | undefined {
    const candidates = this.#alive().filter((each) => !each.isStopped && each.hasSaid('ready'));
    return candidates[pick % candidates.length];
  }

  #marksOf(name: string): string[] {
    return this.#options.keys.flatMap(({ key }) => {
      const inside = join(this.#options.folder, key, 'inside');
      try {
        const marks = readdirSync(inside).filter((mark) => mark.startsWith(`${name}.`));
        return marks.map((mark) => join(inside, mark));
      } catch {
        return []; // Nobody has entered yet.
      }
    });
  }

  /**
   * A dead waiter blocks the line of a fair lock until its turn times out, after five minutes. That
   * is claimed (redis-fair.ts). So its place is taken out, and no other.
   */
  async #clearPlacesOfTheDead(): Promise<void> {
    while (!this.#isOver) {
      for (const { key } of this.#options.keys.filter(({ rung }) => rung === 'redis-fair'))
        await this.#redis.leaveLine(`lock:${key}`, this.#dead).catch(() => 0); // Next time.
      await sleep(200);
    }
  }

  async #expectProgress(): Promise<void> {
    await Promise.all(
      this.#alive().flatMap((each) =>
        (this.#kindOf.get(each.name)?.lanes ?? []).map((lane) =>
          each
            .untilSaid(`entered ${lane}`, 10_000)
            .catch(() => this.#violations.push(`no progress: ${lane} of ${each.name}`)),
        ),
      ),
    );
  }

  async #expectNothingLeft(): Promise<void> {
    const stopping = this.#alive().map((each) => {
      each.say('stop');
      return each
        .untilSaid('stopped', 20_000)
        .catch(() => this.#violations.push(`${each.name} still waits`));
    });
    await Promise.all(stopping);
    let left: string[] = [];
    const isNothing = async () => {
      left = await this.#redis.everything();
      return left.length === 0;
    };
    await waitUntil('nothing to be left', times.lease + times.answer, isNothing).catch(() =>
      this.#violations.push(`left behind: ${left.join(', ')}`),
    );
    // A fault keeps the releases of that moment from their end, and no others.
    const faults = Object.values(this.#faults).reduce((sum, count) => sum + count, 0);
    const latches = await this.#redis.latches();
    if (latches > faults * latchesForEachFault)
      this.#violations.push(`${latches} latches left behind by ${faults} faults`);
  }

  async #expectFree(): Promise<void> {
    for (const each of this.#alive()) {
      each.say('try');
      await each.untilSaid('tried', 10_000).catch(() => 0);
    }
  }

  #judge(calm: readonly Period[]): Storm {
    const { folder, keys } = this.#options;
    const records = readRecords(folder);
    const counters = new Map(keys.map(({ key }) => [key, counterOf(folder, key)]));
    const sleepless = new Set(keys.filter((each) => !each.hasShortTurns).map(({ key }) => key));
    const [stops, kills, disconnections] = [this.#stops, this.#kills, this.#disconnections];
    const judged = judge(records, { stops, kills, disconnections, counters, calm, sleepless });
    const tried = records.filter((each) => each.event === 'tried');
    const refused = tried
      .filter(({ granted }) => !granted)
      .map(({ key, process }) => `a free ${key} was refused to ${process}`);
    const expected = this.#alive().length * keys.length;
    if (tried.length < expected) refused.push(`${expected - tried.length} free locks not tried`);
    const violations = [...this.#violations, ...judged.violations, ...refused];
    return { ...judged, violations, faults: this.#faults };
  }
}

const counterOf = (folder: string, key: string): number => {
  try {
    return Number(readFileSync(join(folder, key, 'counter'), 'utf8'));
  } catch {
    return 0;
  }
};
