/** Races and holds as text: what may be written, and what is printed. */
import { describe, expect, test } from 'vitest';
import { parseHold } from '../../src/lab/races/pauses.ts';
import type { PlayedRace } from '../../src/lab/races/race-verdict.ts';
import { type Schedule, schedules } from '../../src/lab/races/schedules.ts';
import { raceText, saysWidth } from '../../src/lab/report/race-text.ts';

describe('a hold', () => {
  test.each([
    ['after-check:1:500', { at: 'after-check', nth: 1, until: 500 }],
    [' after-check:12:before-commit', { at: 'after-check', nth: 12, until: 'before-commit' }],
    ['stock-taken:1:0', { at: 'stock-taken', nth: 1, until: 0 }],
  ])('may be %j', (text, hold) => expect(parseHold(text)).toEqual(hold));

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
  ])('may not be %j', (text) => expect(parseHold(text)).toBeNull());
});

describe.each(Object.entries(schedules))('the race %s', (race, schedule: Schedule) => {
  test('is told in one line a step that fits the terminal, in two lanes at least, with its wrong step marked', () => {
    const steps = schedule.steps.map((step) => ({
      lane: 'run' in step ? step.run : 'kill' in step ? step.kill : step.leaseOf,
      ...{
        says: step.says,
        wrong: 'wrong' in step,
        at: 'order 9223372036854775807',
        instance: 'api-4',
      },
    }));
    const result = {
      race,
      ...schedule,
      steps,
      verdict: 'violated',
      asClaimed: true,
      evidence: '',
    } as unknown;
    const lines = raceText(result as PlayedRace).split('\n');
    const drawn = lines.filter((line) => /^ ?\d+ /.test(line));
    expect(drawn).toHaveLength(schedule.steps.length);
    expect(drawn.filter((line) => [...line].length > 80)).toEqual([]);
    expect(drawn.filter((line) => line.includes('✗'))).toHaveLength(1);
    expect(new Set(steps.map(({ lane }) => lane)).size).toBeGreaterThanOrEqual(2);
    for (const { says } of steps) expect(says.length).toBeLessThanOrEqual(saysWidth);
  });
});
