/** A room that is open: the learners who have joined it with its code. */
import { randomInt, randomUUID } from 'node:crypto';
import { labError } from '../../lab/errors.ts';
import { type Outcome, type OutcomeSeen, outcomeIn } from '../../lab/play/outcomes.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import type { Plays } from './plays.ts';

/** Of all learners, on one rung. */
export interface RungTally {
  readonly rung: string;
  /** The first prediction of each. */
  readonly predicted: Partial<Record<Outcome, number>>;
  /** Plays that nobody could go on with. */
  readonly seen: Partial<Record<OutcomeSeen, number>>;
  /** How many of them broke a promise. */
  broken: number;
}

/** What a page is told of the room. */
export interface RoomNow {
  /** The rung that the instructor shows; empty before he does. */
  readonly at: string;
  /** Those who have joined, and those who look at the page now. */
  readonly joined: number;
  readonly here: number;
  readonly most: number;
  /** What the instructor alone is told. */
  readonly host?: string;
  readonly code?: string;
  readonly tallies?: readonly Readonly<RungTally>[];
}

export const learnersMax = 30;
/** A learner who has gone so long gives his place to another one. */
const awayMs = 2 * 60_000;
/** No letter looks like another, or like a number. */
const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 6;
const wrongMax = 10;
const wrongWithinMs = 10_000;

const newCode = (): string =>
  Array.from({ length: codeLength }, () => letters[randomInt(letters.length)]).join('');

export class Room {
  readonly id = randomUUID();
  readonly code = newCode();
  /** `192.168.1.20:17399` */
  readonly host: string;
  readonly tally = new Tally();
  at = '';
  #isOpen = true;
  #here = 0;
  readonly #plays: Plays;
  /** When each of them was seen last. */
  readonly #learners = new Map<string, number>();
  #wrongAt: number[] = [];

  constructor(host: string, plays: Plays) {
    this.host = host;
    this.#plays = plays;
  }

  has(viewer: string): boolean {
    return this.#learners.has(viewer);
  }

  /** @throws WRONG_CODE, TOO_MANY_CODES */
  check(code: string): void {
    const now = performance.now();
    this.#wrongAt = this.#wrongAt.filter((at) => now - at < wrongWithinMs);
    if (this.#wrongAt.length >= wrongMax) throw labError('TOO_MANY_CODES', wrongWithinMs / 1_000);
    if (code.trim().toUpperCase() === this.code) return;
    this.#wrongAt.push(now);
    throw labError('WRONG_CODE');
  }

  /** @throws ROOM_FULL */
  join(viewer: string): void {
    this.look();
    if (this.#learners.size >= learnersMax) this.#freePlace();
    if (this.#learners.size >= learnersMax) throw labError('ROOM_FULL', learnersMax);
    this.#learners.set(viewer, performance.now());
  }

  #freePlace(): void {
    const [gone, seenAt = 0] =
      [...this.#learners].sort(([, one], [, other]) => one - other)[0] ?? [];
    if (gone === undefined || performance.now() - seenAt < awayMs) return;
    this.#learners.delete(gone);
    void this.#plays.forget(gone).catch(console.error);
  }

  /** Who has the page open now. */
  look(): void {
    const here = [...this.#learners.keys()].filter((name) => this.#plays.feedOf(name).isRead);
    for (const name of here) this.#learners.set(name, performance.now());
    this.#here = here.length;
  }

  /** What a learner may know; null once it is closed. */
  now(): RoomNow | null {
    if (!this.#isOpen) return null;
    return { at: this.at, joined: this.#learners.size, here: this.#here, most: learnersMax };
  }

  /** What the instructor may know. */
  whole(): RoomNow | null {
    const { host, code } = this;
    const now = this.now();
    return now && { ...now, host, code, tallies: this.tally.all() };
  }

  /** Everything of the learners ends. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.wake();
    const learners = [...this.#learners.keys()];
    this.#learners.clear();
    await Promise.all(learners.map((name) => this.#plays.forget(name)));
  }

  wake(): void {
    for (const name of this.#learners.keys()) this.#plays.feedOf(name).wake();
  }
}

/** What the learners predicted on each rung, and what they saw: counts only, no names. */
export class Tally {
  readonly #byRung = new Map<string, RungTally>();
  readonly #hasPredicted = new Set<string>();
  /** The plays that are not over, by their player. */
  readonly #shown = new Map<string, { readonly rung: string; outcome: OutcomeSeen }>();

  /** The first prediction counts. */
  predict(viewer: string, rung: string, outcome: Outcome): void {
    const who = `${viewer} ${rung}`;
    if (this.#hasPredicted.has(who)) return;
    this.#hasPredicted.add(who);
    const { predicted } = this.#of(rung);
    predicted[outcome] = (predicted[outcome] ?? 0) + 1;
  }

  read(event: StageEvent): void {
    if (!('player' in event)) return;
    if (event.kind === 'play') this.#shown.set(event.player, { rung: event.rung, outcome: 'none' });
    const shown = this.#shown.get(event.player);
    if (!shown) return;
    if (event.kind === 'readings') shown.outcome = outcomeIn(event.readings);
    if (event.kind === 'ended') this.#shown.delete(event.player);
    if (event.kind !== 'judged' || !(event.isFinal || event.broken.length > 0)) return;
    this.#shown.delete(event.player);
    const tally = this.#of(shown.rung);
    tally.seen[shown.outcome] = (tally.seen[shown.outcome] ?? 0) + 1;
    if (event.broken.length > 0) tally.broken += 1;
  }

  all(): RungTally[] {
    return [...this.#byRung.values()];
  }

  #of(rung: string): RungTally {
    const known = this.#byRung.get(rung) ?? { rung, broken: 0, predicted: {}, seen: {} };
    this.#byRung.set(rung, known);
    return known;
  }
}
