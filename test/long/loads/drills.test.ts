/** Drills in their shortest form: each is held, and its figures are exact. */
import { expect, test } from 'vitest';
import type { Drill } from '../../../src/lab/drills/drill.ts';
import { type DrillName, drills } from '../../../src/lab/drills/drills.ts';
import { durability, endureAll } from '../../../src/lab/drills/durability.ts';
import { scaleOut, workersScaleOut } from '../../../src/lab/drills/workers-scale-out.ts';
import { sum } from '../../../src/lab/stage/counts.ts';
import type { Result } from '../../../src/lab/stage/result.ts';
import type { Second } from '../../../src/lab/stage/seconds.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(null);

interface ShortForm {
  /** What it proves. */
  readonly title: string;
  readonly seed: number;
  readonly minutes?: number;
  readonly figures?: Readonly<Record<string, unknown>>;
  /** A part of it. */
  readonly drill?: Drill;
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

const answersIn = ({ accepted, refusedBecause, unknown }: Second): number =>
  sum([accepted, unknown, ...Object.values(refusedBecause)]);
const cells = [
  { durability: 'always', loss: 'power-loss' },
  { durability: 'replica', loss: 'promotion' },
] as const;

const shortForms: Partial<Record<DrillName, ShortForm>> = {
  'kill-storm': {
    title: 'every unit is sold once and recorded, through kills and pauses of every part',
    ...{ seed: 11, minutes: 0.5, figures: { ...nothingLost, unresolved: 0 } },
    also({ figures: { sold = 0, recorded, accepted, requests }, recorded: all, faults }) {
      expect([recorded, accepted]).toEqual([sold, sold]);
      expect(sold).toBeGreaterThan(1_000);
      expect(sum(all.seconds.map(answersIn))).toBe(requests);
      const marks = all.marks.filter(({ of, isStart }) => of === 'fault' && isStart);
      expect(marks).toHaveLength(sum(Object.values(faults)));
    },
  },
  'hot-voucher': {
    title: 'a voucher in buckets sells exactly its stock, although transfers are cut in half',
    seed: 7,
    figures: {
      ...{ ...soldOnce(480), oversold: 0, stranded: 0, soldOutWrongly: 0, transfersCut: 2 },
    },
    also: ({ figures }) => expect(figures['transfers']).toBeGreaterThanOrEqual(4),
  },
  'hung-master': {
    title: 'redlock sells on, multilock refuses in time, and both sell again afterwards',
    ...{ seed: 2, minutes: 0.1 },
    also: ({ faults }) => expect(faults).toEqual({ 'pause redis-3': 2 }),
  },
  'workers-scale-out': {
    title: 'the orders that a killed worker had in hand are recorded once, by the other one',
    ...{ seed: 3, minutes: 0.05, figures: { lost: 0 } },
    drill: { ...workersScaleOut, play: (stage, options) => scaleOut(stage, [2], options) },
    also({ figures: { accepted, recorded, ...figures }, faults }) {
      expect(recorded).toBe(accepted);
      expect(figures['2 workers, in hand at the kill']).toBeGreaterThanOrEqual(4);
      expect(faults).toEqual({ 'lock the stock in MySQL': 2, 'kill api-worker-2': 1 });
    },
  },
  durability: {
    title: 'a power loss costs `always` no order, and a promotion costs `replica` none',
    ...{ seed: 4, minutes: 0.5 },
    drill: { ...durability, play: (stage, options) => endureAll(stage, cells, options) },
    also({ tables }) {
      const rows = tables?.[0]?.rows ?? [];
      expect(rows.map(([, , , lost]) => lost)).toEqual(['0', '0']);
      // Without WAIT, these are accepted, and lost.
      expect(Number(rows[1]?.[4])).toBeGreaterThanOrEqual(10);
    },
  },
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
  async (name, _, { seed, minutes = 0, figures = {}, drill = drills[name], also }) => {
    const result = await playIn(lab(), drill, { seed, minutes });
    expectHeld(result);
    expect(result.figures).toMatchObject(figures);
    also?.(result);
  },
  480_000,
);
