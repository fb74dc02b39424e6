/** A pause that a failover of Redis would lose: it is done again, or somebody is told. */
import { expect, test } from 'vitest';
import { pausedFailover } from '../../src/lab/drills/paused-failover.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

test('nobody is told that a pause is done which a failover loses, or reconcile brings it back', async () => {
  const result = await playIn(lab(), pausedFailover, { seed: 1, minutes: 0 });
  expectHeld(result);
  expect(result.figures).toMatchObject({ failovers: 4, toldDone: 2, soldAfterPause: 10 });
}, 240_000);
