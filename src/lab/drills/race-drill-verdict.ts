/** Whether races under load went as the ladder claims, and what they cost. Pure. */
import { audit } from '../../service/audit/audit.ts';
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import { evidenceOf } from '../../service/audit/finding.ts';
import { mysqlRefusals } from '../../service/audit/mysql-refusals.ts';
import type { Verdict } from '../../service/domain.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import { evidenceText } from '../../texts/evidence.ts';
import { lanesOnly, type PlayedRace, raceFindings, unclaimed } from '../play/race-verdict.ts';
import { type Schedule, schedules } from '../play/schedules.ts';
import { isMissed } from '../stage/place.ts';
import type { Judged } from '../stage/result.ts';
import { drillVerdict } from './audited.ts';
import { type RaceLoad, salesAfter } from './race-load.ts';
import { isSale, sentBetween } from './try-times.ts';

export interface PlayUnderLoad {
  readonly played: PlayedRace;
  readonly load: RaceLoad;
  /** How many faults were injected. */
  readonly faults: number;
  /** MySQL must have refused the write of the owner that came too late. */
  readonly refusesWrite: boolean;
}

const nameOf = ({ played: { race, rung } }: PlayUnderLoad): string => `${race} on ${rung}`;
const scheduleOf = ({ played }: PlayUnderLoad): Schedule => schedules[played.race];
const findingsOf = (play: PlayUnderLoad) => raceFindings(play.played.facts);

export function playsVerdict(
  plays: readonly PlayUnderLoad[],
): Pick<Judged, 'verdict' | 'reasons' | 'asClaimed'> {
  const sentences = (of: (play: PlayUnderLoad) => readonly string[]): string[] =>
    plays.flatMap((play) => of(play).map((text) => `${nameOf(play)}: ${text}`));
  const reasons = { broken: sentences(broken), audited: [], missing: sentences(missing) };
  return { ...drillVerdict([], reasons), asClaimed: sentences(shown) };
}

/** Each turns the drill red. */
function broken(play: PlayUnderLoad): string[] {
  const { played, load, refusesWrite } = play;
  const { verdict, claim, asClaimed, evidence, isSlow } = played;
  if (isSlow) return [];
  const found: string[] = [];
  const other = unclaimed(rungNamed(played.rung), scheduleOf(play), findingsOf(play));
  if (verdict !== 'unknown' && !asClaimed)
    found.push(`${verdict}, and the ladder claims ${claim}${evidence && `; ${evidence}`}`);
  else if (other !== null) found.push(evidenceText('en', other));
  if (refusesWrite && refusals(played.facts) === 0) found.push('MySQL refused no write');
  if (salesAfter(load).length === 0) found.push('no sale after it');
  return found;
}

function refusals(facts: Facts): number {
  const { staleFence, duplicate } = mysqlRefusals(facts);
  return staleFence + duplicate;
}

const unplayed = ['not-there', 'no-lock-there', 'recorded-anyway', 'slow'] as const;

/** Each makes it undecided: without a fault, or without a load, a drill proves nothing. */
function missing(play: PlayUnderLoad): string[] {
  const { played, load, faults } = play;
  const { tries, calmFrom, playFrom, playTo } = load;
  const found: string[] = [];
  if (played.verdict === 'unknown') found.push(`unknown: ${played.evidence}`);
  else if (played.steps.some(({ place }) => isMissed(place, ...unplayed)))
    found.push('a step was not played');
  for (const finding of findingsOf(play)) {
    const { check, verdict } = finding;
    if (verdict === 'unknown' && check !== played.shows)
      found.push(`${check} unknown: ${evidenceText('en', ...evidenceOf(finding))}`);
  }
  if (faults === 0) found.push('no fault was injected');
  if (!sentBetween(tries, calmFrom, playFrom).some(isSale))
    found.push('nobody of the load bought before it');
  if (sentBetween(tries, playFrom, playTo).length === 0)
    found.push('nobody of the load tried meanwhile');
  return found;
}

/** The violations that the ladder claims and that showed. */
function shown({ played }: PlayUnderLoad): string[] {
  return played.verdict === 'violated' && played.asClaimed ? [played.evidence] : [];
}

export function playFigures(plays: readonly PlayUnderLoad[]): Record<string, number> {
  const sum = (count: (play: PlayUnderLoad) => number) =>
    plays.reduce((all, play) => all + count(play), 0);
  const asClaimed = (verdict: Verdict) =>
    sum(({ played }) => Number(played.asClaimed && played.verdict === verdict));
  const orders = plays.map((play) => [`orders of one user, ${nameOf(play)}`, laneOrders(play)]);
  return {
    attempts: sum(({ played }) => played.facts.attempts?.length ?? 0),
    violatedAsClaimed: asClaimed('violated'),
    heldAsClaimed: asClaimed('held'),
    writesRefusedByMysql: sum(({ played }) => refusals(played.facts)),
    ownersToldOfLostLease: sum(ownersTold),
    busyUntilLeaseEnds: sum(busy),
    ...Object.fromEntries(orders),
  };
}

const laneOrders = ({ played }: PlayUnderLoad): number => confirmed(lanesOnly(played.facts)).length;

function ownersTold({ played }: PlayUnderLoad): number {
  const { attempts = [] } = lanesOnly(played.facts);
  return attempts.filter(({ reason }) => reason === 'lease-lost').length;
}

/** Of the load: a fault lost the release of a lock, or came between its grant and its owner. */
function busy({ played }: PlayUnderLoad): number {
  const found = audit(played.facts).findings.find(({ check }) => check === 'progress');
  return found?.verdict === 'violated' ? found.count : 0;
}
