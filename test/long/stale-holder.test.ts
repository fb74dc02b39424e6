/**
 * The rungs that make a stale owner harmless: its section overlaps the next one, and MySQL refuses
 * the second write.
 */
import { describe, expect, test } from 'vitest';
import { placeWords } from '../../src/lab/play/place-words.ts';
import { raceOn } from '../../src/lab/play/race-on.ts';
import { raceText } from '../../src/lab/report/race-text.ts';
import { withStage } from '../../src/lab/stage/stage.ts';
import { mysqlRefusals } from '../../src/service/audit/sections.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab(null);

const byFence = { staleFence: 1, duplicate: 0 };
const byKey = { staleFence: 0, duplicate: 1 };

describe.each([
  ['paused-holder', 'fenced', byFence, 'stale-fence', '1 by the fence'],
  ['lease-expires-during-sale', 'fenced', byFence, 'stale-fence', '1 by the fence'],
  ['paused-holder', 'unique-rail', byKey, 'already-ordered', '1 by the unique key'],
  ['lease-expires-during-sale', 'unique-rail', byKey, 'already-ordered', '1 by the unique key'],
  ['release-after-expiry', 'unique-rail', byKey, 'already-ordered', '1 by the unique key'],
] as const)('%s on %s', (race, rung, refusals, reason, said) => {
  test('overlaps, and one order stays: MySQL refuses the other write, and it is counted', async () => {
    const { signal } = new AbortController();
    const result = await withStage(lab(), signal, (stage) => raceOn(stage, race, rung));
    const why = `${result.verdict}: ${result.evidence}`;
    expect(result, why).toMatchObject({ shows: 'one-order-per-user', verdict: 'held' });
    expect(result.asClaimed, why).toBe(true); // So mutual exclusion broke, as the ladder claims.
    expect(result.facts.mysql.orders).toHaveLength(1);
    expect(mysqlRefusals(result.facts)).toEqual(refusals);
    expect(result.steps.map(({ place }) => placeWords(place, 'en'))).toContain(reason);
    const granted = result.facts.history?.filter(({ event }) => event === 'granted') ?? [];
    const fences = granted.slice(0, 2).map(({ fence }) => fence);
    expect(fences).toEqual(rung === 'fenced' ? ['1', '2'] : [undefined, undefined]);
    const text = raceText(result);
    expect(text.replace(/\s+/g, ' ')).toContain(said);
    expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
  });
});
