/** Drills in their shortest form: each is held, and its figures are exact. */
import { expect, test } from 'vitest';
import { type DrillName, drills } from '../../../src/lab/drills/drills.ts';
import type { Result } from '../../../src/lab/stage/result.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(null);

interface ShortForm {
  /** What it proves. */
  readonly title: string;
  readonly seed: number;
  readonly minutes?: number;
  readonly figures: Readonly<Record<string, unknown>>;
  readonly also?: (result: Result) => void;
}

const nothingLost = { lost: 0, usersWithTwoOrders: 0 };
const soldOnce = (count: number) => ({
  ...{ sold: count, recorded: count, accepted: count },
  ...nothingLost,
});
/** Of the database. */
const outage = (title: string): ShortForm => ({
  ...{ title: `${title}: orders wait, all are recorded afterwards, and sales go on` },
  ...{ seed: 5, minutes: 0.05, figures: { deadLettered: 0, replaced: 0 } },
});

const shortForms: Partial<Record<DrillName, ShortForm>> = {
  'alive-not-consuming': {
    title: 'after each incident orders are recorded again, and no accepted order is lost',
    ...{ seed: 3, minutes: 0.5, figures: { processesReplaced: 1 } },
    also: ({ tables }) => expect(tables?.[0]?.rows).toHaveLength(7),
  },
  'mysql-away': outage('MySQL is away'),
  'mysql-read-only': outage('MySQL is read-only'),
  'mysql-full': outage('MySQL is full'),
  'redis-full': outage('MySQL is away until Redis is full'),
  'waiting-room': {
    title: 'a line keeps its places and their order through kills, and all who wait buy',
    seed: 7,
    figures: {
      ...{ ...soldOnce(240), unresolved: 0, placesLost: 0, placesShared: 0, inversions: 0 },
      ...{ passesTooEarly: 0, passesTooMany: 0, jumpsSold: 0, jumpsRefused: 30 },
    },
  },
  flood: {
    title: 'all purchases beside a flood are sold and recorded once, and no buyer is limited',
    seed: 7,
    figures: { ...soldOnce(600), requests: 600, unexpected: 0, floodFailed: 0 },
  },
  'changed-sale': {
    title: 'a sale whose changes are cut in half sells exactly the stock that was set last',
    seed: 7,
    figures: {
      ...{ ...nothingLost, unresolved: 0, soldWhilePaused: 0 },
      ...{ changesRefused: 2, changesUnfinished: 0, changesCut: 4 },
    },
    also({ figures: { sold, recorded, accepted } }) {
      expect([sold, accepted]).toEqual([recorded, recorded]);
    },
  },
  'paused-failover': {
    title:
      'nobody is told that a pause is done which a failover loses, or reconcile brings it back',
    ...{ seed: 1, figures: { failovers: 4, toldDone: 2, soldAfterPause: 10 } },
  },
  'flush-during-rush': {
    title: 'after FLUSHALL and a rebuild exactly the stock is sold; what Redis alone knew is lost',
    ...{ seed: 5, minutes: 0.1, figures: { recorded: 2_000, oversold: 0, usersWithTwoOrders: 0 } },
    also({ figures: { accepted = 0, lostAccepted = 0 }, asClaimed }) {
      // The workers were away, so that none of these was recorded: also without a history.
      expect(lostAccepted).toBeGreaterThanOrEqual(60);
      expect(accepted - lostAccepted).toBeLessThanOrEqual(2_000);
      expect(asClaimed).toHaveLength(1);
    },
  },
};

const titled = Object.entries(shortForms).map(
  ([name, form]) => [name as DrillName, form.title, form] as const,
);

test.each(titled)(
  '%s: %s',
  async (name, _, { seed, minutes = 0, figures, also }) => {
    const result = await playIn(lab(), drills[name], { seed, minutes });
    expectHeld(result);
    expect(result.figures).toMatchObject(figures);
    also?.(result);
  },
  480_000,
);
