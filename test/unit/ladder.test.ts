/** The table of rungs: each row can be opened, claims what it should, and is walked in every circumstance it names. */
import { describe, expect, test } from 'vitest';
import type { Audit } from '../../src/audit/audit.ts';
import type { CheckName, Verdict } from '../../src/domain.ts';
import { UnknownRung } from '../../src/errors.ts';
import { raceWalk, walk } from '../../src/lab/drills/demo-plan.ts';
import { isAsClaimed } from '../../src/lab/drills/run-rung.ts';
import { type Schedule, schedules } from '../../src/lab/races/schedules.ts';
import {
  type Claim,
  claimOf,
  isRungName,
  type Rung,
  type RungName,
  rungNamed,
  rungNames,
} from '../../src/ladder/rungs.ts';

describe.each(rungNames)('the rung %s', (name) => {
  const rung: Rung = rungNamed(name);

  test('names modules that load and can be opened', async () => {
    const modules = await Promise.all([rung.lock(), rung.inventory(), rung.queue?.()]);
    for (const module of modules) if (module) expect(module.open).toBeTypeOf('function');
  });

  test('claims to break wherever it breaks, and to hold everywhere else', () => {
    for (const instances of [1, 4]) {
      const { verdict, breaks } = claimOf(rung, instances);
      const expected = rung.breaks.filter(
        ({ under }) =>
          under === 'two-requests-at-once' || (under === 'several-instances' && instances > 1),
      );
      expect(breaks).toEqual(expected);
      expect(verdict).toBe(expected.length > 0 ? 'violated' : 'held');
    }
  });

  test('does not hide the duplicates that it is to show behind the database’s last line', () => {
    const duplicates = rung.breaks.some(({ check }) => check === 'one-order-per-user');
    expect(duplicates && rung.rails).toBe(false);
  });

  test('is walked as its row says, and in every circumstance that breaks it: by a rush, or by a race', () => {
    const visits = walk(5).filter((request) => request.rung === name);
    expect(visits[0]).toMatchObject({ instances: rung.instances, balancer: 'nginx', seed: 5 });
    const rushed = visits.flatMap(({ instances }) => claimOf(rung, instances).breaks);
    const raced = raceWalk
      .filter((race) => race.rung === name)
      .map(({ race }) => schedules[race].shows);
    for (const reason of rung.breaks)
      expect(rushed.includes(reason) || raced.some((shown) => shown === reason.check)).toBe(true);
  });
});

describe('the ladder', () => {
  test('is in teaching order: chapters never go back', () => {
    const chapters = rungNames.map((name) => rungNamed(name).chapter);
    expect(chapters).toEqual(chapters.toSorted((a, b) => a - b));
  });

  test('has a headline: a mutex holds in one process and breaks in four', () => {
    const mutex = rungNamed('mutex-per-user');
    expect(claimOf(mutex, 1)).toEqual({ verdict: 'held', breaks: [] });
    expect(claimOf(mutex, 4)).toMatchObject({
      verdict: 'violated',
      breaks: [{ check: 'one-order-per-user' }, { check: 'sections-never-overlap' }],
    });
  });

  test('shows the headline behind nginx and behind Node’s own cluster', () => {
    const headline = walk(1).filter(
      ({ rung, instances }) => rung === 'mutex-per-user' && instances > 1,
    );
    expect(headline.map(({ balancer }) => balancer)).toEqual(['nginx', 'cluster']);
  });

  test('ends with a rung that holds however many instances there are', () => {
    const last = rungNamed(rungNames.at(-1) ?? '');
    expect(last).toMatchObject({ chapter: 6, rails: true, onePerUser: true, breaks: [] });
  });

  test('answers a name that it does not have with the names that it has', () => {
    expect(() => rungNamed('mutex')).toThrow(UnknownRung);
    for (const name of rungNames) expect(() => rungNamed('mutex')).toThrow(name);
  });

  test('is not fooled by names that every object has', () => {
    for (const name of ['toString', '__proto__', 'constructor'])
      expect(isRungName(name)).toBe(false);
  });
});

describe.each(Object.entries(schedules))('the race %s', (name, schedule: Schedule) => {
  test('is played on every rung whose row claims it, and then on one higher up the ladder that does not', () => {
    const claims = (name: RungName) =>
      rungNamed(name).breaks.some(
        ({ under, check }) => under === schedule.under && check === schedule.shows,
      );
    expect(claims(schedule.rung)).toBe(true);
    expect(claims(schedule.next)).toBe(false);
    expect(rungNames.indexOf(schedule.next)).toBeGreaterThan(rungNames.indexOf(schedule.rung));
    const played = raceWalk.filter(({ race }) => race === name).map(({ rung }) => rung);
    expect([played[0], played.at(-1)]).toEqual([schedule.rung, schedule.next]);
    const rushed = ['two-requests-at-once', 'several-instances'].includes(schedule.under);
    if (!rushed) expect(played.slice(0, -1).sort()).toEqual(rungNames.filter(claims).sort());
  });

  test('runs lanes that it names, marks one wrong step, and starts a lane before it waits for it or kills it', () => {
    const started = new Set<string>();
    for (const step of schedule.steps) {
      const lane = 'run' in step ? step.run : 'kill' in step ? step.kill : step.leaseOf;
      expect(Object.keys(schedule.lanes)).toContain(lane);
      if ('run' in step) started.add(lane);
      expect(started).toContain(lane);
    }
    expect(schedule.steps.filter((step) => 'wrong' in step)).toHaveLength(1);
  });
});

describe('a run is as claimed', () => {
  const [stock, twice] = ['no-oversell', 'one-order-per-user'] as const;
  const found = (verdict: Verdict, ...violated: CheckName[]): Audit => {
    const of = (check: CheckName) => (violated.includes(check) ? 'violated' : 'held');
    const findings = [stock, twice].map(
      (check) => ({ check, verdict: of(check), count: 1 }) as const,
    );
    return { verdict, findings, leftOut: [] };
  };
  const claim = (verdict: Verdict, ...checks: CheckName[]): Claim => {
    const under = 'two-requests-at-once';
    return { verdict, breaks: checks.map((check) => ({ under, check, because: 'of a race' })) };
  };

  test.each<[string, Audit, Claim, boolean]>([
    ['when everything held that should', found('held'), claim('held'), true],
    ['when what should break broke', found('violated', twice), claim('violated', twice), true],
    [
      'when all broke that should',
      found('violated', twice, stock),
      claim('violated', stock, twice),
      true,
    ],
    ['not when it could not be told', found('unknown'), claim('held'), false],
    ['not when something broke that should hold', found('violated', stock), claim('held'), false],
    ['not when a claimed violation did not show', found('held'), claim('violated', twice), false],
    [
      'not when another check broke instead',
      found('violated', stock),
      claim('violated', twice),
      false,
    ],
    [
      'not when another broke as well',
      found('violated', stock, twice),
      claim('violated', twice),
      false,
    ],
    [
      'not when one of two did not show',
      found('violated', stock),
      claim('violated', stock, twice),
      false,
    ],
  ])('%s', (_, audit, claimed, expected) => {
    expect(isAsClaimed(audit, claimed)).toBe(expected);
  });
});
