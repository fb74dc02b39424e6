/** What accepted orders survive: a power loss by what was synced, a promotion by a replica. */
import { expect, test } from 'vitest';
import { endureAll } from '../../src/lab/drills/durability.ts';
import { Timeline } from '../../src/lab/drills/timeline.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

test('a power loss costs `always` no order, and a promotion costs `replica` none', async () => {
  const cells = [
    { durability: 'always', loss: 'power-loss' },
    { durability: 'replica', loss: 'promotion' },
  ] as const;
  const options = { seed: 4, minutes: 0.5, progress: () => {}, recorder: new Timeline() };
  const signal = AbortSignal.timeout(150_000);
  const { facts: _, ...result } = await endureAll(lab(), cells, { ...options, signal });
  const lost = result.survived?.map((each) => each.lost) ?? [];
  expect(lost, drillText(result)).toEqual([0, 0]);
  // Without WAIT, these are accepted, and lost.
  expect(result.survived?.[1]?.unknown).toBeGreaterThanOrEqual(10);
  // How soon sales resume is a figure.
  const isLate = (reason: string) => /without a sale$/.test(reason);
  expect(result.reasons.filter((each) => !isLate(each))).toEqual([]);
}, 180_000);
