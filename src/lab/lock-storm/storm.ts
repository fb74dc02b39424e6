/**
 * The lock storm: processes contend for the same keys of the reentrant and of the fair lock, while
 * connections are cut, scripts forgotten, processes stopped and killed, and Redis restarted, at
 * moments that a seed decides. Then it is calm, and the witness is asked.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../environment/wait-until.ts';
import type { Undo } from '../faults/fault.ts';
import type { Stage } from '../stage/stage.ts';
import { type Judgement, judgeStorm } from './judge.ts';
import type { Kind, StormKey } from './kinds.ts';
import { Contender } from './kinds.ts';
import { roundLength, type Step, stormPlan, times } from './plan.ts';
import {
  countOf,
  machineMs,
  marksFolder,
  type Period,
  readRecords,
  recordsOf,
  type StormFaults,
} from './records.ts';
import { endKilledStorm, StormRedis } from './storm-redis.ts';

export interface StormOptions {
  readonly seed: number;
  readonly stormMs: number;
  readonly keys: readonly StormKey[];
  readonly kinds: readonly Kind[];
}

/** A folder for the records and the witness, and a Redis of its own. */
export async function lockStorm(stage: Stage, options: StormOptions): Promise<Judgement> {
  const folder = join(stage.lab.folder, 'lock-storm');
  endKilledStorm(folder);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const storm = new LockStorm(stage, options, folder, await StormRedis.begin(folder));
  const end = () => void storm.end();
  stage.signal.addEventListener('abort', end); // In whatever phase it is.
  try {
    await storm.start();
    return await storm.run();
  } finally {
    stage.signal.removeEventListener('abort', end);
    await storm.end();
  }
}

/** As many lanes of a process may be in a release when it is killed or loses its connections. */
const latchesForEachFault = 4;

class LockStorm {
  readonly #stage: Stage;
  readonly #options: StormOptions;
  readonly #folder: string;
  readonly #redis: StormRedis;
  readonly #contenders: Contender[] = [];
  readonly #kindOf = new Map<string, Kind>();
  readonly #stops: StormFaults['stops'][number][] = [];
  readonly #kills: StormFaults['kills'][number][] = [];
  /** The names of killed clients in the lines of the fair lock. */
  readonly #dead = new Set<string>();
  readonly #disconnections: Period[] = [];
  /** Contenders that are resumed or replaced. */
  readonly #background: Promise<unknown>[] = [];
  readonly #violations: string[] = [];
  #clearing: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #started = 0;
  #isOver = false;
  /** A process that is stopped before this may not have renewed its leases. */
  #quietFrom = 0;

  constructor(stage: Stage, options: StormOptions, folder: string, redis: StormRedis) {
    this.#stage = stage;
    this.#options = options;
    this.#folder = folder;
    this.#redis = redis;
  }

  async start(): Promise<void> {
    for (const kind of this.#options.kinds)
      for (let count = 0; count < kind.count; count++) this.#open(kind);
    await Promise.all(this.#contenders.map((each) => each.untilSaid('ready', 30_000)));
    this.#clearing = this.#clearPlacesOfTheDead();
  }

  async run(): Promise<Judgement> {
    for (const each of this.#contenders) each.say('go');
    const calm: Period[] = [await this.#calm(times.bell * 3)];
    await this.#storm();
    await this.#stage.rest(times.lease + times.answer * 3); // What a fault cost has expired.
    for (const each of this.#alive()) each.say('calm');
    calm.push(await this.#calm(times.bell * 3));
    await this.#expectProgress();
    await this.#expectNothingLeft();
    await this.#expectFree();
    return this.#judgeStorm(calm);
  }

  /** Once, however often it is called. */
  end(): Promise<void> {
    this.#ending ??= this.#endAll();
    return this.#ending;
  }

  async #endAll(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#alive().map((each) => each.kill()), this.#redis.end()]);
    await Promise.allSettled([this.#clearing, ...this.#background]);
  }

  #alive(): Contender[] {
    return this.#contenders.filter(({ isAlive }) => isAlive);
  }

  #open(kind: Kind): Contender {
    const { seed } = this.#options;
    const { environment } = this.#stage.lab;
    const [folder, redisUrl] = [this.#folder, this.#redis.url];
    const name = `${kind.kind}-${++this.#started}`;
    const own = seed * 100 + this.#started;
    const task = { name, seed: own, folder, redisUrl, environment };
    const contender = new Contender(name, folder, kind.program(task));
    this.#contenders.push(contender);
    this.#kindOf.set(name, kind);
    return contender;
  }

  async #calm(forMs: number): Promise<Period> {
    const from = machineMs();
    await this.#stage.rest(forMs);
    return { from, to: machineMs() };
  }

  async #storm(): Promise<void> {
    const until = performance.now() + this.#options.stormMs;
    let injected = 0;
    for (const step of stormPlan(this.#options.seed)) {
      if (injected++ >= roundLength && performance.now() > until) break;
      await this.#stage.rest(step.afterMs);
      if (isStop(step)) await this.#stage.rest(this.#quietFrom - performance.now());
      const inject = () => this.#inject(step);
      const mend = await this.#stage.inject({ name: step.fault, inject });
      const mending = this.#mendAfter(isStop(step) ? step.forMs : 0, mend);
      this.#background.push(mending.catch((error) => this.#violations.push(String(error))));
    }
    await Promise.all(this.#background.splice(0));
  }

  async #mendAfter(ms: number, mend: Undo): Promise<void> {
    await this.#stage.rest(ms).catch(() => {}); // Ctrl-C: it is mended at once.
    await mend();
  }

  #inject(step: Step): Promise<Undo> {
    switch (step.fault) {
      case 'kill-clients':
        return this.#disconnecting(() => this.#redis.killClients('normal'));
      case 'kill-subscribers':
        return this.#disconnecting(() => this.#redis.killClients('pubsub'));
      case 'restart-redis':
        return this.#disconnecting(() => this.#redis.restart(step.forMs));
      case 'flush-scripts':
        return this.#redis.flushScripts().then(() => nothing);
      case 'stop-shortly':
      case 'stop-past-the-lease':
        return this.#stop(step);
      case 'kill-contender':
        return this.#kill(step);
    }
  }

  async #disconnecting(work: () => Promise<void>): Promise<Undo> {
    const from = machineMs();
    await work();
    this.#disconnections.push({ from, to: machineMs() + times.answer });
    this.#disturb();
    return nothing;
  }

  /** The next stop waits until each lease was renewed again: then it has `leftMsMin`. */
  #disturb(): void {
    this.#quietFrom = performance.now() + (times.lease * 2) / 3 + times.answer;
  }

  /** While it is inside a section, if it enters one soon. @returns what resumes it */
  async #stop(step: Step): Promise<Undo> {
    const victim = this.#victim(step);
    if (!victim) return nothing;
    const isInside = () => this.#marksOf(victim.name).length > 0;
    await waitUntil('the victim to enter', 1_000, isInside, 2).catch(() => {});
    const from = machineMs();
    victim.pause();
    return async () => {
      victim.resume();
      this.#stops.push({ process: victim.name, from, to: machineMs() });
      this.#disturb();
    };
  }

  /** Its marks are removed: it is not inside any more. @returns the start of another one */
  async #kill(step: Step): Promise<Undo> {
    const victim = this.#victim(step);
    const kind = victim && this.#kindOf.get(victim.name);
    if (!victim || !kind) return nothing;
    await victim.kill();
    this.#kills.push({ process: victim.name, at: machineMs() });
    for (const each of recordsOf(this.#folder, victim.name))
      if (each.event === 'client') this.#dead.add(each.client);
    for (const mark of this.#marksOf(victim.name)) rmSync(mark);
    const next = this.#open(kind);
    return async () => {
      await next.untilSaid('ready', 30_000);
      next.say('go');
    };
  }

  #victim({ pick }: Step): Contender | undefined {
    const candidates = this.#alive().filter((each) => !each.isStopped && each.hasSaid('ready'));
    return candidates[pick % candidates.length];
  }

  #marksOf(name: string): string[] {
    return this.#options.keys.flatMap(({ key }) => {
      const inside = marksFolder(this.#folder, key);
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
    const faults = this.#stage.injected.length;
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

  #judgeStorm(calm: readonly Period[]): Judgement {
    const { keys } = this.#options;
    const records = readRecords(this.#folder);
    const counters = new Map(keys.map(({ key }) => [key, countOf(this.#folder, key)]));
    const sleepless = new Set(keys.filter((each) => !each.hasShortTurns).map(({ key }) => key));
    const [stops, kills, disconnections] = [this.#stops, this.#kills, this.#disconnections];
    const judged = judgeStorm(records, { stops, kills, disconnections, counters, calm, sleepless });
    const tried = records.filter((each) => each.event === 'tried');
    const refused = tried
      .filter(({ granted }) => !granted)
      .map(({ key, process }) => `a free ${key} was refused to ${process}`);
    const expected = this.#alive().length * keys.length;
    if (tried.length < expected) refused.push(`${expected - tried.length} free locks not tried`);
    return { ...judged, violations: [...this.#violations, ...judged.violations, ...refused] };
  }
}

const isStop = ({ fault }: Step): boolean =>
  fault === 'stop-shortly' || fault === 'stop-past-the-lease';
const nothing: Undo = async () => {};
