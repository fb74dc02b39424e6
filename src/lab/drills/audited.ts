/** What every drill does with its facts: audit them, and one verdict with its reasons. Pure. */
import { type Audit, audit, worstOf } from '../../service/audit/audit.ts';
import { evidenceOf, type Finding } from '../../service/audit/check.ts';
import { type Attempt, confirmed, type Facts } from '../../service/audit/facts.ts';
import type { Verdict } from '../../service/domain.ts';
import { evidenceTexts } from '../../texts/evidence.ts';
import { type Bilingual, texts } from '../../texts/texts.ts';
import { sum } from '../stage/counts.ts';
import type { Judged } from '../stage/result.ts';
import { isSale } from './try-times.ts';

export interface SaleAudit {
  readonly facts: Facts;
  readonly audit: Audit;
}

export const auditAll = (facts: readonly Facts[]): SaleAudit[] =>
  facts.map((each) => ({ facts: each, audit: audit(each) }));

/** The facts that a drill keeps, so that its reasons can be checked. */
const factsNotHeld = (audits: readonly SaleAudit[]): Facts[] =>
  audits.filter((each) => each.audit.verdict !== 'held').map(({ facts }) => facts);

export const acceptedOrders = ({ attempts = [] }: Facts): Set<string> =>
  new Set(attempts.filter(isSale).map(({ orderId = '' }) => orderId));

/** The accepted orders that MySQL does not have. */
export function unrecordedOrders(facts: Facts): string[] {
  const recorded = new Set(confirmed(facts).map(({ id }) => id));
  return [...acceptedOrders(facts)].filter((id) => !recorded.has(id));
}

/** The accepted attempts whose order no store has. */
export function lostSales({ attempts = [], mysql, redis }: Facts): Attempt[] {
  const known = new Set([...mysql.orders.map(({ id }) => id), ...(redis?.queued ?? [])]);
  return attempts.filter((each) => isSale(each) && !known.has(each.orderId ?? ''));
}

/** Their ids. Undefined where nobody knows what the clients were told. */
const lostOrders = (facts: readonly Facts[]): string[] | undefined =>
  facts.every(({ attempts }) => attempts)
    ? facts.flatMap(lostSales).flatMap(({ orderId = [] }) => orderId)
    : undefined;

export interface AuditedFinding {
  readonly voucherId: string;
  readonly finding: Finding;
}

export const findingsOf = ({ facts, audit }: SaleAudit): AuditedFinding[] =>
  audit.findings.map((finding) => ({ voucherId: facts.voucherId, finding }));

/** One sentence for each finding that did not hold. */
const notHeldTexts = (findings: readonly AuditedFinding[]): Bilingual[] =>
  findings.filter(({ finding }) => finding.verdict !== 'held').map((each) => findingText(each));

/** @param name of the rung or the load, where there are several */
export function findingText({ voucherId, finding }: AuditedFinding, name?: string): Bilingual {
  const { check, verdict } = finding;
  const { en, zh } = evidenceTexts(...evidenceOf(finding));
  return {
    en: `${name ? `${name}: ` : ''}voucher ${voucherId}, ${check} ${verdict}: ${en}`,
    zh: `${name ? `${name}：` : ''}券 ${voucherId}，${check} ${texts.zh.verdicts[verdict]}：${zh}`,
  };
}

export const voucherName = ({ voucherId }: Pick<Facts, 'voucherId'>): Bilingual => ({
  en: `voucher ${voucherId}`,
  zh: `券 ${voucherId}`,
});

/** `3 orders were lost`, for each that there is. */
export const countTexts = (
  counts: readonly (readonly [count: number, text: Bilingual])[],
): Bilingual[] =>
  textsWhere(
    counts.map(([count, { en, zh }]) => [
      count > 0,
      { en: `${count} ${en}`, zh: `${zh}：${count}` },
    ]),
  );

export const nobodyBought = evidenceTexts(['nobody-bought']);

export const thereWasNo = (fault: string): Bilingual => ({
  en: `there was no ${fault}`,
  zh: `没有注入 ${fault}`,
});

/** The sentences that are true. */
export const textsWhere = (
  cases: readonly (readonly [isSo: boolean, text: Bilingual])[],
): Bilingual[] => cases.flatMap(([isSo, text]) => (isSo ? [text] : []));

/** How often a promise was broken. */
export const countViolations = (findings: readonly AuditedFinding[]): number =>
  sum(findings.map(({ finding: { verdict, count } }) => (verdict === 'violated' ? count : 0)));

export interface Reasons {
  /** Each makes the verdict `violated`. */
  readonly broken: readonly Bilingual[];
  /** What the audits found. */
  readonly audited: readonly Bilingual[];
  /** Each makes the verdict `unknown`, unless it is `violated`. */
  readonly missing: readonly Bilingual[];
}

/** All of a drill but its figures. @param findings those that count */
export const judgeAudits = (
  audits: readonly SaleAudit[],
  { broken, missing }: Pick<Reasons, 'broken' | 'missing'>,
  findings: readonly AuditedFinding[] = audits.flatMap(findingsOf),
): Pick<Judged, 'verdict' | 'reasons' | 'lost' | 'facts'> => ({
  ...drillVerdict(
    findings.map(({ finding }) => finding.verdict),
    { broken, audited: notHeldTexts(findings), missing },
  ),
  ...keptOf(audits),
});

/** For the table of its faults, and for its report. */
export const keptOf = (audits: readonly SaleAudit[]): Pick<Judged, 'lost' | 'facts'> => ({
  lost: lostOrders(audits.map(({ facts }) => facts)),
  facts: factsNotHeld(audits),
});

/** The worst of the audits' verdicts, of `broken` and of `missing`. */
export function drillVerdict(
  verdicts: readonly Verdict[],
  { broken, audited, missing }: Reasons,
): Pick<Judged, 'verdict' | 'reasons'> {
  const all = [...verdicts];
  if (broken.length > 0) all.push('violated');
  if (missing.length > 0) all.push('unknown');
  return { verdict: worstOf(all), reasons: [...broken, ...audited, ...missing] };
}
