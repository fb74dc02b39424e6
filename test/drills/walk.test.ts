/** The walk, with another seed than the demo’s: every rung does what the ladder claims, natural races and all. */
import { describe, expect, test } from 'vitest';
import { walk } from '../../src/lab/drills/demo-plan.ts';
import { runRung } from '../../src/lab/drills/run-rung.ts';
import { testConnections } from '../support/connections.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab();

describe.each(walk(7))('$rung on $instances behind $balancer', (request) => {
  test('is as claimed', async () => {
    await lab().serve(request);
    const connections = testConnections();
    connections.redis('admin');
    await connections.ready();
    const { result, audit } = await runRung(request, lab(), connections);
    expect(audit.findings.filter(({ verdict }) => verdict === 'unknown')).toEqual([]);
    expect(result).toMatchObject({ verdict: result.claim, asClaimed: true });
    expect(result.attempts.unknown).toBe(0);
  });
});
