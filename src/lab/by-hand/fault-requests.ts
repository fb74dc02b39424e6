/** Breaks and mends the servers of a stage, as it is asked or at its times, until it is to end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockstepError } from '../../service/errors.ts';
import type { Undo } from '../faults/fault.ts';
import {
  allRun,
  already,
  doneText,
  type FaultVerb,
  faultOn,
  faults,
  isServiceProcess,
  isUndoing,
  runAgain,
  runsNow,
  soAlready,
} from '../faults/faults.ts';
import { type Bilingual, ofName } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import {
  type AskedFault,
  answerFault,
  type FaultAnswer,
  keepAccepting,
  stopAccepting,
  takeAsked,
} from './asked-faults.ts';
import { type FaultStep, scriptText, usualMs } from './fault-script.ts';

const lookEveryMs = 50;

interface UnmendedFault {
  readonly server: string;
  /** Of the fault. */
  readonly name: string;
  readonly undo: Undo;
}

export class FaultRequests {
  /** Every step that changed something. */
  readonly played: FaultStep[] = [];
  readonly #stage: Stage;
  /** Not mended yet, in order. */
  readonly #done: UnmendedFault[] = [];
  readonly #beganMs = performance.now();

  /** The load begins now. */
  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** The names of the faults that nobody has mended yet. */
  get unmended(): string[] {
    return this.#done.map(({ name }) => name);
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
          await answerFault(redis, id, await this.#tried(asked));
          if (asked.verb === 'end') return;
        }
        await sleep(lookEveryMs);
      }
    } finally {
      leave();
      await stopAccepting(redis);
    }
  }

  /** Each step at its time, or when the one before it is done. Resolves as `serveUntil` does. */
  async playUntil(hasEnded: () => boolean, steps: readonly FaultStep[]): Promise<void> {
    const left = [...steps];
    while (!hasEnded()) {
      this.#stage.signal.throwIfAborted();
      const [next] = left;
      if (next && next.seconds * 1_000 <= performance.now() - this.#beganMs) {
        left.shift();
        const so = this.#soAlready(next);
        if (so === null) await this.#change(next);
        else this.#stage.note(ofName(scriptText([next]), so));
        if (next.verb === 'end') return;
      } else await sleep(lookEveryMs);
    }
  }

  /** Of a load that is interrupted now: what repeats it must end now, too. */
  playedAndEnded(): readonly FaultStep[] {
    if (this.played.at(-1)?.verb === 'end') return this.played;
    return [...this.played, { seconds: this.#seconds(), verb: 'end', server: '', ms: usualMs }];
  }

  /** The last fault first. */
  async healAll(): Promise<void> {
    for (const { undo } of this.#done.splice(0).reverse()) await undo();
    await this.#stage.lab.heal();
  }

  async #tried(asked: AskedFault): Promise<FaultAnswer> {
    try {
      return { done: this.#soAlready(asked) ?? (await this.#change(asked)) };
    } catch (error) {
      this.#stage.signal.throwIfAborted();
      if (!(error instanceof LockstepError)) throw error;
      return { code: error.code, message: error.message };
    }
  }

  /** What would change nothing is no fault, and in no record. */
  #soAlready({ verb, server, ms }: AskedFault): Bilingual | null {
    if (verb === 'heal' || verb === 'end') return null;
    const own = this.#done.filter((each) => each.server === server);
    if (isUndoing(verb) && own.length > 0) return null;
    const so = soAlready(this.#stage.lab, verb, server);
    if (so !== null || isUndoing(verb) || faults[verb].effect !== 'lasting') return so;
    const { name } = faultOn(verb, server, ms);
    return own.some((each) => each.name === name) ? already(doneText(verb, server)) : null;
  }

  /** @returns what is so now */
  async #change({ verb, server, ms }: AskedFault): Promise<Bilingual> {
    const seconds = this.#seconds();
    const done = await this.#act({ verb, server, ms });
    this.played.push({ seconds, verb, server, ms });
    return done;
  }

  #seconds(): number {
    return Math.round((performance.now() - this.#beganMs) / 100) / 10;
  }

  async #act({ verb, server, ms }: AskedFault): Promise<Bilingual> {
    if (verb === 'heal') {
      await this.healAll();
      return allRun;
    }
    if (isUndoing(verb)) return this.#mend(server, verb);
    if (verb === 'end') return { en: 'The load ends.', zh: '压测结束。' };
    return this.#break(verb, server, ms);
  }

  async #break(verb: FaultVerb, server: string, ms: number): Promise<Bilingual> {
    const fault = faultOn(verb, server, ms);
    const undo = await this.#stage.inject(fault);
    const isSoonOver = isServiceProcess(server) && (verb === 'stop' || verb === 'kill');
    const done = { server, name: fault.name, undo };
    if (faults[verb].effect === 'momentary') await undo();
    else this.#done.push(done);
    if (isSoonOver) void this.#untilReplaced(done);
    const { en, zh } = doneText(verb, server);
    return isSoonOver
      ? { en: `${en}, and the service starts another.`, zh: `${zh}，服务会再启动一个。` }
      : { en: `${en}.`, zh: `${zh}。` };
  }

  /** The service starts another one by itself: then the fault is over. */
  async #untilReplaced(done: UnmendedFault): Promise<void> {
    const isMended = await done.undo().then(
      () => true,
      () => false, // The next mending tries it again.
    );
    if (isMended)
      this.#done.splice(0, this.#done.length, ...this.#done.filter((each) => each !== done));
  }

  /** What somebody else has stopped is started, too. */
  async #mend(server: string, verb: 'start' | 'resume'): Promise<Bilingual> {
    const own = this.#done.filter((each) => each.server === server);
    for (const each of own.toReversed()) {
      this.#done.splice(this.#done.indexOf(each), 1);
      await each.undo();
    }
    return own.length > 0 ? runsNow(server) : runAgain(this.#stage.lab, verb, server);
  }
}
