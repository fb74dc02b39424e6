/** A room that is open: the learners who have joined it with its code. */

import { randomInt, randomUUID } from 'node:crypto';
import { labError } from '../../lab/errors.ts';
import type { RoomNow } from '../room-now.ts';
import type { Plays } from './plays.ts';
import { Tally } from './tally.ts';

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
