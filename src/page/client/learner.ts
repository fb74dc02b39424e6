/** What a learner of a room is not offered: it would hit the plays of others. */
import { disturbsOnlyItsOwnPlay } from '../../lab/play/letters.ts';
import { isLearner } from './api.ts';
import type { FamousRace, LadderRow } from './ladder-rows.ts';

/** There is one order worker for all. */
export const isForLearners = ({ sale }: LadderRow): boolean => sale !== 'last-one-queued';

export const mayPlay = (row: LadderRow): boolean => !isLearner.value || isForLearners(row);

export const mayChoose = (choices: string): boolean =>
  !isLearner.value || disturbsOnlyItsOwnPlay(choices);

export const mayBegin = ({ byHand }: FamousRace): boolean =>
  !isLearner.value || (byHand !== undefined && disturbsOnlyItsOwnPlay(byHand.choices));
