/** The tests of mutants of the final rung: `npm test` has two of them, test/long the others. */
import { expect, test } from 'vitest';
import { withConnections } from '../../src/lab/environment/lab-connections.ts';
import { judgeMutants } from '../../src/lab/mutants/judge-mutants.ts';
import { type MutantName, mutants } from '../../src/lab/mutants/mutants.ts';
import { runMutants } from '../../src/lab/mutants/run-mutants.ts';
import { trialShape } from '../../src/lab/mutants/run-trial.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { theLab } from '../support/own-lab.ts';
import { testOfMutant } from '../support/samples.ts';

export function testSaleMutants(names: readonly MutantName[]): void {
  const lab = theLab(trialShape);

  test.each(names.map((name) => [testOfMutant(name), name] as const))(
    '%s',
    async (_, name) => {
      const before = await withConnections(lab(), leftovers);
      const signal = AbortSignal.timeout(400_000);
      const [result] = await runMutants(lab(), [name], signal, () => {});
      const text = result
        ? judgeMutants([result])
            .reasons.map((each) => textIn('en', each))
            .join('\n')
        : '';
      expect(result, text).toMatchObject({ mutant: name, fate: 'red', real: { verdict: 'held' } });
      expect(result?.violated).toContain(mutants[name].turnsRed);
      expect(await withConnections(lab(), leftovers)).toEqual(before);
    },
    480_000,
  );
}

/** What a trial must not leave in the lab: vouchers, and dead letters. */
async function leftovers(connections: Connections) {
  const { vouchers } = await reconcile(connections);
  const redis = connections.redis('admin');
  const letters = connections.saleKeys.shards.map(({ dead }) => redis.xlen(dead));
  return {
    vouchers: vouchers.map(({ voucherId }) => voucherId),
    letters: await Promise.all(letters),
  };
}
