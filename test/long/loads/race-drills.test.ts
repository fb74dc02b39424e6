/** The first race of each drill of races, under load; the other races are played without one. */
import { describe, expect, test } from 'vitest';
import { raceDrill, raceDrillShape } from '../../../src/lab/drills/race-drill.ts';
import { raceDrills } from '../../../src/lab/drills/race-drills.ts';
import { resultText } from '../../../src/lab/report/result-text.ts';
import { spansOf } from '../../../src/lab/stage/seconds.ts';
import { expectHeld, playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const lab = theLab(raceDrillShape);

describe.each(Object.entries(raceDrills))('%s', (_, { about, plays }) => {
  const [first] = plays;

  test(`is as the ladder claims: ${first.race} on ${first.rung}`, async () => {
    const drill = raceDrill(about, 1, [first]);
    const result = await playIn(lab(), drill, { seed: 1, minutes: 0.05 });
    expectHeld(result);
    const text = resultText(result);
    expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    const { marks } = result.recorded;
    expect(spansOf(marks, 'load', 0).map(({ name }) => name)).toEqual([first.rung]);
    const faults = spansOf(marks, 'fault', 0);
    expect(faults.length).toBeGreaterThan(0);
    for (const { fromMs, toMs } of faults) expect(toMs).toBeGreaterThan(fromMs);
  }, 320_000);
});
