/** Each subject in a process of its own: what one package leaves behind does not reach another. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { alone } from '../../src/lab/environment/session.ts';
import { sentenceOf } from './clause.ts';
import { conformanceClauses } from './clauses.ts';
import { startMasters } from './masters.ts';
import { runSubject, type SubjectResult } from './run-subject.ts';
import type { Subject } from './subject.ts';

/** Most of the time is spent waiting for leases to end. */
const lanes = 3;
const subjectLimitMs = 180_000;
const firstPort = 19_300;
const portsOfALane = 100;

/** In this process, with three masters of its own. */
export async function runHere(subject: Subject, fromPort: number): Promise<SubjectResult> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-conformance-'));
  return alone(folder, async (signal) => {
    const interrupted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    const masters = await startMasters(folder, fromPort);
    try {
      return await Promise.race([runSubject(subject, masters), interrupted]);
    } finally {
      await masters.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** @param command how to run one subject in a process of its own, up to its name */
export async function runEach(
  subjects: readonly Subject[],
  command: readonly string[],
  progress: (line: string) => void,
): Promise<SubjectResult[]> {
  const waiting = [...subjects];
  const results = new Map<Subject, SubjectResult>();
  const lane = async (_: unknown, number: number) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const port = firstPort + number * portsOfALane;
      results.set(next, await runApart(next, [...command, '--from-port', String(port)]));
      progress(`${results.size} of ${subjects.length}: ${next.name}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return subjects.flatMap((subject) => results.get(subject) ?? []);
}

async function runApart(subject: Subject, command: readonly string[]): Promise<SubjectResult> {
  try {
    const { stdout } = await execa(process.execPath, [...command, subject.name], {
      stderr: 'ignore',
      timeout: subjectLimitMs,
      reject: false,
    });
    return JSON.parse(stdout) as SubjectResult;
  } catch (error) {
    return notRun(subject, sentenceOf(error));
  }
}

function notRun({ name, setup, claims }: Subject, reason: string): SubjectResult {
  const results = conformanceClauses.map((clause) => ({
    clause: clause.name,
    verdict: 'unknown' as const,
    measured: `it did not run: ${reason}`,
    isClaimed: false,
    ms: 0,
  }));
  return { subject: name, setup, isOurs: claims !== undefined, results };
}
