/** A minute of the soak: faults at checkpoints while lua-stream sells; nothing is lost. */
import { expect, test } from 'vitest';
import { resultText } from '../../../src/lab/report/result-text.ts';
import { soak, soakShape } from '../../../src/lab/soak/soak.ts';
import { Steering, targets } from '../../../src/lab/soak/soak-faults.ts';
import { rowTexts } from '../../../src/lab/stage/table.ts';
import { playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const seed = 11;
const lab = theLab(soakShape);

test('lua-stream sells and records every order once, with a fault at each checkpoint', async () => {
  const options = { seed, minutes: 1, isGated: false };
  const { facts, ...result } = await playIn(lab(), soak, options);
  const played = rowTexts('en', result.tables?.[1]?.rows ?? []);
  const text = [resultText(result), ...played.map((row) => row.join(' '))].join('\n');
  expect(result, text).toMatchObject({ verdict: 'held', reasons: [] });
  expect(facts).toEqual([]);
  const { sold, recorded, accepted, lost, unresolved } = result.figures;
  expect({ recorded, accepted, lost, unresolved }, text).toEqual({
    ...{ recorded: sold, accepted: sold, lost: 0, unresolved: 0 },
  });
  expect(sold).toBeGreaterThan(0);
  expect(played.length).toBe(result.figures['faults']);

  const again = new Steering(targets, seed); // What was seen and the seed: the same faults.
  for (const [, what = '', , cells = ''] of played) {
    const { fault, state } = again.next().target;
    expect(what.replace(' (missed)', '')).toMatch(new RegExp(`^${fault} at .*; ${state}$`));
    again.saw(cells.split(', '));
  }
}, 720_000);
