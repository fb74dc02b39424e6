/** The waiting room while instances, workers and Redis die: nobody loses a place, or the order. */
import { expect, test } from 'vitest';
import { waitingRoom, waitingShape } from '../../src/lab/drills/waiting-room.ts';
import { expectHeld, playIn } from '../support/judged-drill.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(waitingShape);

test('a line keeps its places and their order through kills, and all who wait buy', async () => {
  const result = await playIn(lab(), waitingRoom, { seed: 7, minutes: 0 });
  expectHeld(result);
  expect(result.figures).toMatchObject({
    ...{ sold: 240, recorded: 240, accepted: 240, lost: 0, usersWithTwoOrders: 0, unresolved: 0 },
    ...{ placesLost: 0, placesShared: 0, inversions: 0, passesTooEarly: 0, passesTooMany: 0 },
    ...{ jumpsSold: 0, jumpsRefused: 30 },
  });
}, 240_000);
