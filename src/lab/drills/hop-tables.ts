/** The tables of `accepted-is-not-sold`: each hop, and the comparison of the course notes. */
import type { RungName } from '../../service/ladder/rungs.ts';
import { isOutsider } from '../outsiders/with-outsiders.ts';
import type { RaceName } from '../play/schedules.ts';
import type { Table } from '../stage/result.ts';
import { type Hop, redeliveredAt } from './hops.ts';

/** Those that have a row. */
export const hopTables = (hops: readonly Hop[]): Table[] =>
  [hopTable(hops), fateTable(hops), notesTable(hops)].filter(({ rows }) => rows.length > 0);

const none = '–';
const named = (rung: string): string => (isOutsider(rung) ? `${rung} *` : rung);

const counted = ({ accepted, once, twice, never }: Hop): string[] =>
  [accepted, once, twice, never].map(String);

const hopTable = (hops: readonly Hop[]): Table => ({
  title: 'A fault at each hop (* no rung: an outsider)',
  legend: {
    yes: {
      en: 'accepted orders; of these in MySQL once, twice, never',
      zh: '接受的订单；其中在 MySQL 里有一次、两次、从来没有',
    },
    stuck: {
      en: 'users whose unit is gone in Redis, and who have no order: they can never buy',
      zh: '在 Redis 里占了一张、却没有订单的用户：再也买不到',
    },
    s: {
      en: 'seconds from the last fault until all is recorded; – it never was',
      zh: '从最后一个故障到全部入库的秒数；– 没有全部入库',
    },
  },
  head: ['rung', 'hop', 'yes', 'once', 'twice', 'never', 'stuck', 's'],
  rows: hops.map((each) => [
    ...[named(each.rung), each.hop, ...counted(each), String(each.stuck)],
    each.seconds?.toFixed(1) ?? none,
  ]),
});

/** A row for each queue and a column for each hop: what became of the order there. */
function fateTable(hops: readonly Hop[]): Table {
  const rungs = [...new Set(hops.map(({ rung }) => rung))];
  const names = [...new Set(hops.map(({ hop }) => hop))];
  const fateOf = (rung: string, name: RaceName): string => {
    const found = hops.find((each) => each.rung === rung && each.hop === name);
    return found ? fateText(found) : none;
  };
  return {
    title: 'What became of the order at each hop',
    isWide: true,
    head: ['queue of', ...names],
    rows: rungs.map((rung) => [named(rung), ...names.map((name) => fateOf(rung, name))]),
  };
}

function fateText({ hop, never, stuck, twice, seconds }: Hop): string {
  if (never > 0) return '**lost**';
  if (stuck > 0) return '**stuck**';
  if (twice > 0) return '**twice**';
  if (hop === redeliveredAt && seconds === 0) return 'not again';
  return seconds === null ? none : `${seconds.toFixed(1)} s`;
}

/** The queues that the course notes compare, by the names that these give them. */
const inNotes = {
  List: 'redis-list',
  PubSub: 'redis-pubsub',
  Stream: 'redis-stream',
  'Stream, group': 'redis-stream-group',
  RabbitMQ: 'rabbitmq',
} as const satisfies Record<string, RungName>;

/**
 * The notes' table, measured: it is persistent when a restart of its server loses nothing, keeps a
 * backlog when nothing is lost while no worker runs, is acknowledged when a dead worker loses
 * nothing. It redelivers when the next worker is given what the dead one had committed.
 */
function notesTable(hops: readonly Hop[]): Table {
  const rows = Object.entries(inNotes).flatMap(([name, rung]) => {
    const at = (wanted: RaceName) => hops.find((each) => each.rung === rung && each.hop === wanted);
    const fate = (wanted: RaceName) => {
      const hop = at(wanted);
      if (!hop) return none;
      return hop.never > 0 ? 'lost' : 'kept';
    };
    const again = at(redeliveredAt)?.seconds;
    const kept = [fate('queue-restarts'), fate('worker-away'), fate('worker-dies')];
    if (again === undefined || kept.includes(none)) return [];
    return [[name, ...kept, again !== null && again > 0 ? 'yes' : 'no']];
  });
  const head = ['in the notes', 'persistent', 'backlog', 'acknowledged', 'redelivered'];
  return { title: 'As the course notes compare', head, rows };
}
