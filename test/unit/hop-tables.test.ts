/** The tables of the queues, from rows by hand. */

import { expect, test } from 'vitest';
import { type Hop, hopTables } from '../../src/lab/drills/accepted-is-not-sold.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import { tableMarkdown } from '../../src/lab/report/table.ts';
import { tooWide } from './terminal.ts';

const compared = ['redis-list', 'redis-pubsub', 'redis-stream', 'redis-stream-group', 'rabbitmq'];

const hop = (rung: string, name: Hop['hop'], changes: Partial<Hop> = {}): Hop => ({
  ...{ rung, hop: name, accepted: 1, once: 1, twice: 0, never: 0, stuck: 0 },
  ...{ seconds: 0, asClaimed: true, ...changes },
});
const lost = { once: 0, never: 1, stuck: 1, seconds: null };
const hopsOf = (rung: string): Hop[] => [
  hop(rung, 'queue-restarts', rung === 'redis-pubsub' ? lost : {}),
  hop(rung, 'worker-away', rung === 'redis-pubsub' || rung === 'redis-stream' ? lost : {}),
  hop(rung, 'worker-dies', /group|rabbit/.test(rung) ? {} : lost),
  hop(rung, 'worker-dies-after-commit', { seconds: /group|rabbit/.test(rung) ? 5.1 : 0 }),
];
test('compares the five queues of the notes by what was measured', () => {
  const tables = hopTables(compared.flatMap(hopsOf));
  expect(tables.map(({ rows }) => rows.length)).toEqual([20, 5, 5]);
  expect(tables[2]?.rows).toEqual([
    ['List', 'kept', 'kept', 'lost', 'no'],
    ['PubSub', 'lost', 'lost', 'lost', 'no'],
    ['Stream', 'kept', 'lost', 'lost', 'no'],
    ['Stream, group', 'kept', 'kept', 'kept', 'yes'],
    ['RabbitMQ', 'kept', 'kept', 'kept', 'yes'],
  ]);
});

test('compares only queues that every measure was taken of', () => {
  const [group = ''] = compared.slice(3);
  expect(hopTables(hopsOf(group)).at(2)?.rows).toHaveLength(1);
  expect(hopTables(hopsOf(group).slice(1))).toHaveLength(2);
  expect(hopTables([])).toEqual([]);
});

test('marks an outsider, and fits 80 columns', () => {
  const rungs = [...compared, 'redis-stream-last-id', 'bullmq', 'bullmq-5s'];
  const text = resultText({
    ...{ verdict: 'held', reasons: [], figures: {}, faults: {} },
    tables: hopTables(rungs.flatMap(hopsOf)),
  });
  const lines = text.split('\n');
  expect(lines.filter((line) => line.startsWith('bullmq *'))).toHaveLength(4);
  expect(lines.filter((line) => line.startsWith('redis-list *'))).toEqual([]);
  expect(tooWide(text)).toEqual([]);
});

test('says for the documents what became of the order at each hop, on each queue', () => {
  const hops = [...hopsOf('redis-list'), ...hopsOf('rabbitmq')];
  const stuck = hop('bullmq', 'queue-restarts', { accepted: 0, once: 0, stuck: 1, seconds: null });
  const [, table] = hopTables([...hops, stuck]).map(tableMarkdown);
  expect(table?.split('\n').slice(2)).toEqual([
    '| queue of | queue-restarts | worker-away | worker-dies | worker-dies-after-commit |',
    '| --- | --- | --- | --- | --- |',
    '| redis-list | 0.0 s | 0.0 s | **lost** | not again |',
    '| rabbitmq | 0.0 s | 0.0 s | 0.0 s | 5.1 s |',
    '| bullmq * | **stuck** | – | – | – |',
  ]);
});
