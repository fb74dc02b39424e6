/** The clauses, in the order of their columns. A new one is in clauses/, and a row here. */
import type { Clause } from './clause.ts';
import { mutualExclusion, starvation } from './clauses/crowd.ts';
import { expiryTold, lateGrant, lostAnswer, staleRelease } from './clauses/leases.ts';
import { deadMaster, hungMaster, splitVote } from './clauses/masters.ts';

export const conformanceClauses: readonly Clause[] = [
  mutualExclusion,
  splitVote,
  lateGrant,
  staleRelease,
  deadMaster,
  hungMaster,
  lostAnswer,
  starvation,
  expiryTold,
];
