/** The promises that the data of a play break. */
import { audit } from '../../audit/audit.ts';
import type { Facts } from '../../audit/facts.ts';
import type { CheckName } from '../../domain.ts';
import { isAboutData } from '../races/race-verdict.ts';
import type { BrokenPromise } from '../stage/events.ts';

/** What no later step of a play makes right again. */
const lasting: readonly CheckName[] = ['one-order-per-user', 'no-oversell'];

/** @param isFinal no purchase is under way any more: no check is left out */
export const brokenPromises = (facts: Facts, isFinal: boolean): BrokenPromise[] =>
  audit(facts)
    .findings.filter(
      ({ check, verdict }) =>
        verdict === 'violated' && (isFinal ? isAboutData(check) : lasting.includes(check)),
    )
    .map(({ check, worst, first, orders = [] }) => ({
      ...{ check, orders },
      evidence: worst ?? first ?? '',
    }));
