/** The clauses, in the order of their columns. A new one is a file in clauses/ and a row here. */
import type { Clause } from './clause.ts';
import { deadMaster } from './clauses/dead-master.ts';
import { expiryTold } from './clauses/expiry-told.ts';
import { hungMaster } from './clauses/hung-master.ts';
import { lateGrant } from './clauses/late-grant.ts';
import { lostAnswer } from './clauses/lost-answer.ts';
import { mutualExclusion } from './clauses/mutual-exclusion.ts';
import { splitVote } from './clauses/split-vote.ts';
import { staleRelease } from './clauses/stale-release.ts';
import { starvation } from './clauses/starvation.ts';

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
