/** What a learner of a room is not offered: it would hit the plays of others. */
import { isOfOwnPlay } from '../../lab/choices/letters.ts';
import { isLearner } from './api.ts';
import type { FamousRace, LadderRow } from './ladder-rows.ts';

/** There is one order worker for all. */
export const isForLearners = ({ sale }: LadderRow): boolean => sale !== 'last-one-queued';

export const mayPlay = (row: LadderRow): boolean => !isLearner.value || isForLearners(row);

export const mayChoose = (choices: string): boolean => !isLearner.value || isOfOwnPlay(choices);

export const mayBegin = ({ byHand }: FamousRace): boolean =>
  !isLearner.value || (byHand !== undefined && isOfOwnPlay(byHand.choices));
