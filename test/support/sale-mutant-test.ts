/** The tests of mutants of the final rung: `npm test` has two of them, test/long the others. */
import { expect, test } from 'vitest';
import { type MutantName, mutants } from '../../src/lab/mutants/mutants.ts';
import { runMutants } from '../../src/lab/mutants/run-mutants.ts';
import { trialShape } from '../../src/lab/mutants/run-trial.ts';
import { mutantsText } from '../../src/lab/report/mutants-text.ts';
import { testOfMutant } from './samples.ts';
import { theLab } from './the-lab.ts';

export function testSaleMutants(names: readonly MutantName[]): void {
  const lab = theLab(trialShape);

  test.each(names.map((name) => [testOfMutant(name), name] as const))(
    '%s',
    async (_, name) => {
      const signal = AbortSignal.timeout(200_000);
      const [result] = await runMutants(lab(), [name], signal, () => {});
      const text = result ? mutantsText([result]) : '';
      expect(result, text).toMatchObject({ mutant: name, fate: 'red', real: { verdict: 'held' } });
      expect(result?.turnsRed).toBe(mutants[name].turnsRed);
    },
    240_000,
  );
}
