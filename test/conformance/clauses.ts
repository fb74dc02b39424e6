/** The clauses, in the order of their columns. A new one is in clauses/, and a row here. */
import type { Clause } from './clause.ts';
import { mutualExclusion, starvation } from './clauses/crowd.ts';
import { expiryTold } from './clauses/expiry-told.ts';
import { lateGrant } from './clauses/late-grant.ts';
import { lostAnswer } from './clauses/lost-answer.ts';
import { splitVote } from './clauses/split-vote.ts';
import { staleRelease } from './clauses/stale-release.ts';
import { deadMaster, hungMaster } from './clauses/without-a-master.ts';

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
