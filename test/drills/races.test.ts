/**
 * Every famous race, played through nginx on real instances: on the rung with the bug, and on the
 * next rung.
 */
import { describe, expect, test } from 'vitest';
import { shortRaces } from '../../src/lab/drills/demo-plan.ts';
import { raceOn } from '../../src/lab/races/race-on.ts';
import { racePage } from '../../src/lab/report/race-page.ts';
import { raceText } from '../../src/lab/report/race-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

const pairs = shortRaces.map(({ race, rung }) => [race, rung] as const);

describe.each(pairs)('%s on %s', (race, rung) => {
  test('is as claimed, with its proof', async () => {
    const result = await raceOn(lab(), race, rung);
    const said = `${result.verdict}: ${result.evidence}`;
    expect(result, said).toMatchObject({ verdict: result.claim, asClaimed: true });
    const text = raceText(result);
    expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    expect(text.includes('✗')).toBe(result.verdict === 'violated');
    const isProven = (result.proof?.events.length ?? 0) >= 2;
    expect(isProven).toBe(result.verdict === 'violated');
    expect(racePage(result)).toContain(`<h1>${race}`);
  });
});
