/** What accepted orders survive: a power loss by what was synced, a promotion by a replica. */
import { expect, test } from 'vitest';
import type { Drill } from '../../../src/lab/drills/drill.ts';
import { durability, endureAll } from '../../../src/lab/drills/durability.ts';
import { resultText } from '../../../src/lab/report/result-text.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(null);

test('a power loss costs `always` no order, and a promotion costs `replica` none', async () => {
  const cells = [
    { durability: 'always', loss: 'power-loss' },
    { durability: 'replica', loss: 'promotion' },
  ] as const;
  const some: Drill = { ...durability, play: (stage, own) => endureAll(stage, cells, own) };
  const result = await playIn(lab(), some, { seed: 4, minutes: 0.5 });
  const rows = result.tables?.[0]?.rows ?? [];
  const lost = rows.map(([, , , count]) => count);
  expect(lost, resultText(result)).toEqual(['0', '0']);
  // Without WAIT, these are accepted, and lost.
  expect(Number(rows[1]?.[4])).toBeGreaterThanOrEqual(10);
  expectHeld(result);
}, 360_000);
