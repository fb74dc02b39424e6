/** k6/failover.js through four faults: nothing is lost, and the timeline has every attempt. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { k6Failover } from '../../src/lab/drills/k6-failover.ts';
import { spansOf, Timeline } from '../../src/lab/drills/timeline.ts';
import { drillText } from '../../src/lab/report/drill-text.ts';
import { theLab } from '../support/the-lab.ts';

const folders = [
  join(process.cwd(), '.lockstep', 'bin'),
  ...(process.env['PATH'] ?? '').split(delimiter),
];
const isMissing = !folders.some((folder) => existsSync(join(folder, 'k6')));
if (isMissing) console.warn('k6 IS MISSING: its drill is skipped.');

const lab = theLab();

test.skipIf(isMissing)(
  'k6 loses no order while redis-main, an instance and nginx fail',
  async () => {
    const recorder = new Timeline();
    const options = { seed: 2, minutes: 0.35, progress: () => {}, recorder };
    const signal = AbortSignal.timeout(150_000);
    const { facts: _, ...result } = await k6Failover.run(lab(), { ...options, signal });
    expect(result, drillText(result)).toMatchObject({ verdict: 'held', reasons: [] });
    const { seconds, marks } = recorder.recorded();
    const recorded = { attempts: 0, accepted: 0, unknown: 0 };
    for (const { accepted, refusedBecause, unknown } of seconds) {
      const refused = Object.values(refusedBecause).reduce((sum, count) => sum + count, 0);
      recorded.attempts += accepted + refused + unknown;
      recorded.accepted += accepted;
      recorded.unknown += unknown;
    }
    expect(result.figures).toMatchObject(recorded);
    const faults = ['stop redis-main', 'pause redis-main', 'kill api-3', 'kill nginx'];
    expect(Object.keys(result.faults)).toEqual(faults);
    expect(spansOf(marks, 'fault', 0).map(({ name }) => name)).toEqual(faults);
    expect(spansOf(marks, 'load', 0)).toHaveLength(1);
    const [before, stopped] = result.phases ?? [];
    expect(before?.refusedBecause).toEqual({});
    expect(stopped?.refusedBecause).toHaveProperty('not-ready');
  },
  180_000,
);
