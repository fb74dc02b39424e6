/** k6/failover.js through four faults: nothing is lost, and the timeline has every attempt. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { k6Failover } from '../../../src/lab/drills/k6-failover.ts';
import { spansOf } from '../../../src/lab/stage/seconds.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { lacksK6 } from '../../support/k6.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab();

test.skipIf(lacksK6)(
  'k6 loses no order while redis-main, an instance and nginx fail',
  async () => {
    vi.stubEnv('MOST_MISSED_PERCENT', '90'); // k6 itself may stand still for a while.
    onTestFinished(() => void vi.unstubAllEnvs());
    const result = await playIn(lab(), k6Failover, { seed: 2, minutes: 0.25 });
    expectHeld(result);
    const { seconds, marks } = result.recorded;
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
    const refused = result.tables?.[0]?.rows.map((cells) => cells[3]);
    expect(refused?.[0]).toMatchObject({ full: '0' });
    expect(refused?.[1]).toMatchObject({ full: expect.stringContaining('not-ready') });
  },
  360_000,
);
