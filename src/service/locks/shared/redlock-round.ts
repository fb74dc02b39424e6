/**
 * What the package redlock does not do: it waits for every master, however long, and does not say
 * which of them answered. Its clients here ask the masters for it. They stop waiting as soon as a
 * majority has decided, and after a limit in any case.
 */

import type { Redis } from 'ioredis';
import Redlock, { type RedlockCallback, type RedlockClient } from 'redlock';
import { LockMajorityMissing, serviceError } from '../../errors.ts';
import { untilReleased } from './server-lock.ts';

type Arguments = readonly (string | number)[];

/** What the package answered; null: it does not have the lock. */
export interface RoundAnswer<T> {
  readonly answer: T | null;
  /** A majority said yes; without an answer, it was too late. */
  readonly isGranted: boolean;
}

/** The questions that one attempt and its lease ask all masters. */
export class RedlockRound {
  readonly #masters: readonly Redis[];
  readonly #resource: string;
  readonly #limitMs: number;
  /** Those that may have granted the lock, and have not been seen to unlock it. */
  readonly #mayHaveIt = new Set<Redis>();
  #unlockScript = '';
  #question: Question | undefined;

  /** @param limitMs how long a question waits for a master, in milliseconds */
  constructor(masters: readonly Redis[], resource: string, limitMs: number) {
    this.#masters = masters;
    this.#resource = resource;
    this.#limitMs = limitMs;
  }

  clients(): RedlockClient[] {
    return this.#masters.map((master) => ({
      // The package then sends EVAL. After an EVALSHA it may have to send the script again, and a
      // slow master would get that after the release.
      evalsha: (_digest, _args, done) => done(new Error('NOSCRIPT')),
      eval: (args, done) => {
        // When it asks a master again by itself, it unlocks what it did not get: a new question.
        if (this.#question?.has(master)) this.#begin();
        if (args[0] === this.#unlockScript) this.#unlock(master, args, done);
        else this.#acquire(master, args, done);
      },
    }));
  }

  /** Called by the package. */
  unlocksBy(script: string): string {
    this.#unlockScript = script;
    return script;
  }

  #acquire(master: Redis, args: Arguments, done: RedlockCallback): void {
    if (master.status === 'ready') this.#mayHaveIt.add(master);
    this.#question?.ask(master, args, done, () => {});
  }

  /** Without an answer, it is sent again in the background, on the next connections. */
  #unlock(master: Redis, args: Arguments, done: RedlockCallback): void {
    this.#question?.ask(master, args, done, (error) => {
      if (!this.#mayHaveIt.delete(master) || !error) return;
      const again = () => master.call('EVAL', [...args]);
      untilReleased(master, 2 * this.#limitMs, again).catch(() => {});
    });
  }

  /** @throws LockMajorityMissing */
  async ask<T>(work: () => Promise<T>): Promise<RoundAnswer<T>> {
    const question = this.#begin();
    const answering = work().catch((error: unknown) => {
      if (error instanceof Redlock.LockError) return null;
      throw error;
    });
    // The package unlocks before it reports a refusal: nobody waits for that.
    const refusal = question.decided.then(() => {
      if (question.isGranted) return answering;
      question.assertMajority(this.#resource);
      return null;
    });
    const answer = await Promise.race([answering, refusal]);
    return { answer, isGranted: question.isGranted };
  }

  #begin(): Question {
    this.#question = new Question(this.#masters, this.#limitMs);
    return this.#question;
  }
}

/** One question to all masters. A majority that agrees decides it. */
class Question {
  readonly #decision = Promise.withResolvers<void>();
  /** Resolves when a majority agrees, or when all masters have answered or are given up. */
  readonly decided = this.#decision.promise;
  readonly #masters: readonly Redis[];
  readonly #limitMs: number;
  readonly #asked = new Set<Redis>();
  /** By the master that is waited for. */
  readonly #open = new Map<Redis, RedlockCallback>();
  /** By the master that did not answer. */
  readonly #errors = new Map<Redis, Error>();
  #yes = 0;
  #no = 0;
  #isDecided = false;
  #limit: NodeJS.Timeout | undefined;

  constructor(masters: readonly Redis[], limitMs: number) {
    this.#masters = masters;
    this.#limitMs = limitMs;
  }

  get isGranted(): boolean {
    return this.#yes >= this.#majority;
  }

  get #majority(): number {
    return Math.floor(this.#masters.length / 2) + 1;
  }

  has(master: Redis): boolean {
    return this.#asked.has(master);
  }

  /** @param answered is called with what the master says, however late. */
  ask(master: Redis, args: Arguments, done: RedlockCallback, answered: RedlockCallback): void {
    const settle: RedlockCallback = (error, result) => {
      // A late answer: what it granted is unlocked on the same connection, or expires.
      if (!this.#open.delete(master)) return;
      if (!this.#isDecided) this.#count(master, error, result);
      done(error, result);
      if (this.#isDecided) this.#giveUp(() => new Error('a majority has decided'));
    };
    this.#asked.add(master);
    this.#open.set(master, settle);
    // After a stall of the event loop, answers that have arrived are read between these two timers.
    this.#limit ??= setTimeout(() => setImmediate(() => this.#giveUp(this.#silent)), this.#limitMs);
    master.call('EVAL', [...args], (error, result) => {
      answered(error, result);
      settle(error, result);
    });
  }

  /** @throws LockMajorityMissing */
  assertMajority(resource: string): void {
    const answered = this.#yes + this.#no;
    if (answered >= this.#majority) return;
    const missing = this.#masters.filter((master) => this.#errors.has(master)).map(addressOf);
    const [cause] = this.#errors.values();
    throw new LockMajorityMissing(resource, missing, answered, this.#majority, cause);
  }

  #count(master: Redis, error: Error | null | undefined, result: unknown): void {
    if (error) this.#errors.set(master, error);
    else if (Number(result) === 1) this.#yes += 1;
    else this.#no += 1;
    this.#isDecided = this.#open.size === 0 || Math.max(this.#yes, this.#no) >= this.#majority;
    if (!this.#isDecided) return;
    clearTimeout(this.#limit);
    this.#decision.resolve();
  }

  #giveUp(errorOf: (master: Redis) => Error): void {
    for (const [master, settle] of this.#open) settle(errorOf(master));
  }

  readonly #silent = (master: Redis): Error =>
    serviceError('DEADLINE_PASSED', `an answer of ${addressOf(master)}`, this.#limitMs);
}

const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
