/** Half a minute of stopped masters: MultiLock stops selling with one, Redlock with two. */
import { expect, test } from 'vitest';
import { stopMasters } from '../../../src/lab/drills/lock-outages.ts';
import { spansOf } from '../../../src/lab/stage/seconds.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab();

test('no lock server that is stopped brings a second order; sales end and resume as claimed', async () => {
  const result = await playIn(lab(), stopMasters, { seed: 2, minutes: 0.5 });
  expectHeld(result);
  expect(result.figures).toMatchObject({ violations: 0 });
  const { marks } = result.recorded;
  const loads = spansOf(marks, 'load', 0).map(({ name }) => name);
  expect(loads).toEqual(['multilock', 'redlock', 'redis-atomic']);
  const stops = spansOf(marks, 'fault', 0);
  expect(stops).toHaveLength(2 * (1 + 2 + 3) + 1);
  for (const { fromMs, toMs } of stops) expect(toMs).toBeGreaterThan(fromMs);
}, 360_000);
