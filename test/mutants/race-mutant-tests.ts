/**
 * Mutants of the races themselves: requests that do not stop where the schedule says, and faults
 * that never happen. A rung that holds must not be called held then: nothing was played.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { type RaceOnRung, shortRaces } from '../../src/lab/drills/demo-plan.ts';
import { defaultShape } from '../../src/lab/environment/lab.ts';
import type { ServiceShape } from '../../src/lab/environment/servers/service.ts';
import { type ChangedCopy, changedCopy } from '../../src/lab/mutants/change.ts';
import { playRace, raceSettings } from '../../src/lab/play/play-race.ts';
import { claimOn } from '../../src/lab/play/race-verdict.ts';
import { type Schedule, schedules } from '../../src/lab/play/schedules.ts';
import { Stage } from '../../src/lab/stage/stage.ts';
import { isServiceError } from '../../src/service/errors.ts';
import { rungNamed } from '../../src/service/ladder/rungs.ts';
import { theLab } from '../support/own-lab.ts';

const scheduleOf = ({ race }: RaceOnRung): Schedule => schedules[race];

/** Every race of the demo on a rung that must hold. */
export const fixingRaces = shortRaces.filter(
  (pair) => claimOn(rungNamed(pair.rung), scheduleOf(pair)) === 'held',
);

/** Something else happens while a lane stands at a place. */
const stopsSomewhere = (pair: RaceOnRung) =>
  scheduleOf(pair).steps.some((step, index, all) => {
    const next = all[index + 1];
    return step.act === 'run' && step.until !== 'answer' && next && next.lane !== step.lane;
  });
const hasFaults = (pair: RaceOnRung) => scheduleOf(pair).steps.some(({ act }) => act !== 'run');

const neverStops = {
  file: 'lab/in-service/meet-player',
  find: 'await untilResumed(redis, player, name);',
} as const;

class StageWithoutFaults extends Stage {
  override async inject() {
    return async () => {};
  }
}

export function testRaceMutants(pairs: readonly RaceOnRung[]): void {
  const lab = theLab(null);
  let copy: ChangedCopy | undefined;
  afterAll(async () => {
    await lab().serve(defaultShape); // No process of the copy is left.
    copy?.remove();
  });

  const shapeOf = (pair: RaceOnRung): ServiceShape => ({
    ...{ instances: scheduleOf(pair).instances, balancer: 'nginx', network: 'proxied' },
    settings: raceSettings,
  });
  const play = async ({ race, rung }: RaceOnRung, Kind = Stage) => {
    const stage = new Kind(lab(), new AbortController().signal, () => {});
    try {
      await stage.connect();
      return await playRace(stage, race, rung);
    } catch (error) {
      if (!isServiceError(error, 'DEADLINE_PASSED')) throw error; // Nothing came to the place.
      await lab().heal();
      return { verdict: 'unknown', asClaimed: false, evidence: error.message } as const;
    } finally {
      await stage.end();
    }
  };
  const expectDoubt = ({ verdict, asClaimed, evidence }: Awaited<ReturnType<typeof play>>) =>
    expect([verdict, asClaimed], evidence).not.toEqual(['held', true]);
  const named = (some: readonly RaceOnRung[]) =>
    some
      .toSorted((one, other) => scheduleOf(one).instances - scheduleOf(other).instances)
      .map((pair) => [pair.race, pair.rung, pair] as const);

  describe.each(named(pairs.filter(hasFaults)))('%s on %s, without its faults', (_, __, pair) => {
    test('is not held as claimed', async () => {
      await lab().ensure(shapeOf(pair));
      expectDoubt(await play(pair, StageWithoutFaults));
    });
  });

  describe.each(named(pairs.filter(stopsSomewhere)))('%s on %s, never stopping', (_, __, pair) => {
    test('is not held as claimed', async () => {
      copy ??= changedCopy('races that never stop', neverStops);
      await lab().ensure({ ...shapeOf(pair), code: copy.folder });
      expectDoubt(await play(pair));
    });
  });
}
