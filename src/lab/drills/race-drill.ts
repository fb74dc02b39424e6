/**
 * A drill of races: each is played on its rung while other users buy the same voucher, and goes as
 * the ladder claims. A claimed violation must show.
 */

import { audit } from '../../service/audit/audit.ts';
import { evidenceOf } from '../../service/audit/check.ts';
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import { mysqlRefusals } from '../../service/audit/sections.ts';
import type { Verdict } from '../../service/domain.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { evidenceTexts } from '../../texts/evidence.ts';
import { type Language, texts } from '../../texts/texts.ts';
import type { Lab } from '../environment/lab.ts';
import { instanceNames, type ServiceShape } from '../environment/servers/service.ts';
import { placeWords } from '../play/place-words.ts';
import { playRace, type RaceUnderLoad, raceSettings } from '../play/play-race.ts';
import { raceOnRung, replayWhileTooSlow, verdictOn } from '../play/race-on.ts';
import {
  firstLoadUser,
  lanesOnly,
  type PlayedRace,
  raceFindings,
  unclaimed,
} from '../play/race-verdict.ts';
import { type RaceName, type Schedule, schedules } from '../play/schedules.ts';
import { sum } from '../stage/counts.ts';
import { isMissed } from '../stage/place.ts';
import { type Bilingual, evidenceIn, type Judged, joinedTexts, ofName } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { onePurchaseEach, type Try } from '../workload/steady-purchases.ts';
import type { Drill } from './drill.ts';
import {
  allOfName,
  drillVerdict,
  type Found,
  type OutageTimes,
  unless,
  when,
} from './expectations.ts';
import { phasesAround, phaseTable } from './phases.ts';
import { hasSaleSince, isSale, now, sentBetween } from './try-times.ts';

export interface DrilledRace {
  readonly race: RaceName;
  readonly rung: RungName;
  /** In the table of phases, where the name of the race does not fit. */
  readonly phase?: string;
  /** MySQL must refuse the write of the owner that comes too late. */
  readonly refusesWrite?: true;
}

/** Of every race drill, so that one after the other finds its lab ready. */
export const raceDrillShape: ServiceShape = {
  instances: 4,
  balancer: 'nginx',
  network: 'proxied',
  settings: raceSettings,
};
/** A third of the drill's time is calm: before and after each race. */
const calmShare = 1 / 3;
const calmMsMin = 500;

type Plays = readonly [DrilledRace, ...DrilledRace[]];

export interface RaceDrill extends Drill {
  readonly plays: Plays;
}

export const raceDrill = (about: Bilingual, takesMinutes: number, plays: Plays): RaceDrill => ({
  about,
  takesMinutes,
  plays,
  async play(stage, { seed, minutes }) {
    await stage.serve(raceDrillShape);
    const share = (minutes * 60_000 * calmShare) / (2 * plays.length);
    const calmMs = Math.max(calmMsMin, share);
    const played: NamedPlay[] = [];
    for (const play of inOrder(plays, seed)) {
      const last = await replayWhileTooSlow(
        () => playUnderLoad(stage, play, calmMs, seed),
        undecidedBecause,
        (text) => stage.note(text),
        stage.signal,
      );
      played.push(last);
    }
    return judge(played);
  },
});

export function undecidedBecause(under: PlayUnderLoad): Bilingual | undefined {
  const { verdict, reasons } = playsVerdict([under]);
  return verdict === 'unknown' ? joinedTexts(reasons) : undefined;
}

type NamedPlay = PlayUnderLoad & Required<Pick<DrilledRace, 'phase'>>;

/** The seed decides which one is first. */
function inOrder(plays: readonly DrilledRace[], seed: number): DrilledRace[] {
  const first = (seed + plays.length - 1) % plays.length;
  return [...plays.slice(first), ...plays.slice(0, first)];
}

/**
 * Each lane has its own instance. Behind nginx, whose turn it is depends on the load: the second
 * lane could come to the instance that is paused, or cut off.
 */
function addressOf(lab: Lab, lane: number): string {
  return `http://127.0.0.1:${lab.portOf(instanceNames(lab.shape)[lane] ?? '')}`;
}

async function playUnderLoad(
  stage: Stage,
  play: DrilledRace,
  calmMs: number,
  seed: number,
): Promise<NamedPlay> {
  const { race, rung, phase = race, refusesWrite = false } = play;
  const faultsBefore = stage.injected.length;
  let load: OutageTimes | undefined;
  const surroundings: RaceUnderLoad = {
    moreStock: loadUsers,
    addressOf,
    async around(voucherId, steps) {
      load = await loadAround(stage, rung, voucherId, calmMs, steps);
    },
  };
  await stage.warmUp(rung, seed);
  const played = await playRace(stage, race, rung, surroundings);
  if (!load) throw new RangeError('a race in a drill is played inside its load');
  stage.note(playedText(played));
  const faults = stage.injected.length - faultsBefore;
  return { played, load, faults, phase, refusesWrite };
}

/** In one sentence; with its steps and the evidence where the ladder claims otherwise. */
function playedText(played: PlayedRace): Bilingual {
  const { race, rung, verdict, asClaimed, evidence, steps } = played;
  const { en, zh } = verdictOn(race, rung, verdict);
  if (asClaimed) return { en: `${en}, as claimed`, zh: `${zh}，与预期一致` };
  const reached = (language: Language) =>
    steps.map(({ lane, place }) => `${lane} ${placeWords(place, language)}`);
  return {
    en: `${en}, NOT as claimed: ${evidence} (${reached('en').join(', ')})`,
    zh: `${zh}，与预期不一致：${evidenceIn('zh', played)}（${reached('zh').join('，')}）`,
  };
}

function judge(plays: readonly NamedPlay[]): Judged {
  const phases = plays.flatMap(({ played, phase, load }) =>
    phasesAround(played.rung, { ...load, row: { name: phase } }),
  );
  const notAsClaimed = plays.filter(({ played }) => !played.asClaimed);
  return {
    ...playsVerdict(plays),
    figures: playFigures(plays),
    tables: [phaseTable(phases)],
    facts: notAsClaimed.map(({ played }) => played.facts),
  };
}

const perSecond = 30;
const secondsMax = 60;
/**
 * A paused owner keeps the row lock of the voucher in MySQL, and every purchase waits for it. Few
 * clients leave connections to MySQL for the race.
 */
const clients = 8;
const loadUsers = perSecond * secondsMax;
const waitForSaleMs = 10_000;

/**
 * Other users buy the same voucher through nginx at a steady rate, each with one request, before
 * the race, while it is played, and after it.
 * @param calmMs how long the load goes on before and after the race.
 */
async function loadAround(
  stage: Stage,
  rung: string,
  voucherId: string,
  calmMs: number,
  play: () => Promise<void>,
): Promise<OutageTimes> {
  const purchases = onePurchaseEach(voucherId, 'load', loadUsers, firstLoadUser);
  const load = { name: rung, purchases, perSecond, clients, repeats: false } as const;
  return stage.during(load, async (tries) => {
    const calmFrom = await untilSold(stage, tries, now());
    await stage.rest(calmMs);
    const brokenAt = now();
    await play();
    const mendedAt = now();
    await untilSold(stage, tries, mendedAt);
    await stage.rest(calmMs);
    const times = { calmFrom, brokenAt, downFrom: brokenAt, downUntil: mendedAt, mendedAt };
    return { ...times, until: now(), tries };
  });
}

/** Without a sale, the verdict says so. @returns when the wait was over. */
async function untilSold(stage: Stage, tries: readonly Try[], since: bigint): Promise<bigint> {
  const sold = stage.until('a sale', waitForSaleMs, () => hasSaleSince(tries, since));
  await sold.catch(() => stage.signal.throwIfAborted());
  return now();
}

const salesAfter = ({ tries, mendedAt, until }: OutageTimes): Try[] =>
  sentBetween(tries, mendedAt, until).filter(isSale);

export interface PlayUnderLoad {
  readonly played: PlayedRace;
  readonly load: OutageTimes;
  /** How many faults were injected. */
  readonly faults: number;
  /** MySQL must have refused the write of the owner that came too late. */
  readonly refusesWrite: boolean;
}

const nameOf = ({ played: { race, rung } }: PlayUnderLoad): Bilingual => raceOnRung(race, rung);
const scheduleOf = ({ played }: PlayUnderLoad): Schedule => schedules[played.race];
const findingsOf = (play: PlayUnderLoad) => raceFindings(play.played.facts);

export function playsVerdict(
  plays: readonly PlayUnderLoad[],
): Pick<Judged, 'verdict' | 'reasons' | 'asClaimed'> {
  const sentences = (of: (play: PlayUnderLoad) => readonly Found[]) =>
    plays.flatMap((play) => allOfName(nameOf(play), of(play)));
  return {
    ...drillVerdict([], { broken: sentences(broken), missing: sentences(missing) }),
    asClaimed: plays.map((play) => play.played).flatMap(shownViolation),
  };
}

/** Each turns the drill red. */
function broken(play: PlayUnderLoad): Found[] {
  const { played, load, refusesWrite } = play;
  const { verdict, asClaimed, isSlow } = played;
  if (isSlow) return [];
  const other = unclaimed(rungNamed(played.rung), scheduleOf(play), findingsOf(play));
  const isRefused = !refusesWrite || refusals(played.facts) > 0;
  const isOtherwise = verdict !== 'unknown' && !asClaimed;
  return [
    isOtherwise ? notAsClaimed(played) : other ? evidenceTexts(other) : null,
    unless(isRefused, { en: 'MySQL refused no write', zh: 'MySQL 没有拒绝写入' }),
    unless(salesAfter(load).length > 0, { en: 'no sale after it', zh: '之后没有成交' }),
  ];
}

function notAsClaimed({ verdict, claim, evidence, evidenceZh }: PlayedRace): Bilingual {
  const { verdicts } = texts.zh;
  return {
    en: `${verdict}, and the ladder claims ${claim}${evidence && `; ${evidence}`}`,
    zh: `${verdicts[verdict]}，预期是${verdicts[claim]}${evidenceZh && `；${evidenceZh}`}`,
  };
}

function refusals(facts: Facts): number {
  const { staleFence, duplicate } = mysqlRefusals(facts);
  return staleFence + duplicate;
}

const unplayed = ['not-there', 'no-lock-there', 'recorded-anyway', 'slow'] as const;

/** Each makes it undecided: without a fault, or without a load, a drill proves nothing. */
function missing(play: PlayUnderLoad): Found[] {
  const { played, load, faults } = play;
  const { tries, calmFrom, brokenAt, mendedAt } = load;
  const doubts = findingsOf(play).filter(
    ({ check, verdict }) => verdict === 'unknown' && check !== played.shows,
  );
  const isMissing = played.steps.some(({ place }) => isMissed(place, ...unplayed));
  return [
    played.verdict === 'unknown'
      ? { en: `unknown: ${played.evidence}`, zh: `未知：${evidenceIn('zh', played)}` }
      : when(isMissing, { en: 'a step was not played', zh: '有一步没有走到' }),
    ...doubts.map((finding) =>
      ofName(
        { en: `${finding.check} unknown`, zh: `${finding.check} 未知` },
        evidenceTexts(...evidenceOf(finding)),
      ),
    ),
    unless(faults > 0, { en: 'no fault was injected', zh: '没有注入故障' }),
    unless(sentBetween(tries, calmFrom, brokenAt).some(isSale), {
      en: 'nobody of the load bought before it',
      zh: '故障之前，压测里没有人买到',
    }),
    unless(sentBetween(tries, brokenAt, mendedAt).length > 0, {
      en: 'nobody of the load tried meanwhile',
      zh: '故障期间，压测里没有人下单',
    }),
  ];
}

/** A violation that the ladder claims and that showed. */
export function shownViolation(played: PlayedRace): Bilingual[] {
  const { race, rung, verdict, asClaimed, evidence } = played;
  if (verdict !== 'violated' || !asClaimed) return [];
  return [ofName(raceOnRung(race, rung), { en: evidence, zh: evidenceIn('zh', played) })];
}

export function playFigures(plays: readonly PlayUnderLoad[]): Record<string, number> {
  const count = (of: (play: PlayUnderLoad) => number) => sum(plays.map(of));
  const asClaimed = (verdict: Verdict) =>
    count(({ played }) => Number(played.asClaimed && played.verdict === verdict));
  const orders = plays.map((play) => [`orders of one user, ${nameOf(play).en}`, laneOrders(play)]);
  return {
    attempts: count(({ played }) => played.facts.attempts?.length ?? 0),
    violatedAsClaimed: asClaimed('violated'),
    heldAsClaimed: asClaimed('held'),
    writesRefusedByMysql: count(({ played }) => refusals(played.facts)),
    ownersToldOfLostLease: count(ownersTold),
    busyUntilLeaseEnds: count(busy),
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
