/** The short form of `lockstep mutants`: two defences, each under the fault that it is for. */
import { expect, test } from 'vitest';
import { type MutantName, mutants } from '../../src/lab/mutants/mutants.ts';
import { runMutants } from '../../src/lab/mutants/run-mutants.ts';
import { trialShape } from '../../src/lab/mutants/run-trial.ts';
import { mutantsText } from '../../src/lab/report/mutants-text.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(trialShape);
const some: MutantName[] = ['early-acknowledgement', 'no-unique-key'];

test('the final rung without a defence is seen by the audit, and the real one holds', async () => {
  const results = await runMutants(lab(), some, AbortSignal.timeout(200_000), () => {});
  const text = mutantsText(results);
  expect(
    results.map(({ fate, mutant }) => [mutant, fate]),
    text,
  ).toEqual(some.map((name) => [name, 'red']));
  expect(
    results.map(({ real }) => real.verdict),
    text,
  ).toEqual(some.map(() => 'held'));
  expect(results.map(({ turnsRed }) => turnsRed)).toEqual(
    some.map((name) => mutants[name].turnsRed),
  );
}, 240_000);
