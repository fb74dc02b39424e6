/** What every drill does with its facts: audit them, and say what was found. Pure. */
import { type Audit, audit } from '../../service/audit/audit.ts';
import { evidenceOf, type Finding } from '../../service/audit/check.ts';
import { type Attempt, confirmed, type Facts } from '../../service/audit/facts.ts';
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

export function findingText({ voucherId, finding }: AuditedFinding): Bilingual {
  const { check, verdict } = finding;
  const { en, zh } = evidenceTexts(...evidenceOf(finding));
  return {
    en: `voucher ${voucherId}, ${check} ${verdict}: ${en}`,
    zh: `券 ${voucherId}，${check} ${texts.zh.verdicts[verdict]}：${zh}`,
  };
}

export const voucherName = ({ voucherId }: Pick<Facts, 'voucherId'>): Bilingual => ({
  en: `voucher ${voucherId}`,
  zh: `券 ${voucherId}`,
});

/** How often a promise was broken. */
export const countViolations = (findings: readonly AuditedFinding[]): number =>
  sum(findings.map(({ finding: { verdict, count } }) => (verdict === 'violated' ? count : 0)));

/** For the table of its faults, and for its report. */
export const keptOf = (audits: readonly SaleAudit[]): Pick<Judged, 'lost' | 'facts'> => ({
  lost: lostOrders(audits.map(({ facts }) => facts)),
  facts: factsNotHeld(audits),
});
