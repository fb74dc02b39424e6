/** Pauses as text, and races: the lines that are printed, and the verdict. */
import { describe, expect, test } from 'vitest';
import { type Pause, parsePause, pauseText } from '../../src/lab/races/pauses.ts';
import {
  notKilled,
  type Played,
  type RaceResult,
  raceVerdict,
} from '../../src/lab/races/race-verdict.ts';
import { laneOf, type RaceName, type Schedule, schedules } from '../../src/lab/races/schedules.ts';
import { raceText, textWidth } from '../../src/lab/report/race-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import { facts, type Given, refused, row } from './facts.ts';

describe('a pause', () => {
  test.each<[string, Pause]>([
    ['after-check:1:500', { at: 'after-check', nth: 1, until: 500 }],
    [' after-check:12:before-commit', { at: 'after-check', nth: 12, until: 'before-commit' }],
    ['stock-taken:1:0', { at: 'stock-taken', nth: 1, until: 0 }],
  ])('may be %j', (text, pause) => {
    expect(parsePause(text)).toEqual(pause);
    expect(parsePause(pauseText(pause))).toEqual(pause);
  });

  test.each([
    'after-check',
    'after-check:0:500',
    'after-check:1:',
    'after-check:1:-1',
    'nowhere:1:500',
    'after-check:1:nowhere',
    'after-check:1:500:1',
    'after-check:1:999999',
    'toString:1:500',
  ])('may not be %j', (text) => expect(parsePause(text)).toBeNull());
});

describe.each(Object.entries(schedules))('the race %s', (name, schedule: Schedule) => {
  const race = name as RaceName;
  const steps = schedule.steps.map((step) => ({
    lane: laneOf(step),
    text: step.text,
    wrong: 'wrong' in step,
    asPlanned: true,
    at: 'order 9223372036854775807',
    instance: 'api-4',
  }));
  const { rung, title, shows } = schedule;
  const result: RaceResult = {
    ...{ race, rung, title, shows, steps, evidence: '', asClaimed: true },
    ...{ verdict: 'violated', claim: 'violated' },
  };
  const drawn = (played: RaceResult) =>
    raceText(played)
      .split('\n')
      .filter((line) => /^ ?\d+ /.test(line));

  test('has one line for each step that fits the terminal, and at least two lanes', () => {
    expect(drawn(result)).toHaveLength(schedule.steps.length);
    expect(
      raceText(result)
        .split('\n')
        .filter((line) => columns(line) > 80),
    ).toEqual([]);
    expect(new Set(steps.map(({ lane }) => lane)).size).toBeGreaterThanOrEqual(2);
    for (const { text } of steps) expect(text.length).toBeLessThanOrEqual(textWidth);
  });

  test('has its wrong step marked, when it shows the violation', () => {
    const marked = drawn(result).map((line) => line.includes('✗'));
    expect(marked).toEqual(steps.map(({ wrong }) => wrong));
    expect(drawn({ ...result, verdict: 'held' }).join('')).not.toContain('✗');
  });
});

describe('the verdict of a race', () => {
  const { 'lost-update': schedule } = schedules;
  const step: Played = { ...{ lane: 'A', text: '', wrong: false, asPlanned: true }, at: 'x' };
  const judge = (given: Given, at = 'answer', rung: RungName = schedule.next) =>
    raceVerdict('lost-update', rung, schedule, [{ ...step, at }], facts(given));

  test('is held when a sale was made and the promise holds', () => {
    expect(judge({})).toMatchObject({ verdict: 'held', claim: 'held', asClaimed: true });
  });

  test('is violated, with the proof, when the check of the race found a violation', () => {
    const oversold = judge(
      { initialStock: 1, stock: 0, redis: { stock: 0 } },
      'answer',
      schedule.rung,
    );
    expect(oversold).toMatchObject({ verdict: 'violated', claim: 'violated', asClaimed: true });
    expect(oversold.evidence).toContain('2 orders for 1 in stock');
    expect(oversold.proof?.rows.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('is not as claimed when the rung with the bug holds, or the next rung does not', () => {
    expect(judge({}, 'answer', schedule.rung)).toMatchObject({ verdict: 'held', asClaimed: false });
    expect(judge({ stock: 3 })).toMatchObject({ verdict: 'violated', asClaimed: false });
  });

  test('is not as claimed when another check broke that no row claims', () => {
    const twice = { orders: [row('a', '1'), row('b', '1')] };
    const surprise = judge(twice);
    expect(surprise).toMatchObject({ verdict: 'held', asClaimed: false });
    expect(surprise.evidence).toContain('which the ladder does not claim');
  });

  test.each<[string, Given, string]>([
    ['nobody could buy', { orders: [], stock: 3, attempts: [refused('1', 'busy')] }, 'answer'],
    ['a process was not there to be killed', {}, notKilled],
  ])('is unknown, and not as claimed, when %s', (_, given, at) => {
    expect(judge(given, at)).toMatchObject({ verdict: 'unknown', asClaimed: false });
  });

  test('is unknown when the audit does not run the check of the race', () => {
    const { 'two-processes': other } = schedules;
    const played = raceVerdict('two-processes', other.next, other, [step], {
      ...facts({ onePerUser: false }),
    });
    expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
  });
});
