/** What a learner of a room is not offered: it would hit the plays of others. */
import { isOfOwnPlay } from '../../choices/letters.ts';
import { isLearner } from './api.ts';
import type { FamousRace, LadderRow } from './ladder-rows.ts';

/** There is one order worker for all. */
export const mayPlay = ({ sale }: LadderRow): boolean =>
  !isLearner.value || sale !== 'last-one-queued';

export const mayChoose = (choices: string): boolean => !isLearner.value || isOfOwnPlay(choices);

export const mayBegin = ({ byHand }: FamousRace): boolean =>
  !isLearner.value || (byHand !== undefined && byHand !== null && isOfOwnPlay(byHand.choices));
