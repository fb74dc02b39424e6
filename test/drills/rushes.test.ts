/** The demo's rushes, with another seed: every rung does what the ladder claims. */
import { describe, expect, test } from 'vitest';
import { rushes } from '../../src/lab/drills/demo-plan.ts';
import { type RunRequest, runRung } from '../../src/lab/drills/run-rung.ts';
import { pausesReached } from '../../src/lab/report/sentences.ts';
import { testConnections } from '../support/connections.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);

/** Those of one shape after each other: every change of the shape restarts the service. */
const shapeOf = ({ instances, balancer }: RunRequest) => `${instances} ${balancer}`;
const requests = rushes(7).sort((one, other) => shapeOf(one).localeCompare(shapeOf(other)));

describe.each(requests)('$rung on $instances behind $balancer', (request) => {
  test('is as claimed', async () => {
    await lab().ensure(request);
    const connections = testConnections();
    connections.redis('admin');
    await connections.ready();
    const run = await runRung(request, lab(), connections);
    const { result, audit } = run;
    expect(audit.findings.filter(({ verdict }) => verdict === 'unknown')).toEqual([]);
    expect(result).toMatchObject({ verdict: result.claim, asClaimed: true });
    expect(result.attempts.unknown).toBe(0);
    expect(pausesReached(run)).toBe(true);
  });
});
