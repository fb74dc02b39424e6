/**
 * What clients saw in each second of a drill, and when loads and faults began and ended. It is kept
 * while the drill runs, so that it can be printed live; the report draws it.
 */

import { percentiles } from '../workload/percentiles.ts';
import { type AnsweredAt, loadCosts } from './costs.ts';
import { countBy } from './counts.ts';
import type { BuyerAnswer, StageEvent } from './events.ts';
import {
  type LoadSecond,
  type Mark,
  type Second,
  secondOf,
  spansOf,
  type TimelineRecord,
} from './seconds.ts';

/** A reader of events. */
export class Timeline {
  readonly marks: Mark[] = [];
  readonly answers: AnsweredAt[] = [];
  readonly #answered = new Map<number, AnsweredAt[]>();
  readonly #now: () => bigint;
  #startedAt: bigint | undefined;

  /** @param now nanoseconds, by the clock of the attempts. */
  constructor(now: () => bigint = process.hrtime.bigint) {
    this.#now = now;
  }

  readonly read = (event: StageEvent): void => {
    const at = BigInt(event.at);
    if (event.kind === 'purchase')
      this.#count({ atMs: this.#msOf(at), attempt: event.attempt, load: event.load });
    if (event.kind === 'load-started' || event.kind === 'load-ended')
      this.#mark(at, { of: 'load', isStart: event.kind === 'load-started', name: event.name });
    if (event.kind === 'fault' || event.kind === 'healed')
      this.#mark(at, { of: 'fault', isStart: event.kind === 'fault', name: event.name });
  };

  #count(answer: AnsweredAt): void {
    this.answers.push(answer);
    const second = secondOf(answer.atMs);
    const before = this.#answered.get(second);
    if (before) before.push(answer);
    else this.#answered.set(second, [answer]);
  }

  /** The first load, fault or answer. */
  get beganAt(): bigint {
    return this.#startedAt ?? 0n;
  }

  /** Since the first load, fault or answer; 0 before it. */
  elapsedMs(): number {
    return this.#startedAt === undefined ? 0 : this.#msOf(this.#now());
  }

  second(second: number): Second {
    const ofLoads = this.#answered.get(second) ?? [];
    const answered = ofLoads.map(({ attempt }) => attempt);
    const refused = answered.filter(({ outcome }) => outcome === 'refused');
    const loads = this.#loadsIn(second);
    return {
      second,
      isLoaded: answered.length > 0 || loads.length > 0,
      ...soldIn(answered),
      refusedBecause: countBy(refused.map(({ reason = 'no reason' }) => reason)),
      unknown: answered.filter(({ outcome }) => outcome === 'unknown').length,
      byInstance: countBy(answered.filter(isAccepted).flatMap(({ instance = [] }) => instance)),
      ...(loads.length > 1 && { byLoad: byLoad(ofLoads, loads) }),
    };
  }

  recorded(): TimelineRecord {
    const marked = this.marks.map(({ atMs }) => secondOf(atMs));
    const last = Math.max(-1, ...this.#answered.keys(), ...marked);
    const seconds = Array.from({ length: last + 1 }, (_, second) => this.second(second));
    return { seconds, marks: this.marks, loads: loadCosts(this.answers, this.marks) };
  }

  #mark(at: bigint, mark: Omit<Mark, 'atMs'>): void {
    this.marks.push({ atMs: Math.round(this.#msOf(at)), ...mark });
  }

  /** The first time that it is asked about is the beginning. */
  #msOf(at: bigint): number {
    this.#startedAt ??= at;
    return Math.max(0, Number(at - this.#startedAt) / 1_000_000);
  }

  /** Their names. */
  #loadsIn(second: number): string[] {
    const loads = spansOf(this.marks, 'load', Number.POSITIVE_INFINITY).filter(
      ({ fromMs, toMs }) => fromMs < (second + 1) * 1_000 && toMs > second * 1_000,
    );
    return [...new Set(loads.map(({ name }) => name))];
  }
}

const isAccepted = ({ outcome }: BuyerAnswer): boolean => outcome === 'accepted';

function soldIn(answered: readonly BuyerAnswer[]): LoadSecond {
  const latencies = answered.flatMap(({ latencyMs = [] }) => latencyMs);
  return {
    accepted: answered.filter(isAccepted).length,
    p99Ms: latencies.length > 0 ? percentiles(latencies).p99 : null,
  };
}

function byLoad(
  ofLoads: readonly AnsweredAt[],
  loads: readonly string[],
): Record<string, LoadSecond> {
  const own = (name: string) =>
    ofLoads.filter(({ load }) => load === name).map(({ attempt }) => attempt);
  return Object.fromEntries(loads.map((name) => [name, soldIn(own(name))]));
}
