/** All clauses on one subject, in this process. */

import { within } from './ask.ts';
import type { Clause, ClauseVerdict } from './clause.ts';
import { duration, type Finding, notKnown, sentenceOf, skipped } from './clause.ts';
import { conformanceClauses } from './clauses.ts';
import { Field } from './field.ts';
import type { Masters } from './masters.ts';
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
