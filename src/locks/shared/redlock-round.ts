/**
 * What the package redlock does not say: which masters answered. A master that does not answer is
 * another failure than one whose lock is taken.
 */
import type { Redis } from 'ioredis';
import type { RedlockCallback, RedlockClient } from 'redlock';
import { LockServiceUnavailable } from '../../errors.ts';

/** One question to all masters, and the errors of those that did not answer it. */
export class RedlockRound {
  /** Rejects when all are heard of and too few have answered. */
  readonly tooFew: Promise<never>;
  readonly #masters: readonly Redis[];
  readonly #resource: string;
  /** By the master's place in the list. */
  readonly #errors = new Map<number, Error>();
  #fail: (error: unknown) => void = () => {};
  #heard = 0;

  constructor(masters: readonly Redis[], resource: string) {
    this.#masters = masters;
    this.#resource = resource;
    this.tooFew = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.tooFew.catch(() => {}); // After the attempt it concerns nobody.
  }

  restart(): void {
    this.#errors.clear();
  }

  /** @throws LockServiceUnavailable */
  assertMajority(): void {
    const majority = Math.floor(this.#masters.length / 2) + 1;
    const answered = this.#masters.length - this.#errors.size;
    const [cause] = this.#errors.values();
    if (answered < majority)
      throw new LockServiceUnavailable(this.#resource, answered, majority, cause);
  }

  clients(): RedlockClient[] {
    return this.#masters.map((master, place) => {
      const hear = (done: RedlockCallback): RedlockCallback => {
        return (error, result) => {
          if (!error?.message.startsWith('NOSCRIPT')) this.#hear(place, error);
          done(error, result);
        };
      };
      return {
        evalsha: (digest, args, done) => master.call('EVALSHA', [digest, ...args], hear(done)),
        eval: (args, done) => master.call('EVAL', args, hear(done)),
      };
    });
  }

  #hear(place: number, error?: Error | null): void {
    if (error) this.#errors.set(place, error);
    this.#heard += 1;
    if (this.#heard !== this.#masters.length) return;
    try {
      this.assertMajority();
    } catch (tooFew) {
      this.#fail(tooFew);
    }
  }
}
