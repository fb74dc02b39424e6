/** The sentences of the page in one language: complete by type. */

import type { Arrivals } from '../../lab/by-hand/break-choice.ts';
import type { LaneName, OutcomeSeen } from '../../lab/choices/outcomes.ts';
import type { SaleKind } from '../../lab/choices/set-up.ts';
import type { FaultWords } from '../../lab/report/fault-words.ts';
import type { PartState, Reading } from '../../lab/stage/events.ts';
import type { OfferedVerb } from './hand-verbs.ts';
import type { Wait } from './lane-rows.ts';
import type { Bar } from './run-series.ts';

export interface OutcomeTexts extends Readonly<Record<OutcomeSeen, string>> {
  readonly of: (lane: LaneName) => string;
}

/** A sentence for each thing that happens in a run. */
export interface ToldTexts {
  readonly service: (instances: number, network: string) => string;
  readonly onSale: (rung: string, stock: number) => string;
  readonly loadStarted: (name: string) => string;
  readonly loadEnded: (name: string) => string;
  readonly fault: (name: string) => string;
  readonly healed: (name: string, words: FaultWords) => string;
}

export interface PageText {
  readonly words: Readonly<
    Record<
      | 'ladder'
      | 'race'
      | 'language'
      | 'open'
      | 'lost'
      | 'noKey'
      | 'entering'
      | 'recorded'
      | 'chapter'
      | 'rung'
      | 'claim'
      | 'lastSeen'
      | 'cost'
      | 'notPlayed'
      | 'play'
      | 'theCode'
      | 'trueNow'
      | 'feed'
      | 'choices'
      | 'back'
      | 'nextRung'
      | 'copyLink'
      | 'copied'
      | 'export'
      | 'predictFirst'
      | 'predicted'
      | 'seen'
      | 'audit'
      | 'held'
      | 'heldSoFar'
      | 'violated'
      | 'orBreak'
      | 'lanes'
      | 'state'
      | 'firstDifference'
      | 'sameChoices'
      | 'backToPlay'
      | 'tree'
      | 'free'
      | 'none'
      | 'preparing'
      | 'giveBack'
      | 'counting'
      | 'again'
      | 'proof'
      | 'because'
      | 'close'
      | 'terminal'
      | 'everyCheckpoint'
      | 'stopsOnly'
      | 'right'
      | 'notRight'
      | 'moreBuyers'
      | 'nothing'
      | 'cursor'
      | 'noAnswer'
      | 'breaksWhen'
      | 'famous'
      | 'cannotTell'
      | 'stuck'
      | 'givingBack'
      | 'youDecide'
      | 'worker'
      | 'processOfWorker'
      | 'commands'
      | 'commandsAre'
      | 'noOrder'
      | 'stopped'
      | 'settled'
      | 'started'
      | 'over'
      | 'failed'
      | 'playsItself'
      | 'doesNoHarm'
      | 'doesHarm'
      | 'heldPromise'
      | 'itPlays'
      | 'stopIt'
      | 'asClaimed'
      | 'notAsClaimed'
      | 'alsoBroken'
      | 'inMysql'
      | 'runFailed'
      | 'playAgain'
      | 'playByHand'
      | 'drills'
      | 'drillsAre'
      | 'drillPlaysItself'
      | 'accepted'
      | 'refused'
      | 'unknownAnswer'
      | 'load'
      | 'answersPerSecond'
      | 'second'
      | 'p99'
      | 'figures'
      | 'faults'
      | 'repeatIt'
      | 'machine'
      | 'dead'
      | 'scoreboard'
      | 'scoreboardIs'
      | 'isSaleRight'
      | 'doesItSell'
      | 'marks'
      | 'outagesAre'
      | 'time'
      | 'nextMoment'
      | 'momentBefore'
      | 'runTime'
      | 'halt'
      | 'speed'
      | 'live'
      | 'theEnd'
      | 'breakIt'
      | 'breakItIs'
      | 'beginLoad'
      | 'beside'
      | 'noRungBeside'
      | 'notBeside'
      | 'k6TooFast'
      | 'arrivals'
      | 'byInstance'
      | 'salesPerSecond'
      | 'rate'
      | 'itSells'
      | 'workshop'
      | 'sellsNothing'
      | 'auditing'
      | 'chooseAgain'
      | 'withoutFaults'
      | 'servers'
      | 'recordedOrders'
      | 'queued'
      | 'inHand'
      | 'nowhere'
      | 'uncounted'
      | 'withSession'
      | 'locksNow'
      | 'owned'
      | 'waiting'
      | 'unknown'
      | 'twice'
      | 'healAll'
      | 'endLoad'
      | 'report',
      string
    >
  >;
  readonly outcomes: Readonly<Record<SaleKind, OutcomeTexts>>;
  readonly outcomeShort: OutcomeTexts;
  readonly ordersSeen: (count: number) => string;
  readonly readings: Readonly<Record<Reading['id'], (of: string) => string>>;
  /** What a lane will do, by the place at which it stands. */
  readonly next: (place: string, hasLock: boolean, sale: SaleKind) => string;
  readonly question: (lanes: number, sale: SaleKind) => string;
  readonly aim: (sale: SaleKind) => string;
  readonly waits: (on: Wait, of: string | undefined) => string;
  readonly cannotGo: (state: string, of: string | undefined) => string;
  readonly fault: (does: string, to: string) => string;
  readonly pause: (instance: string) => string;
  readonly resume: (instance: string) => string;
  readonly endLease: (lane: string) => string;
  readonly loseAnswer: (lane: string) => string;
  readonly stop: (server: string) => string;
  readonly start: (server: string) => string;
  readonly heldBy: (lane: string) => string;
  readonly kill: (instance: string) => string;
  readonly seconds: (seconds: string) => string;
  readonly ofOrders: (broken: number, orders: number) => string;
  readonly letOff: (broken: number, orders: number) => string;
  readonly playedAgain: (violated: number, times: number) => string;
  readonly willPlay: (choices: string) => string;
  /** Nobody has the lock: so many masters answer. */
  readonly answer: (have: number, needed: number, all: number) => string;
  readonly quorum: (have: number, needed: number, all: number) => string;
  /** Its name, and what it will do. */
  readonly handVerbs: Readonly<Record<OfferedVerb, readonly [name: string, does: string]>>;
  /** Of a sale: how many of each reason. */
  readonly refusedBecause: (counts: Readonly<Record<string, number>>) => string;
  readonly otherRun: (experiment: string) => string;
  readonly asItWas: (seconds: string) => string;
  readonly insideFor: (time: string) => string;
  readonly leaseEndsInside: (lease: string, time: string) => string;
  readonly renewed: (times: number) => string;
  /** The lock servers that do not answer. */
  readonly notRead: (servers: readonly string[]) => string;
  readonly partStates: Readonly<Record<PartState['state'] | 'killed' | 'ended', string>>;
  readonly breakOn: (rungs: readonly string[]) => string;
  readonly arrivals: Readonly<Record<Arrivals, string>>;
  /** `2-stopped` */
  readonly outage: (name: string) => string;
  readonly more: (count: number) => string;
  readonly barText: (state: Bar['state'], text: string) => string;
  readonly faultCount: (faults: number) => string;
  readonly told: ToldTexts;
  readonly onRung: (rung: string) => string;
  readonly onNextRung: (rung: string) => string;
  readonly checkNames: (names: readonly string[]) => string;
  readonly userOn: (userId: string, instance: string) => string;
  /** A lane without a user: that of the order worker, or `S`. */
  readonly laneOf: (lane: string) => string;
  readonly order: (id: string) => string;
  readonly perSecond: (sales: number) => string;
  readonly problem: Readonly<Record<string, string>>;
}
