/** One of three masters hangs while fifty requests wait for one lock. */
import { expect, test } from 'vitest';
import { hungMaster } from '../../../src/lab/drills/hung-master.ts';
import { Timeline } from '../../../src/lab/drills/timeline.ts';
import { drillText } from '../../../src/lab/report/drill-text.ts';
import { theLab } from '../../support/the-lab.ts';

const lab = theLab();

test('redlock sells on, multilock refuses in time, and both sell again afterwards', async () => {
  const options = { seed: 2, minutes: 0.1, progress: () => {}, recorder: new Timeline() };
  const signal = AbortSignal.timeout(60_000);
  const { facts: _, ...result } = await hungMaster.run(lab(), { ...options, signal });
  expect(result, drillText(result)).toMatchObject({ verdict: 'held', reasons: [] });
  expect(result.faults).toEqual({ 'pause redis-3': 2 });
}, 90_000);
