/** What verdicts of the lab rest on, in English: the audit says it, or only the lab knows it. */
import {
  auditSentences,
  type Evidence,
  inEnglish,
  type RowOf,
} from '../service/audit/sentences.ts';
import type { CheckName } from '../service/domain.ts';

const tooSlow = 'the machine is too slow';

export const evidenceEn = {
  ...auditSentences,
  // A race: it was not played as it should be, or it showed what the ladder does not claim.
  'broken-without-claim': (check: CheckName, found: Evidence) =>
    `${check}, which the ladder does not claim: ${inEnglish(found)}`,
  'claimed-and-not-broken': (check: CheckName) => `the ladder claims ${check}, which did not break`,
  'lease-lost-without-fault': (lane: string) =>
    `${tooSlow}: ${lane} lost its lease, and no fault hit it`,
  'lease-lost-before-fault': (lane: string) =>
    `${tooSlow}: ${lane} lost its lease before the fault`,
  'first-waited': (lane: string) => `${tooSlow}: ${lane} waited although nobody was before it`,
  'server-outlasted-lease': () => `${tooSlow}: a server was away longer than a lease`,
  'did-not-stop': (lane: string, until: string, at: string) =>
    `${lane} did not stop at ${until}: ${at}`,
  'stood-there-before': (lane: string, until: string, at: string) =>
    `${lane} stood at ${until} at an earlier step, and cannot stop there twice: ${at}`,
  'cannot-be-interleaved': (lane: string, until: string, at: string) =>
    `the two cannot be interleaved here: ${lane} was answered (${at}), and no purchase of this rung comes to ${until}`,
  'did-not-stay': (lane: string, checkpoint: string) => `${lane} did not stay at ${checkpoint}`,
  'fault-without-request': () => 'a fault found no request of its lane',
  'fault-without-effect': () => 'a fault had no effect',
  'lock-not-forgotten': () => 'a server could not forget the lock',
  'order-recorded-anyway': () => 'a fault did not keep the order from the database',
  'order-queued': () => 'an order is still queued',
  'lane-lost': () => 'a lane neither arrived nor visibly waited for a lock',
  'odd-answer': (userId: string, reason: string | undefined) =>
    `user ${userId} was answered ${reason}`,
  'answer-missing': (reasons: readonly string[]) => `nobody was answered ${reasons.join(' or ')}`,
  'nobody-bought': () => 'nobody bought',
  // A trial of the final rung.
  'orders-never-settled': (orders: string | undefined) => `still queued: order ${orders}`,
};

/** A key, and the values of its sentence. */
export type LabEvidence = RowOf<typeof evidenceEn>;
