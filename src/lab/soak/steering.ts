/**
 * Which fault comes next: one with a cell that was not seen yet. The seed and what was seen decide,
 * and nothing else. Pure.
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { cellsOf, type Target } from './cells.ts';

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
  readonly #seen = new Set<string>();

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
    for (const cell of cells) this.#seen.add(cell);
  }

  #timesOf = (target: Target): number => this.#played.get(target) ?? 0;
  #isSeen = (target: Target): boolean => cellsOf(target).every((cell) => this.#seen.has(cell));
}
