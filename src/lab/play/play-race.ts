/** Plays a schedule on real instances, through nginx, and audits the result. */
import { readHistory } from '../../service/audit/read-history.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { isInTime } from '../environment/wait-until.ts';
import type { PlayedStep } from '../stage/events.ts';
import type { StepEffect } from '../stage/place.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { Lanes } from './lanes.ts';
import { lockKey } from './lock-clients.ts';
import { lockProbe, noProbe, type Probe } from './lock-probe.ts';
import { PlayFaults } from './play-faults.ts';
import { playStep, type Scene } from './play-step.ts';
import { type PlayedRace, raceBegun, raceJudged, raceVerdict, stepEvent } from './race-verdict.ts';
import { rowWaitsNow } from './row-waits.ts';
import { type RaceName, type Schedule, schedules, stopsWorker } from './schedules.ts';
import { ServerFaults } from './server-faults.ts';
import { sendingOf } from './set-up.ts';

/** Short leases, so that a race that waits for their end is short too. */
export const leaseMs = 3_000;
export const raceSettings = {
  LOCK_LEASE_MS: String(leaseMs),
  LOCK_WATCHDOG_MS: String(leaseMs),
  ZOOKEEPER_SESSION_MS: String(leaseMs),
  LOCK_WAIT_MS: '2000', // Longer than ownerlessMs, shorter than a lease.
} as const;
const answeredWithinMs = 20_000;
/** How long a lane may wait for a lock without an owner before it is said to wait. */
const ownerlessMs = 300;

/** What a drill adds to a race. */
export interface RaceUnderLoad {
  /** For the users of a load. */
  readonly moreStock?: number;
  /** Where a lane sends its request; the first lane is 0. */
  readonly addressOf?: (lab: Lab, lane: number) => string;
  /** Plays the steps inside a load on this voucher. */
  readonly around?: (voucherId: string, play: () => Promise<void>) => Promise<void>;
  /** How long the queue may take in the end; as any other sale's without it. */
  readonly drainWithinMs?: number;
}

/** The service has the shape that the race needs. */
export async function playRace(
  stage: Stage,
  race: RaceName,
  rung: string,
  surroundings: RaceUnderLoad = {},
): Promise<PlayedRace> {
  const schedule: Schedule = schedules[race];
  const { lab } = stage;
  const { moreStock = 0, around = (_, play) => play(), drainWithinMs } = surroundings;
  const sale = { title: `race ${race}`, stock: schedule.stock + moreStock, rung };
  const voucherId = await stage.putOnSale(sale);
  const isProbed = rungNamed(rung).lockService || rungNamed(rung).queue;
  const probe = isProbed ? await lockProbe(stage, rung) : noProbe;
  const { lockAnswers } = probe;
  const raced = { voucherId, schedule, rung: rungNamed(rung) };
  const player = playerOf(stage, raced, surroundings);
  const isAlone = surroundings.around === undefined;
  const scene = sceneOf(stage, { ...raced, lockAnswers }, player, isAlone);
  await lockAnswers(); // A fault before may have cut connections,
  await probe.workersRecord(); // or killed a worker.
  stage.emit(raceBegun({ race, rung }));
  let steps: PlayedStep[] = [];
  await around(voucherId, async () => {
    steps = await playSteps(schedule, scene);
  });
  const facts = await stage.facts(voucherId, drainWithinMs);
  if (schedule.forgets) await lab.serve(lab.shape); // Its process would keep the lock.
  const played = raceVerdict(race, rung, { steps, stops: player.stops }, facts);
  stage.emit(raceJudged(played));
  return played;
}

interface RaceOnSale {
  readonly voucherId: string;
  readonly schedule: Schedule;
  readonly rung: Rung;
}

/** A lane for each request of the schedule. */
function playerOf(
  stage: Stage,
  { voucherId, schedule }: RaceOnSale,
  { addressOf = ({ baseUrl }) => baseUrl }: RaceUnderLoad,
): Player {
  const player = stage.player();
  for (const [index, [lane, userId]] of Object.entries(schedule.lanes).entries()) {
    const sending = sendingOf(voucherId, {
      headers: player.headers(lane),
      forgets: schedule.forgets?.includes(lane) ?? false,
      isNested: schedule.nested?.includes(lane) ?? false,
    });
    const baseUrl = addressOf(stage.lab, index);
    const purchase = { voucherId, userId, requestId: player.requestId(lane) };
    player.add(lane, () => stage.buy(purchase, { ...sending, baseUrl }));
  }
  return player;
}

/** @param isAlone nobody else buys: then the database says who waits for a row */
function sceneOf(
  stage: Stage,
  { voucherId, schedule, rung, lockAnswers }: RaceOnSale & Pick<Probe, 'lockAnswers'>,
  player: Player,
  isAlone: boolean,
): Scene {
  const { lab } = stage;
  const userOf = (lane: string) => schedule.lanes[lane] ?? '';
  const keyOf = (lane: string) => lockKey(rung, { voucherId, userId: userOf(lane) });
  const faults = new PlayFaults(stage, rung);
  const lock = { voucherId, userId: userOf('A'), leaseMs, lockAnswers };
  const servers = new ServerFaults({ stage, rung, faults, ...lock });
  const running: Scene['running'] = { lane: '', until: [] };
  const lanes = new Lanes({
    stage,
    player,
    rung,
    faults,
    ownerlessMs,
    names: Object.keys(schedule.lanes),
    rowWaits: isAlone ? rowWaitsNow(lab) : undefined,
    isStop: (lane, checkpoint) => lane !== running.lane || running.until.includes(checkpoint),
  });
  return {
    stage,
    player,
    lanes,
    faults,
    servers,
    running,
    told: new Map(),
    isRecorded: () =>
      readHistory(lab.historyFolder, voucherId).history.some(({ event }) => event === 'recorded'),
    expire: (lane) =>
      leaseEnds(stage, rung, { key: keyOf(lane), isSure: isAlone && faults.isDead(lane) }),
  };
}

/** After an error too: no process and no request stays paused. */
async function playSteps(schedule: Schedule, scene: Scene): Promise<PlayedStep[]> {
  const { stage, player, faults } = scene;
  const played: PlayedStep[] = [];
  try {
    if (stopsWorker(schedule)) await player.armWorker();
    for (const step of schedule.steps) {
      const done = await playStep(step, scene);
      played.push(done);
      stage.emit(stepEvent(done));
    }
  } finally {
    await faults.mend();
    await player.freeWorker();
    await player.finish(answeredWithinMs);
  }
  return played;
}

interface EndingLease {
  readonly key: string;
  /** Its process is dead: nobody renews what Redis says is left, and it may pass at once. */
  readonly isSure: boolean;
  /** A lease that nobody renews has expired after it. */
  readonly withinMs?: number;
}

/** What becomes of a lease in its time. Of a key that is not one of this Redis, time must pass. */
export async function leaseEnds(
  stage: Pick<Stage, 'connections' | 'until'>,
  { lockService }: Pick<Rung, 'lockService'>,
  { key, isSure, withinMs = leaseMs * 1.5 }: EndingLease,
): Promise<StepEffect> {
  if (!lockService) return 'no-lease';
  const redis = stage.connections.redis('admin');
  const leftMs = await redis.pttl(key).catch(() => noKey);
  if (leftMs === withoutExpiry) return 'no-lease';
  if (isSure && leftMs > 0 && leftMs <= leaseMs) await redis.pexpire(key, 1);
  const hasKey = async () => (await redis.exists(key)) === 1;
  const isGone = async () => leftMs > 0 && !(await hasKey());
  if (await isInTime(stage.until('the lease to expire', withinMs, isGone))) return 'lease-over';
  return (await hasKey().catch(() => false)) ? 'still-locked' : 'time-passes';
}

/** Answers of PTTL. */
const [withoutExpiry, noKey] = [-1, -2];
