/** The runner: what becomes of a play that is interrupted, or that nothing can be told of. */
import { describe, expect, test } from 'vitest';
import { DeadlinePassed } from '../../src/errors.ts';
import { interruptible } from '../../src/lab/environment/interruptible.ts';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { Interrupted } from '../../src/lab/errors.ts';
import type { Judged } from '../../src/lab/stage/result.ts';
import { play } from '../../src/lab/stage/runner.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';

const held: Judged = { verdict: 'held', reasons: [], figures: { sold: 7 }, facts: [] };
const never = () => new Promise<never>(() => {});

interface Given {
  readonly endsWithLab?: boolean;
  readonly interruption?: AbortController;
  readonly heal?: () => Promise<void>;
}

/** The lab keeps what was done to it, in order. */
function played(work: (stage: Stage, done: string[]) => Promise<Judged>, given: Given = {}) {
  const { endsWithLab = false, interruption = new AbortController(), heal } = given;
  const done: string[] = [];
  const noted = async () => void done.push('heal');
  const lab = { heal: heal ?? noted } as unknown as Lab;
  const events: string[] = [];
  const { signal } = interruption;
  const untilInterrupted = <T>(part: Promise<T>) =>
    endsWithLab ? interruptible(part, signal) : part;
  const session = { lab, signal, untilInterrupted };
  const result = play(
    'test',
    { about: { en: '', zh: '' }, play: (stage: Stage) => work(stage, done) },
    {},
    session,
    [({ kind }) => events.push(kind)],
  );
  return { result, done, events };
}

const fault = (name: string, done: string[]) => ({
  name,
  inject: async () => async () => void done.push(`mend ${name}`),
});

describe('a play', () => {
  test('has the faults that were injected, and its verdict is the last event', async () => {
    const {
      result,
      done: all,
      events,
    } = played(async (stage, done) => {
      await stage.inject(fault('one', done));
      await stage.inject(fault('two', done));
      await stage.inject(fault('two', done));
      return held;
    });
    const faults = { one: 1, two: 2 };
    expect(await result).toMatchObject({ ...held, faults, isInterrupted: false });
    expect(all).toEqual(['mend two', 'mend two', 'mend one']); // The last one first.
    expect(events.at(0)).toBe('started');
    expect(events.at(-1)).toBe('verdict');
  });

  test('is unknown when a deadline passes, and its faults are mended', async () => {
    const { result, done: all } = played(async (stage, done) => {
      await stage.inject(fault('one', done));
      throw new DeadlinePassed('a sale', 5);
    });
    expect(await result).toMatchObject({ verdict: 'unknown', faults: { one: 1 } });
    expect((await result).reasons).toEqual([expect.stringContaining('a sale')]);
    expect(all).toEqual(['mend one']);
  });

  test('heals the lab when a fault failed half-way, or cannot be mended', async () => {
    const broken = { name: 'broken', inject: () => Promise.reject(new DeadlinePassed('it', 5)) };
    const stuck = { name: 'stuck', inject: async () => () => Promise.reject(new Error('no')) };
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
    const late = () => Promise.reject(new DeadlinePassed('the server', 5));
    const { result, done } = played(async (stage) => {
      const undo = await stage.inject({ name: 'late', inject: async () => late });
      await undo();
      return held;
    });
    expect(await result).toMatchObject({ verdict: 'unknown' });
    expect(done).toEqual(['heal']);
  });

  test('keeps what it judged when the lab is not whole again in time', async () => {
    const stuck = { name: 'stuck', inject: async () => () => Promise.reject(new Error('no')) };
    const { result } = played(
      async (stage) => {
        await stage.inject(stuck);
        return { ...held, verdict: 'violated' };
      },
      { heal: () => Promise.reject(new DeadlinePassed('the lab', 5)) },
    );
    expect(await result).toMatchObject({ verdict: 'violated', figures: { sold: 7 } });
  });

  test('throws an error that is a bug', async () => {
    const { result, done: all } = played(async (stage, done) => {
      await stage.inject(fault('one', done));
      throw new TypeError('a bug');
    });
    await expect(result).rejects.toThrow('a bug');
    expect(all).toEqual(['mend one']);
  });
});

describe('an interrupted play', () => {
  test('is unknown, with what was seen, once its faults are mended', async () => {
    const interruption = new AbortController();
    const { result, done: all } = played(
      async (stage, done) => {
        await stage.inject(fault('one', done));
        interruption.abort(new Interrupted());
        await stage.rest(60_000);
        return held;
      },
      { interruption },
    );
    expect(await result).toMatchObject({
      ...{ verdict: 'unknown', isInterrupted: true, reasons: ['Interrupted.'] },
      figures: { accepted: 0 },
      faults: { one: 1 },
    });
    expect(all).toEqual(['mend one']);
  });

  test('is not waited for when the lab ends with the command', async () => {
    const interruption = new AbortController();
    const { result } = played(never, { interruption, endsWithLab: true });
    interruption.abort(new Interrupted());
    expect(await result).toMatchObject({ verdict: 'unknown', isInterrupted: true });
  });
});
