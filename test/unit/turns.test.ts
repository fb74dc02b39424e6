/** Work of one name is done one after the other; other names do not wait for it. */
import { expect, test } from 'vitest';
import { Turns } from '../../src/service/locks/shared/turns.ts';

/** Notes when each piece of work begins and ends. */
function noted() {
  const turns = new Turns();
  const notes: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      notes.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      notes.push(`${name} ends`);
      if (fails) throw new Error(name);
    };
  return { turns, notes, work };
}

test('work of one name begins when the one before it has ended, also by an error', async () => {
  const { turns, notes, work } = noted();
  const failing = turns.inTurn('seat', work('first', true));
  const next = turns.inTurn('seat', work('second'));
  await expect(failing).rejects.toThrow('first');
  await next;
  expect(notes).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  expect(turns.isTaken('seat')).toBe(false);
});

test('work of another name does not wait', async () => {
  const { turns, notes, work } = noted();
  await Promise.all([turns.inTurn('seat', work('first')), turns.inTurn('other', work('second'))]);
  expect(notes.slice(0, 2)).toEqual(['first begins', 'second begins']);
});

test('a turn that does not come in time is given up, and the next one comes', async () => {
  const { turns, work } = noted();
  let finish = () => {};
  const long = turns.inTurn('seat', () => new Promise<void>((resolve) => (finish = resolve)));
  expect(await turns.inTurnWithin({ waitMs: 1 }, 'seat', work('late'))).toBeNull();
  const next = turns.inTurn('seat', async () => 'done');
  finish();
  await long;
  expect(await next).toBe('done');
});
