/** Why a promise broke in a play: the ladder's reason for what its choices did. */

import { actOf } from '../../lab/play/letters.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import type { CheckName } from '../../service/domain.ts';
import type { Reason } from '../../service/ladder/reasons.ts';
import type { Circumstance } from '../../service/ladder/rung.ts';
import { ladderRow } from './ladder-rows.ts';
import type { PlayView } from './play-model.ts';

/** @returns nothing when the ladder has no reason for it, or several */
export function reasonOf(of: PlayView, broken: CheckName): Reason | undefined {
  const { breaks = [], faults = [] } = ladderRow(of.rung) ?? {};
  const played = circumstancesOf(of);
  const fitting = [...breaks, ...faults.filter(({ under }) => played.includes(under))];
  const reasons = fitting.filter(({ check }) => check === broken).map(({ because }) => because);
  return new Set(reasons).size === 1 ? reasons[0] : undefined;
}

function circumstancesOf({ choices, rows }: PlayView): Circumstance[] {
  const has = (does: string, isOfWorker = false) =>
    choices.some(({ choice, isTaken }) => {
      const act = actOf(choice);
      return isTaken && act.does === does && (act.to === workerLane) === isOfWorker;
    });
  const played: Circumstance[] = [];
  if (has('kill')) played.push('crash-before-publish', 'crash-between-writes', 'instance-dies');
  if (has('end-lease'))
    played.push(
      has('pause') ? 'holder-pauses' : 'lease-expires-during-sale',
      'release-after-expiry',
    );
  const isDelivered = rows.some(({ lane, kind }) => lane === workerLane && kind === 'at');
  if (has('kill', true) || has('stop', true))
    played.push(isDelivered ? 'worker-dies' : 'worker-away');
  return played;
}
