/** The results of a run or a race in sentences, with their evidence. */
import type { Audit, Proof } from '../../service/audit/audit.ts';
import { evidenceOf, type Finding } from '../../service/audit/check.ts';
import { refusalEvidence } from '../../service/audit/sections.ts';
import { evidenceText } from '../../texts/evidence.ts';
import { type Language, texts } from '../../texts/texts.ts';
import type { Run } from '../drills/run-rung.ts';
import { colons } from './file-words.ts';
import { verdictWords } from './verdict-words.ts';
import { atRight, padded, wrap } from './wrap.ts';

export const topology = ({ result }: Run, language: Language = 'en'): string => {
  const balancer = result.balancer === 'cluster' ? verdictWords[language].cluster : '';
  return verdictWords[language].instances(result.rung, result.instances) + balancer;
};

/** `mutex-per-user on 4 instances: violated, as claimed.` and the ladder's reasons. */
export function claimSentence(run: Run, language: Language = 'en'): string {
  const { result, claim } = run;
  const say = verdictWords[language];
  const checks = claim.breaks.map(({ check }) => check);
  const judged = result.asClaimed
    ? say.asClaimed
    : say.notAsClaimed + say.ladderClaims(claim.verdict, checks);
  const reasons = [...new Set(claim.breaks.map(({ because }) => texts[language].reasons[because]))];
  const verdict = say.verdicts[result.verdict];
  return language === 'zh'
    ? `${topology(run, language)}：${verdict}，${judged}。${reasons.map((each) => `${each}。`).join('')}`
    : `${topology(run)}: ${verdict}, ${judged}.${reasons.map((each) => ` ${each}.`).join('')}`;
}

/** `refused: sold-out 60, already-bought 52, busy 8`: the code of each problem, most first. */
export function refusedLine({ result }: Run, language: Language = 'en'): string {
  const counts = Object.entries(result.refusedBecause).toSorted(([, one], [, two]) => two - one);
  const text = counts.map((count) => count.join(' ')).join(', ');
  return wrap(verdictWords[language].refused(text), 79, '  ');
}

/** The proof of each violation of a run. */
export const proofLines = ({ proofs }: Run, language: Language = 'en'): string[] =>
  proofs.flatMap((proof) => proofText(proof, language));

/** `violated: 1 of the 4 checks that could run (of 9)`. The verdict alone is that of no check. */
export function verdictSentence(
  { verdict, findings, skipped }: Audit,
  language: Language = 'en',
): string {
  const say = verdictWords[language];
  const as = findings.filter((finding) => finding.verdict === verdict).length;
  const word = say.verdicts[verdict];
  return as === 0 ? word : word + say.ofChecks(as, findings.length, skipped.length);
}

/** Each check on its own line. */
export function auditLines({ findings, skipped }: Audit, language: Language = 'en'): string {
  const say = verdictWords[language];
  const judged = findings.map((finding) => {
    const { check, verdict, count } = finding;
    const cases = count > 1 ? say.cases(count) : '';
    const evidence = evidenceText(language, ...evidenceOf(finding));
    const detail = verdict === 'held' ? '' : `: ${evidence}${cases}`;
    return wrap(`  ${padded(say.verdicts[verdict], 9)} ${check}${detail}`, 79, '            ');
  });
  const notJudged = skipped.map(({ check, why }) =>
    wrap(`  ${'–'.padEnd(9)} ${check}: ${evidenceText(language, why)}`, 79, '            '),
  );
  return [...judged, ...notJudged].join('\n');
}

/** What did not hold, in short. */
export const failedFindings = (
  { audit }: Pick<Run, 'audit'>,
  language: Language = 'en',
): string[] =>
  audit.findings
    .filter(({ verdict }) => verdict !== 'held')
    .map((finding) => wrap(`    ${findingText(finding, language)}`, 79, '      '));

const findingText = (finding: Finding, language: Language): string =>
  finding.check + colons[language] + evidenceText(language, ...evidenceOf(finding));

/** The events that prove a violation, in order, and the rows that they left. */
export function proofText({ check, events, rows }: Proof, language: Language = 'en'): string[] {
  const say = verdictWords[language];
  if (events.length + rows.length === 0) return [];
  const start = BigInt(events[0]?.at ?? 0);
  const happened = events.map(({ at, instance, event, checkpoint, orderId, userId, reason }) => {
    const ms = (Number(BigInt(at) - start) / 1_000_000).toFixed(1);
    const name = { checkpoint, refused: reason }[String(event)] ?? event;
    return `  ${ms.padStart(8)} ms  ${instance.padEnd(6)} ${name.padEnd(11)} ${say.ofProof(String(userId), String(orderId))}`;
  });
  const left = rows.map(
    ({ id, userId, status }) =>
      `  ${atRight(say.inMysql, 19)} ${status.padEnd(11)} ${say.ofProof(userId, id)}`,
  );
  return ['', say.proofOf(check), ...happened, ...left];
}

/** How often MySQL refused a write that the lock had let through; no line when it did not. */
export const mysqlLines = ({ result }: Run, language: Language = 'en'): string[] =>
  refusalEvidence(result.refusedByMysql).map((each) => evidenceText(language, each));

/** The request that each pause stopped, and for how long. */
export function pauseLines(
  { result: { pauses }, facts: { history = [] } }: Run,
  language: Language = 'en',
): string[] {
  const say = verdictWords[language];
  return pauses.map((pause) => {
    const find = (wanted: string) =>
      history.find(({ event, reason }) => event === wanted && reason === pause);
    const paused = find('paused');
    const resumed = find('resumed');
    if (!paused) return say.notPaused(pause);
    const ms = resumed && Math.round(Number(BigInt(resumed.at) - BigInt(paused.at)) / 1e6);
    return say.paused(pause, say.ofProof(String(paused.userId), String(paused.orderId)), ms);
  });
}
