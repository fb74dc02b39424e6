/** The tests of mutants of the final rung: `npm test` has two of them, test/long the others. */
import { beforeAll, expect, test } from 'vitest';
import { withConnections } from '../../src/lab/environment/lab-connections.ts';
import { judgeMutants, type MutantResult } from '../../src/lab/mutants/judge-mutants.ts';
import { type MutantName, mutants } from '../../src/lab/mutants/mutants.ts';
import { runMutants } from '../../src/lab/mutants/run-mutants.ts';
import { trialShape } from '../../src/lab/mutants/run-trial.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import { withStage } from '../../src/lab/stage/stage.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { theLab } from '../support/own-lab.ts';
import { testOfMutant } from '../support/samples.ts';

export function testSaleMutants(names: readonly MutantName[]): void {
  const lab = theLab(trialShape);
  const withinMs = names.length * 120_000;
  let results: readonly MutantResult[] = [];
  let left: unknown[] = [];

  beforeAll(async () => {
    const before = await withConnections(lab(), leftovers);
    // In one run: the real rung plays each trial once, in one service.
    const signal = AbortSignal.timeout(withinMs);
    results = await withStage(lab(), signal, (stage) => runMutants(stage, names));
    left = [before, await withConnections(lab(), leftovers)];
  }, withinMs + 60_000);

  test.each(names.map((name) => [testOfMutant(name), name] as const))('%s', (_, name) => {
    const result = results.find(({ mutant }) => mutant === name);
    const reasons = result ? judgeMutants([result]).reasons : [];
    const said = reasons.map((each) => textIn('en', each)).join('\n');
    expect(result, said).toMatchObject({ mutant: name, fate: 'red', real: { verdict: 'held' } });
    expect(result?.violated).toContain(mutants[name].turnsRed);
  });

  test('their trials leave no voucher and no dead letter behind', () => {
    const [before, after] = left;
    expect(before).toBeDefined();
    expect(after).toEqual(before);
  });
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
