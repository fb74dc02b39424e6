/** Half a minute of stopped masters: MultiLock stops selling with one, Redlock with two. */
import { expect, test } from 'vitest';
import { stopMasters } from '../../src/lab/drills/stop-masters.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab();

test('no lock server that is stopped brings a second order; sales end and resume as claimed', async () => {
  const events: string[] = [];
  const options = { seed: 2, minutes: 0.5, progress: (event: string) => void events.push(event) };
  const signal = AbortSignal.timeout(150_000);
  const { facts: _, ...result } = await stopMasters.run(lab(), { ...options, signal });
  expect(result, drillText(result)).toMatchObject({ verdict: 'held', reasons: [] });
  expect(result.figures).toMatchObject({ violations: 0 });
  expect(events).toHaveLength(7);
}, 180_000);
