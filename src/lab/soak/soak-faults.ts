/**
 * The faults of a soak: at whose checkpoints each is played, what it hits, and for how long. And
 * what a soak must have seen: each fault, at each checkpoint that it can hit, in each state of the
 * sale. Such a combination is a cell. The next fault is one with a cell that was not seen yet: the
 * seed and what was seen decide, and nothing else.
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { Lab } from '../environment/lab.ts';
import { type ProxyName, proxyNamed } from '../environment/servers/proxies.ts';
import type { Fault } from '../faults/fault.ts';
import { type FaultName, faultOn, faults } from '../faults/faults.ts';
import { cutOneByOne } from '../faults/network.ts';

/** What a fault of the service hits: the processes that are stopped at a checkpoint. */
export interface FaultTarget {
  readonly lab: Lab;
  readonly instance: string;
  readonly worker: string;
  /** The processes in which something stands at a checkpoint. */
  readonly standing: readonly number[];
  /** From the injection to the undo. */
  readonly forMs: number;
  /** Of the sequence in which a fault hits several processes. */
  readonly seed: number;
}

interface SoakFault {
  /** It is played at the checkpoints of a purchase, of an order worker, or of both. */
  readonly at: 'purchase' | 'worker' | 'both';
  readonly does: FaultName;
  /**
   * `instance` and `worker` are those in which something stands. At an instance, the purchases must
   * be in this one, and not where nginx sends them.
   */
  readonly to: 'instance' | 'worker' | 'service' | 'nginx' | 'redis-main' | 'database';
  readonly lasts: { readonly leastMs: number; readonly mostMs: number };
}

/** After this time, another worker claims the orders of a worker that hangs. */
export const claimIdleMs = 1_500;
const pastClaim = { leastMs: claimIdleMs + 500, mostMs: 2 * claimIdleMs } as const;
const short = { leastMs: 100, mostMs: 600 } as const;
/** At most longer than a purchase waits for its answer. */
const long = { leastMs: 200, mostMs: 2_400 } as const;
const once = { leastMs: 50, mostMs: 200 } as const;

/** The most that an instance accepts. */
const clockStepMs = 600_000;

/** From one process that is cut off to the next. */
const nextCutMs = 100;

const table = {
  'kill instance': { at: 'purchase', does: 'kill', to: 'instance', lasts: short },
  'pause instance': { at: 'purchase', does: 'pause', to: 'instance', lasts: long },
  'block instance': { at: 'purchase', does: 'block-event-loop', to: 'instance', lasts: long },
  'step clock of instance back': {
    at: 'purchase',
    does: 'step-clock-back',
    to: 'instance',
    lasts: short,
  },
  'step clock of instance forward': {
    at: 'purchase',
    does: 'step-clock-forward',
    to: 'instance',
    lasts: short,
  },
  'kill nginx': { at: 'purchase', does: 'kill', to: 'nginx', lasts: short },
  'pause nginx': { at: 'purchase', does: 'pause', to: 'nginx', lasts: long },
  'kill workers of nginx': {
    at: 'purchase',
    does: 'kill-workers-of-nginx',
    to: 'nginx',
    lasts: once,
  },
  'reload nginx': { at: 'purchase', does: 'reload-nginx', to: 'nginx', lasts: once },
  'flush scripts': { at: 'purchase', does: 'flush-scripts', to: 'redis-main', lasts: once },
  'pause whole service': { at: 'both', does: 'pause', to: 'service', lasts: long },
  'kill redis-main': { at: 'both', does: 'kill', to: 'redis-main', lasts: short },
  'pause redis-main': { at: 'both', does: 'pause', to: 'redis-main', lasts: long },
  'fill disk of redis-main': { at: 'both', does: 'fill-disk', to: 'redis-main', lasts: short },
  'reset redis-main': { at: 'both', does: 'reset', to: 'redis-main', lasts: short },
  'lose answers of redis-main': { at: 'both', does: 'lose-answers', to: 'redis-main', lasts: long },
  'cut from redis-main one by one': {
    at: 'both',
    does: 'cut-one-by-one',
    to: 'redis-main',
    lasts: once,
  },
  'lose consumer group': { at: 'worker', does: 'lose-group', to: 'redis-main', lasts: once },
  'kill worker': { at: 'worker', does: 'kill', to: 'worker', lasts: short },
  'pause worker': { at: 'worker', does: 'pause', to: 'worker', lasts: pastClaim },
  'kill database': { at: 'worker', does: 'kill', to: 'database', lasts: short },
  'pause database': { at: 'worker', does: 'pause', to: 'database', lasts: long },
  'reset database': { at: 'worker', does: 'reset', to: 'database', lasts: short },
  'lose answers of database': { at: 'worker', does: 'lose-answers', to: 'database', lasts: long },
  'cut from database one by one': {
    at: 'worker',
    does: 'cut-one-by-one',
    to: 'database',
    lasts: once,
  },
} as const satisfies Record<string, SoakFault>;
export type SoakFaultName = keyof typeof table;
export const soakFaults: Readonly<Record<SoakFaultName, SoakFault>> = table;
export const soakFaultNames = Object.keys(table) as SoakFaultName[];

/** A fault of the network must find connections to this server. */
export function neededConnections(name: SoakFaultName): ProxyName | undefined {
  const { does, to } = soakFaults[name];
  return faults[does].hits === 'network' ? proxyNamed(to) : undefined;
}

export function soakFaultOn(name: SoakFaultName, target: FaultTarget): Fault {
  const { does, to } = soakFaults[name];
  if (does === 'cut-one-by-one')
    return cutOneByOne(proxyNamed(to), nextCutMs, target.seed, target.standing);
  const ms = does === 'block-event-loop' ? target.forMs : clockStepMs;
  return faultOn(does, serverOf(to, target), ms);
}

function serverOf(to: SoakFault['to'], { lab, instance, worker }: FaultTarget): string {
  if (to === 'instance') return instance;
  if (to === 'worker') return worker;
  return to === 'database' ? lab.database : to;
}

/** A target with everything that the seed decides about it. */
export interface PlannedFault {
  readonly target: Target;
  /** Picks the instance: a share of all of them, from 0 to below 1. */
  readonly instance: number;
  /** How long the fault lasts: a share of its time, from 0 to below 1. */
  readonly duration: number;
  /** How long nothing happens afterwards. */
  readonly restMs: number;
  /** Of the sequence in which a fault hits several processes. */
  readonly seed: number;
}

const restMsMax = 300;

export class Steering {
  readonly #targets: readonly Target[];
  readonly #random: (below: number) => number;
  readonly #played = new Map<Target, number>();
  /** The cells. */
  readonly seen = new Set<string>();

  constructor(targets: readonly Target[], seed: number) {
    const generator = xoroshiro128plus(seed);
    this.#targets = targets;
    this.#random = (below) => uniformInt(generator, 0, below - 1);
  }

  /** Of the targets with an unseen cell, or of all when there is none, one of the least played. */
  next(): PlannedFault {
    const open = this.#targets.filter((target) => !this.#isSeen(target));
    const candidates = open.length > 0 ? open : this.#targets;
    const least = Math.min(...candidates.map((target) => this.#timesOf(target)));
    const rarest = candidates.filter((target) => this.#timesOf(target) === least);
    const target = rarest[this.#random(rarest.length)];
    if (!target) throw new RangeError('a soak has at least one target');
    this.#played.set(target, least + 1);
    const share = () => this.#random(1_000) / 1_000;
    const [instance, duration, rest] = [share(), share(), share()];
    const restMs = Math.round(rest * restMsMax);
    return { target, instance, duration, restMs, seed: this.#random(2 ** 31) };
  }

  saw(cells: readonly string[]): void {
    for (const cell of cells) this.seen.add(cell);
  }

  #timesOf = (target: Target): number => this.#played.get(target) ?? 0;
  #isSeen = (target: Target): boolean => cellsOf(target).every((cell) => this.seen.has(cell));
}

/** Before the script of a purchase is sent; after it has run, and before the client is answered. */
export const purchaseCheckpoints = ['after-acquire', 'before-release'] as const;
/** With orders in hand; before their commit; after it, and before they are acknowledged. */
export const workerCheckpoints = ['delivered', 'recording', 'recorded'] as const;

/**
 * `stock-left` and `sold-out` are about the voucher of the requests that stand at a checkpoint.
 * `queue-behind`: orders wait, because an order worker stands still.
 */
export const saleStates = ['stock-left', 'sold-out', 'queue-behind'] as const;
export type SaleState = (typeof saleStates)[number];

/** One fault, played once: it reaches at most these cells. */
export interface Target {
  readonly fault: SoakFaultName;
  readonly state: SaleState;
  readonly checkpoints: readonly CheckpointName[];
}

/** `recorded × kill worker × sold-out` */
export const cellName = (
  checkpoint: CheckpointName,
  { fault, state }: Pick<Target, 'fault' | 'state'>,
): string => `${checkpoint} × ${fault} × ${state}`;

export const cellsOf = (target: Target): string[] =>
  target.checkpoints.map((checkpoint) => cellName(checkpoint, target));

/**
 * A worker stands at one checkpoint at a time, and several purchases at theirs. nginx and the
 * instances never meet the queue, so how long it is makes no difference to a fault of them.
 */
export const targets: readonly Target[] = soakFaultNames.flatMap((fault) =>
  saleStates
    .filter((state) => soakFaults[fault].at !== 'purchase' || state !== 'queue-behind')
    .flatMap((state) =>
      checkpointsFor(fault).map((checkpoints): Target => ({ fault, state, checkpoints })),
    ),
);

function checkpointsFor(fault: SoakFaultName): CheckpointName[][] {
  const { at } = soakFaults[fault];
  if (at === 'purchase') return [[...purchaseCheckpoints]];
  const ofPurchases = at === 'both' ? purchaseCheckpoints : [];
  return workerCheckpoints.map((checkpoint) => [...ofPurchases, checkpoint]);
}

export const declaredCells: readonly string[] = [...new Set(targets.flatMap(cellsOf))];
