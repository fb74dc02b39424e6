/** What a run showed, in sentences with their evidence. */

import type { Audit } from '../audit/audit.ts';
import type { Proof } from '../audit/counter-example.ts';
import type { Run } from '../drills/run-rung.ts';
import type { RaceResult } from '../races/judge.ts';

/** Lines of at most `width` characters; the second and later ones are indented. */
export function wrap(text: string, width = 79, indent = '  '): string {
  const margin = /^ */.exec(text)?.[0] ?? '';
  const lines: string[] = [];
  let line = '';
  for (const word of text.trimStart().split(' ')) {
    const room = width - (lines.length === 0 ? margin.length : 0);
    if (line !== '' && `${line} ${word}`.length > room) {
      lines.push(line);
      line = indent + word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return margin + [...lines, line].join('\n');
}

export const place = ({ result }: Run): string => {
  const shared = result.balancer === 'cluster' ? ' (Node’s cluster)' : '';
  return `${result.rung} on ${result.instances} instance${result.instances === 1 ? '' : 's'}${shared}`;
};

/** `mutex-per-user on 4 instances: violated, as claimed.` and why, with the worst case. */
export const runSentence = (run: Run): string => `${claimSentence(run)}${evidence(run.audit)}`;

export function claimSentence(run: Run): string {
  const { result, claim } = run;
  const claimed = claim.breaks.map(({ check }) => ` of ${check}`).join(' and');
  const judged = result.asClaimed
    ? 'as claimed'
    : `NOT as claimed (the ladder says ${claim.verdict}${claimed})`;
  const because = claim.breaks.map((reason) => reason.because).join('; ');
  return `${place(run)}: ${result.verdict}, ${judged}.${because && ` ${because}.`}`;
}

function evidence({ findings }: Audit): string {
  const shown = findings.filter(({ verdict }) => verdict !== 'held');
  return shown
    .map(({ check, count, worst, first }) => ` ${check}: ${worst ?? first} (${count} cases).`)
    .join('');
}

/** What proves each violation of a run. */
export const proofLines = ({ proofs }: Run): string[] => proofs.flatMap(proofText);

/** `lost-update on read-then-write: violated, as claimed: 2 orders for 1 in stock` */
export function raceSentence({ race, rung, verdict, asClaimed, claim, evidence }: RaceResult): string {
  const judged = asClaimed ? 'as claimed' : `NOT as claimed (the ladder says ${claim})`;
  return `${race} on ${rung}: ${verdict}, ${judged}${evidence && `: ${evidence}`}`;
}

/** Each check on a line of its own. */
export function auditLines({ findings, leftOut }: Audit): string {
  const found = findings.map(({ check, verdict, count, worst, first }) => {
    const detail = verdict === 'held' ? '' : `: ${worst ?? first}${count > 1 ? ` (${count} cases)` : ''}`;
    return wrap(`  ${verdict.padEnd(9)} ${check}${detail}`, 79, '            ');
  });
  const notJudged = leftOut.map(({ check, why }) =>
    wrap(`  ${'–'.padEnd(9)} ${check}: ${why}`, 79, '            '),
  );
  return [...found, ...notJudged].join('\n');
}

/** The events that prove a violation, in the order they happened, and the rows that they left. */
export function proofText({ check, events, rows }: Proof): string[] {
  if (events.length + rows.length === 0) return [];
  const start = BigInt(events[0]?.at ?? 0);
  const happened = events.map(({ at, instance, event, checkpoint, orderId, userId, reason }) => {
    const ms = (Number(BigInt(at) - start) / 1_000_000).toFixed(1);
    const what = { checkpoint, refused: reason }[String(event)] ?? event;
    return `  ${ms.padStart(8)} ms  ${instance.padEnd(6)} ${what.padEnd(11)} user ${userId}, order ${orderId}`;
  });
  const left = rows.map(
    ({ id, userId, status }) =>
      `  ${'in MySQL'.padStart(19)} ${status.padEnd(11)} user ${userId}, order ${id}`,
  );
  return ['', `what proves that ${check} is violated:`, ...happened, ...left];
}

/** Whom each hold caught, and for how long. */
export function holdLines({ result: { holds }, facts: { history = [] } }: Run): string[] {
  return holds.map((hold) => {
    const [held, letOn] = ['held', 'let-on'].map((wanted) =>
      history.find(({ event, reason }) => event === wanted && reason === hold),
    );
    if (!held) return `hold ${hold}: NOBODY came by`;
    const ms = letOn ? `${Math.round(Number(BigInt(letOn.at) - BigInt(held.at)) / 1e6)} ms` : 'to the end';
    return `hold ${hold}: user ${held.userId}, order ${held.orderId}, ${ms}`;
  });
}

export const holdsCaught = ({ result: { holds }, facts: { history = [] } }: Run): boolean =>
  holds.every((hold) => history.some(({ event, reason }) => event === 'held' && reason === hold));
