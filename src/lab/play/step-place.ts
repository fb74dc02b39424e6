/** Where a lane is after a step, as a place for which the ladder has words. */

import { checkpointNames } from '../../service/trace/checkpoints.ts';
import type { StepPlace } from '../../texts/text.ts';
import { texts } from '../../texts/texts.ts';
import type { RaceEvent } from '../stage/events.ts';
import {
  hasBought,
  killed,
  leaseOver,
  locked,
  noEffect,
  nothingToHit,
  notLocked,
  outlastsLease,
  type PlayedStep,
  paused,
  recordedAnyway,
  resumed,
  slow,
  timePasses,
  unreached,
  waits,
} from './race-verdict.ts';
import type { WaitsFor } from './waiting-process.ts';

const places: Readonly<Record<string, StepPlace>> = {
  [killed]: 'killed',
  [paused]: 'paused',
  [resumed]: 'resumed',
  [leaseOver]: 'lease-over',
  [locked]: 'still-locked',
  [timePasses]: 'time-passes',
  [nothingToHit]: 'nothing-to-hit',
  [noEffect]: 'no-effect',
  [unreached]: 'not-there',
  [slow]: 'slow',
  [notLocked]: 'no-lock-there',
  [recordedAnyway]: 'recorded-anyway',
  [outlastsLease]: 'outlasts-the-lease',
};

/** @returns undefined for a fault in the servers, and for its end: the schedule has the words */
export function stepPlaceOf(
  { at }: Pick<PlayedStep, 'at'>,
  waitsFor: WaitsFor,
): StepPlace | undefined {
  if (at === 'injected' || at === 'healed') return undefined;
  if (hasBought({ at })) return 'sold';
  if (at === waits) return waitsFor === 'lock' ? 'waits-for-lock' : 'waits-for-store';
  const known = places[at];
  if (known !== undefined) return known;
  return isPlace(at) ? at : 'no-answer';
}

const faults: readonly string[] = [
  ...[paused, resumed, leaseOver, locked, timePasses, nothingToHit, 'injected', 'healed'],
];
const misses: readonly string[] = [
  ...[noEffect, unreached, slow, notLocked, recordedAnyway, outlastsLease],
];

type StepKind = Extract<RaceEvent, { readonly kind: 'step' }>['is'];

export function stepKindOf({ at }: Pick<PlayedStep, 'at'>): StepKind {
  if (at === waits) return 'waits';
  if (at === killed) return 'dead';
  if (faults.includes(at)) return 'fault';
  if (misses.includes(at)) return 'missed';
  return checkpointNames.some((name) => name === at) ? 'at' : 'answered';
}

/** A checkpoint, or the reason of a refusal. */
const isPlace = (at: string): at is StepPlace => Object.hasOwn(texts.en.steps, at);
