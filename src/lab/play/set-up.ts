/** What a play of choices begins with, by the rung. */
import type { CheckName } from '../../service/domain.ts';
import type { Circumstance, Rung } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed, rungNames } from '../../service/ladder/rungs.ts';
import { type CheckpointName, checkpointNames } from '../../service/trace/checkpoints.ts';
import type { PlayedLane } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { ServerFault } from './letters.ts';

/** Of chapters 5 and 6 these read before they write: the steps of two buyers are the lesson. */
const laterRungs: readonly RungName[] = ['redis-commands', 'unit-rows'];

/** Those of which every interleaving of two buyers is played. */
export const rungsWithOrders: readonly RungName[] = rungNames.filter(
  (name) => rungNamed(name).chapter <= 4 || laterRungs.includes(name),
);

/** The process that consumes the queue is a lane, too. That of `redis-commands` runs by itself. */
export const hasWorker = (rung: RungName): boolean =>
  rungNamed(rung).queue !== undefined && !laterRungs.includes(rung);

/**
 * The checkpoints that teach: a lane stands after it has the lock, and after it has looked. It
 * passes the others. A lock that is released before the commit needs that one too. With a queue: an
 * order is claimed, in hand, and recorded.
 */
export function stopsOf(rung: RungName): readonly CheckpointName[] {
  const { chapter, lock, lockInside }: Rung = rungNamed(rung);
  const queued: readonly CheckpointName[] = ['claimed', 'delivered', 'recorded'];
  if (hasWorker(rung)) return queued.slice(chapter === 5 ? 0 : 1);
  const stops: readonly CheckpointName[] = ['after-acquire', 'after-check', 'before-commit'];
  return stops.slice(lock ? 0 : 1, lockInside ? 3 : 2);
}

/** Without a lock, every request passes the places of one. */
export const everyStopOf = (rung: RungName): readonly CheckpointName[] =>
  checkpointNames.filter((name) => rungNamed(rung).lock || !ofLocks.includes(name));
const ofLocks: readonly CheckpointName[] = ['after-acquire', 'before-release'];

/** What the buyers want: one user several times; several users the last one, and behind a queue. */
export type SaleKind = 'one-user' | 'last-one' | 'last-one-queued';

export function saleOf(rung: RungName): SaleKind {
  if (hasWorker(rung)) return 'last-one-queued';
  return rungNamed(rung).onePerUser ? 'one-user' : 'last-one';
}

const userOf = (rung: RungName, lane: number): string =>
  saleOf(rung) === 'one-user' ? '7' : String(7 + lane);
export const stockOf = (rung: RungName): number => (saleOf(rung) === 'one-user' ? 5 : 1);

interface LaneSending {
  readonly headers: Readonly<Record<string, string>>;
  /** It never releases its lock. */
  readonly forgets: boolean;
  /** Its purchase runs while its own lock is already held. */
  readonly isNested: boolean;
}

export const sendingOf = (voucherId: string, { headers, forgets, isNested }: LaneSending) => ({
  headers: { ...headers, ...(forgets && { 'x-lab-forget': 'release' }) },
  ...(isNested && { path: `lab/vouchers/${voucherId}/nested-orders` }),
});

/** The buyers, each in an instance of its own, and the order worker behind them. */
export function playedLanes({
  rung,
  lanes,
  instances,
  firstInstance = 0,
}: {
  readonly rung: RungName;
  readonly lanes: readonly string[];
  readonly instances: number;
  /** That of the first lane, counted from 0. */
  readonly firstInstance?: number;
}): readonly PlayedLane[] {
  const buyers = lanes.map((name, index) => ({
    name,
    userId: userOf(rung, index),
    instance: `api-${1 + ((firstInstance + index) % instances)}`,
  }));
  if (!hasWorker(rung)) return buyers;
  const instance = rungNamed(rung).queueInProcess ? '' : 'api-worker-1';
  return [...buyers, { name: workerLane, userId: '', instance }];
}

/** What can be broken in the servers of a rung. The masters have locks and nothing else to lose. */
export function serverFaultsOf(rung: RungName): readonly ServerFault[] {
  const { lockService, queue }: Rung = rungNamed(rung);
  const [first = ''] = lockService?.servers ?? [];
  return [
    ...(first.startsWith('redis') ? ofRedis : []),
    ...(/^redis-\d$/.test(first) ? ofMasters : []),
    ...(first === '' ? [] : (['restart-all'] as const)),
    ...(queue ? behindQueues : []),
  ];
}
const ofRedis = ['hold-replication', 'promote-replica', 'flush-scripts'] as const;
const ofMasters = ['restart-empty', 'slow', 'pause'] as const;
const behindQueues = [
  ...(['queue-restarts', 'database-restarts', 'session-killed', 'connections-used-up'] as const),
] as const;

const aims: Readonly<Record<SaleKind, CheckName>> = {
  'one-user': 'one-order-per-user',
  'last-one': 'no-oversell',
  'last-one-queued': 'no-lost-orders',
};

/** What choices can bring about. */
const playable: readonly Circumstance[] = [
  'several-instances',
  'two-requests-at-once',
  'holder-pauses',
  'release-after-expiry',
  'lease-expires-during-sale',
  'worker-dies',
  'worker-away',
  'instance-dies',
];

/** Choices can break what its buyers are asked to break. */
export const canAim = (rung: RungName): boolean =>
  rungNamed(rung).breaks.some(
    ({ under, check }) => check === aims[saleOf(rung)] && playable.includes(under),
  );
