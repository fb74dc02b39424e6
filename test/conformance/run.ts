/**
 * All clauses on one subject, each subject in a process of its own: what one package leaves behind
 * does not reach another.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { alone } from '../../src/lab/environment/session.ts';
import { within } from './ask.ts';
import {
  type Clause,
  type ClauseVerdict,
  duration,
  type Finding,
  notKnown,
  sentenceOf,
  skipped,
} from './clause.ts';
import { conformanceClauses } from './clauses.ts';
import { Field, type Masters, startMasters } from './field.ts';
import type { Subject } from './subject.ts';

export interface ClauseResult {
  readonly clause: string;
  readonly verdict: ClauseVerdict;
  readonly measured: string;
  /** True when the ladder says that this lock breaks this clause. */
  readonly isClaimed: boolean;
  readonly ms: number;
}

export interface SubjectResult {
  readonly subject: string;
  readonly setup: string;
  readonly isOurs: boolean;
  readonly results: readonly ClauseResult[];
}

/** A clause that takes longer than this has waited for something that never came. */
const clauseLimitMs = 45_000;

export async function runSubject(
  subject: Subject,
  masters: Masters,
  clauses: readonly Clause[] = conformanceClauses,
): Promise<SubjectResult> {
  const results: ClauseResult[] = [];
  for (const clause of clauses) results.push(await runClause(clause, subject, masters));
  const { name, setup, claims } = subject;
  return { subject: name, setup, isOurs: claims !== undefined, results };
}

async function runClause(
  clause: Clause,
  subject: Subject,
  masters: Masters,
): Promise<ClauseResult> {
  const startedAt = performance.now();
  const finding = await judged(clause, subject, masters);
  const isClaimed = (clause.brokenBy ?? []).some((reason) => subject.claims?.includes(reason));
  return { clause: clause.name, ...finding, isClaimed, ms: performance.now() - startedAt };
}

/** An error that nobody could catch is a finding about the lock; an error of the clause is not. */
export async function judged(clause: Clause, subject: Subject, masters: Masters): Promise<Finding> {
  if (clause.about && !clause.about.includes(subject.needs))
    return skipped(`it needs ${subject.needs} of its masters`);
  const uncaught = new Uncaught();
  const field = new Field(masters);
  try {
    const late = () => notKnown(`the clause did not end within ${duration(clauseLimitMs)}`);
    const finding = await within(clauseLimitMs, clause.run(subject, field), late);
    return uncaught.added(finding);
  } catch (error) {
    return notKnown(sentenceOf(error));
  } finally {
    await field.close();
    uncaught.close();
  }
}

/** Errors that end a process of Node unless somebody listens. */
class Uncaught {
  readonly #errors: unknown[] = [];
  readonly #add = (error: unknown) => void this.#errors.push(error);

  constructor() {
    process.on('unhandledRejection', this.#add);
    process.on('uncaughtException', this.#add);
  }

  added(finding: Finding): Finding {
    const [first] = this.#errors;
    if (first === undefined) return finding;
    const sentence = `an error that no caller can catch ends the process (${sentenceOf(first)})`;
    const measured = finding.verdict === 'broken' ? `${finding.measured}; ${sentence}` : sentence;
    return { verdict: 'broken', measured };
  }

  close(): void {
    process.off('unhandledRejection', this.#add);
    process.off('uncaughtException', this.#add);
  }
}

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
