/** Which promises a play has broken so far. */
import { audit } from '../../service/audit/audit.ts';
import type { Facts } from '../../service/audit/facts.ts';
import { evidenceOf } from '../../service/audit/finding.ts';
import type { CheckName } from '../../service/domain.ts';
import { recordedEvidence } from '../../texts/evidence.ts';
import type { JudgedPromises } from '../stage/events.ts';
import { isAboutData } from './race-verdict.ts';

/** What no later step of a play makes right again. */
const lasting: readonly CheckName[] = ['one-order-per-user', 'no-oversell'];

/** @param isFinal no purchase is under way any more: no check about data is left out */
export function judgedPromises(facts: Facts, isFinal: boolean): JudgedPromises {
  const isAsked = (check: CheckName) => (isFinal ? isAboutData(check) : lasting.includes(check));
  const findings = audit(facts).findings.filter(({ check }) => isAsked(check));
  const broken = findings.filter(({ verdict }) => verdict === 'violated');
  const unknown = findings.filter(({ verdict }) => verdict === 'unknown');
  return {
    isFinal,
    broken: broken.map((finding) => ({
      check: finding.check,
      orders: finding.orders ?? [],
      ...recordedEvidence(evidenceOf(finding)),
    })),
    unknown: isFinal ? unknown.map(({ check }) => check) : [],
  };
}
