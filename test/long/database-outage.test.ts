/** The database away, read-only and full, for some seconds: sales go on, and nothing is lost. */
import { expect, test } from 'vitest';
import {
  mysqlAway,
  mysqlFull,
  mysqlReadOnly,
  redisFull,
} from '../../src/lab/drills/database-outage.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

test.each([
  ['away', mysqlAway],
  ['read-only', mysqlReadOnly],
  ['full', mysqlFull],
  ['away until Redis is full', redisFull],
])(
  'MySQL is %s: orders wait, all are recorded afterwards, and sales go on',
  async (_, drill) => {
    const result = await playIn(lab(), drill, { seed: 5, minutes: 0.05 }, 90_000);
    expectHeld(result);
    expect(result.figures).toMatchObject({ deadLettered: 0, replaced: 0 });
  },
  120_000,
);
