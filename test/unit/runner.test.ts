/** The runner: what becomes of a play that is interrupted, or that nothing can be told of. */

import { describe, expect, test } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { interruptible } from '../../src/lab/environment/session.ts';
import { labError } from '../../src/lab/errors.ts';
import type { Fault } from '../../src/lab/faults/fault.ts';
import type { Judged } from '../../src/lab/stage/result.ts';
import { play } from '../../src/lab/stage/runner.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import { serviceError } from '../../src/service/errors.ts';

const held: Judged = { verdict: 'held', reasons: [], figures: { sold: 7 }, facts: [] };
const never = () => new Promise<never>(() => {});

interface Given {
  readonly endsWithLab?: boolean;
  readonly interruption?: AbortController;
  readonly heal?: () => Promise<void>;
}

type Work = (stage: Stage, fault: (name: string) => Fault) => Promise<Judged>;

/** `done`: what was done to the lab, in order. */
function played(work: Work, given: Given = {}) {
  const { endsWithLab = false, interruption = new AbortController() } = given;
  const done: string[] = [];
  const { heal = async () => void done.push('heal') } = given;
  const fault = (name: string) => ({
    ...{ name, inject: async () => async () => void done.push(`mend ${name}`) },
  });
  const events: string[] = [];
  const { signal } = interruption;
  const untilInterrupted = <T>(part: Promise<T>) =>
    endsWithLab ? interruptible(part, signal) : part;
  const session = { lab: { heal } as unknown as Lab, signal, untilInterrupted };
  const about = { en: '', zh: '' };
  const experiment = { about, play: (stage: Stage) => work(stage, fault) };
  const result = play('test', experiment, {}, session, [({ kind }) => events.push(kind)]);
  return { result, done, events };
}

const stuck = { name: 'stuck', inject: async () => () => Promise.reject(new Error('no')) };

describe('a play', () => {
  test('has the faults that were injected, and its verdict is the last event', async () => {
    const { result, done, events } = played(async (stage, fault) => {
      for (const name of ['one', 'two', 'two']) await stage.inject(fault(name));
      return held;
    });
    const faults = { one: 1, two: 2 };
    expect(await result).toMatchObject({ ...held, faults, isInterrupted: false });
    expect(done).toEqual(['mend two', 'mend two', 'mend one']); // The last one first.
    expect(events.at(0)).toBe('started');
    expect(events.at(-1)).toBe('verdict');
  });

  test('is unknown when a deadline passes, and its faults are mended', async () => {
    const { result, done } = played(async (stage, fault) => {
      await stage.inject(fault('one'));
      throw serviceError('DEADLINE_PASSED', 'a sale', 5);
    });
    const reasons = [{ en: expect.stringContaining('a sale') }];
    expect(await result).toMatchObject({ verdict: 'unknown', reasons, faults: { one: 1 } });
    expect(done).toEqual(['mend one']);
  });

  test('heals the lab when a fault failed half-way, or cannot be mended', async () => {
    const broken = {
      name: 'broken',
      inject: () => Promise.reject(serviceError('DEADLINE_PASSED', 'it', 5)),
    };
    for (const each of [broken, stuck]) {
      const { result, done } = played(async (stage) => {
        await stage.inject(each);
        return held;
      });
      await result;
      expect(done).toEqual(['heal']);
    }
  });

  test('heals the lab when what it mended itself was not whole in time', async () => {
    const late = () => Promise.reject(serviceError('DEADLINE_PASSED', 'the server', 5));
    const { result, done } = played(async (stage) => {
      const undo = await stage.inject({ name: 'late', inject: async () => late });
      await undo();
      return held;
    });
    expect(await result).toMatchObject({ verdict: 'unknown' });
    expect(done).toEqual(['heal']);
  });

  test('keeps what it judged when the lab is not whole again in time', async () => {
    const heal = () => Promise.reject(serviceError('DEADLINE_PASSED', 'the lab', 5));
    const breaks: Work = async (stage) => {
      await stage.inject(stuck);
      return { ...held, verdict: 'violated' };
    };
    const { result } = played(breaks, { heal });
    expect(await result).toMatchObject({ verdict: 'violated', figures: { sold: 7 } });
  });

  test('throws an error that is a bug', async () => {
    const { result, done } = played(async (stage, fault) => {
      await stage.inject(fault('one'));
      throw new TypeError('a bug');
    });
    await expect(result).rejects.toThrow('a bug');
    expect(done).toEqual(['mend one']);
  });
});

describe('an interrupted play', () => {
  test('is unknown, with what was seen, once its faults are mended', async () => {
    const interruption = new AbortController();
    const rests: Work = async (stage, fault) => {
      await stage.inject(fault('one'));
      interruption.abort(labError('INTERRUPTED'));
      await stage.rest(60_000);
      return held;
    };
    const { result, done } = played(rests, { interruption });
    expect(await result).toMatchObject({
      ...{
        verdict: 'unknown',
        isInterrupted: true,
        reasons: [{ en: 'Interrupted.', zh: '被中断。' }],
      },
      ...{ figures: { accepted: 0 }, faults: { one: 1 } },
    });
    expect(done).toEqual(['mend one']);
  });

  test('is not waited for when the lab ends with the command', async () => {
    const interruption = new AbortController();
    const { result } = played(never, { interruption, endsWithLab: true });
    interruption.abort(labError('INTERRUPTED'));
    expect(await result).toMatchObject({ verdict: 'unknown', isInterrupted: true });
  });
});
