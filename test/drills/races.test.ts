/** Every famous race, played through nginx on real instances: there on the rung that has it, gone on the next one up. */
import { describe, expect, test } from 'vitest';
import { raceOn } from '../../src/cli/race.ts';
import { raceWalk } from '../../src/lab/drills/demo-plan.ts';
import { racePage } from '../../src/lab/report/race-page.ts';
import { raceText } from '../../src/lab/report/race-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab();

describe.each(raceWalk)('$race on $rung', ({ race, rung }) => {
  test('is as claimed, and told with its proof', async () => {
    const result = await raceOn(lab(), race, rung);
    expect(result).toMatchObject({ verdict: result.claim, asClaimed: true });
    const text = raceText(result);
    expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    expect(text.includes('✗')).toBe(result.verdict === 'violated');
    expect(result.proof !== undefined && result.proof.events.length >= 2).toBe(
      result.verdict === 'violated',
    );
    expect(racePage(result)).toContain(`<h1>${race}`);
  });
});
