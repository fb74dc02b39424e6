/** Breaks and mends the servers of a stage as it is asked, until it is asked to end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockstepError } from '../../service/errors.ts';
import { already, isServiceProcess, runAgain, soAlready } from '../faults/by-hand.ts';
import type { Undo } from '../faults/fault.ts';
import { doneText, type FaultVerb, faultOn, faults, isVerb } from '../faults/faults.ts';
import type { Stage } from '../stage/stage.ts';
import {
  type AskedFault,
  answerFault,
  type FaultAnswer,
  type HandVerb,
  keepAccepting,
  stopAccepting,
  takeAsked,
} from './asked-faults.ts';

const lookEveryMs = 50;

const others: readonly string[] = ['start', 'resume', 'heal', 'end'];
export const isHandVerb = (verb: string): verb is HandVerb => others.includes(verb) || isVerb(verb);

interface Done {
  readonly server: string;
  /** Of the fault. */
  readonly name: string;
  readonly undo: Undo;
}

export class FaultRequests {
  readonly #stage: Stage;
  /** Not mended yet, in order. */
  readonly #done: Done[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Resolves when it is asked to end, or has ended. */
  async serveUntil(hasEnded: () => boolean): Promise<void> {
    const { signal, connections } = this.#stage;
    const redis = connections.labRedis();
    const leave = await keepAccepting(redis);
    try {
      while (!hasEnded()) {
        signal.throwIfAborted();
        for (const { id, ...asked } of await takeAsked(redis)) {
          if (asked.verb === 'end') {
            await answerFault(redis, id, { done: 'The load ends.' });
            return;
          }
          await answerFault(redis, id, await this.#tried(asked));
        }
        await sleep(lookEveryMs);
      }
    } finally {
      leave();
      await stopAccepting(redis);
    }
  }

  /** The last fault first. */
  async healAll(): Promise<void> {
    for (const { undo } of this.#done.splice(0).reverse()) await undo();
    await this.#stage.lab.heal();
  }

  async #tried(asked: AskedFault): Promise<FaultAnswer> {
    try {
      return { done: await this.#act(asked) };
    } catch (error) {
      this.#stage.signal.throwIfAborted();
      if (!(error instanceof LockstepError)) throw error;
      return { code: error.code, message: error.message };
    }
  }

  async #act({ verb, server, ms }: AskedFault): Promise<string> {
    if (verb === 'heal') {
      await this.healAll();
      return 'Every server runs and answers.';
    }
    if (verb === 'start' || verb === 'resume') return this.#mend(server, verb);
    if (verb === 'end') return 'The load ends.';
    return this.#break(verb, server, ms);
  }

  /** What would change nothing is no fault, and in no record. @returns what is so now */
  async #break(verb: FaultVerb, server: string, ms: number): Promise<string> {
    const { lab } = this.#stage;
    const so = soAlready(lab, verb, server);
    if (so !== null) return so;
    const fault = faultOn(verb, server, ms);
    const { name } = fault;
    const { effect } = faults[verb];
    if (effect === 'lasting' && this.#done.some((each) => each.name === name))
      return already(doneText(verb, server));
    const undo = await this.#stage.inject(fault);
    const isSoonOver = isServiceProcess(server) && (verb === 'stop' || verb === 'kill');
    const done = { server, name, undo };
    if (effect === 'momentary') await undo();
    else this.#done.push(done);
    if (isSoonOver) void this.#untilReplaced(done);
    return `${doneText(verb, server)}${isSoonOver ? ', and the service starts another' : ''}.`;
  }

  /** The service starts another one by itself: then the fault is over. */
  async #untilReplaced(done: Done): Promise<void> {
    const isMended = await done.undo().then(
      () => true,
      () => false, // The next mending tries it again.
    );
    if (isMended)
      this.#done.splice(0, this.#done.length, ...this.#done.filter((each) => each !== done));
  }

  /** What somebody else has stopped is started, too. */
  async #mend(server: string, verb: 'start' | 'resume'): Promise<string> {
    const own = this.#done.filter((each) => each.server === server);
    for (const each of own.toReversed()) {
      this.#done.splice(this.#done.indexOf(each), 1);
      await each.undo();
    }
    return own.length > 0 ? `${server} runs.` : runAgain(this.#stage.lab, verb, server);
  }
}
