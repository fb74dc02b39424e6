/**
 * The clauses are tested by a control: a lock that keeps all of them, and turns each red when it
 * lacks what the clause looks for.
 */
import { rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Finding } from '../conformance/clause.ts';
import { conformanceClauses } from '../conformance/clauses.ts';
import { controlLock, type Defect } from '../conformance/control-lock.ts';
import { startMasters } from '../conformance/field.ts';
import { judged } from '../conformance/run.ts';
import type { Subject } from '../conformance/subject.ts';
import { conformanceSubjects } from '../conformance/subjects.ts';
import { newDataFolder } from '../support/data-home.ts';
import { ownPorts } from '../support/servers.ts';

/** The clause that each defect turns red, and what its case says. */
const defects: readonly [clause: string, defect: Defect, measured: RegExp][] = [
  ['mutual exclusion', 'sets-without-nx', /^\d+ owners at once, for \d/],
  ['split vote', 'keeps-what-it-got', /of 2 did not get it within 3.0 s after [1-9]/],
  [
    'late grant',
    'ignores-its-validity',
    /^handed out \d+ ms after its lease ended, beside another/,
  ],
  ['stale release', 'deletes-any-key', /^3 of 3 keys of the next owner were deleted$/],
  ['dead master', 'needs-every-master', /^acquire was refused with one dead master of three/],
  [
    'hung master',
    'waits-for-every-answer',
    /^no answer after \d\.\d s with one hung master of three/,
  ],
  ['lost answer', 'sets-no-expiry', /^still locked 4.5 s after the call was refused/],
  ['no starvation', 'prefers-the-first', /^\d+ of 20 got it within 15.0 s/],
  [
    'expiry told',
    'tells-nobody',
    /^not renewed; the owner was not told, and its release succeeded/,
  ],
];

let nextPort = await ownPorts(19_420);

/** On masters of its own, so that the tests can run at once. */
async function judge(clauseName: string, subject: Subject): Promise<Finding> {
  const clause = conformanceClauses.find(({ name }) => name === clauseName);
  if (!clause) throw new RangeError(`there is no clause ${clauseName}`);
  const folder = newDataFolder();
  nextPort += 20;
  const masters = await startMasters(folder, nextPort);
  try {
    return await judged(clause, subject, masters);
  } finally {
    await masters.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const named = (name: string): Subject => {
  const subject = conformanceSubjects.find((each) => each.name === name);
  if (!subject) throw new RangeError(`there is no subject ${name}`);
  return subject;
};

test('every clause has a defect that it finds', () => {
  expect(defects.map(([clause]) => clause)).toEqual(conformanceClauses.map(({ name }) => name));
});

/** The clauses have limits of time: a machine that stands still misses one, but not each time. */
const again = { retry: 2 };

describe.concurrent.each(defects)('%s', again, (clause, defect, measured) => {
  test('is kept by a lock that lacks nothing', async () => {
    const finding = await judge(clause, controlLock());
    expect(finding).toMatchObject({ verdict: 'held' });
  });

  test(`is broken by a lock that ${defect.replaceAll('-', ' ')}`, async () => {
    const finding = await judge(clause, controlLock(defect));
    expect(finding).toMatchObject({ verdict: 'broken', measured: expect.stringMatching(measured) });
  });
});

test.concurrent(
  'a lock with one master fails with an error when that one is dead or hung',
  again,
  async () => {
    for (const clause of ['dead master', 'hung master'])
      expect(await judge(clause, named('redis-atomic'))).toMatchObject({
        verdict: 'held',
        measured: expect.stringContaining('LockServiceUnavailable'),
      });
  },
);

test.concurrent(
  'a lock of the ladder breaks the clause that it claims to break',
  again,
  async () => {
    const finding = await judge('stale release', named('redis-expiry'));
    expect(finding).toEqual({
      verdict: 'broken',
      measured: '1 of 1 keys of the next owner were deleted',
    });
  },
);
