/** The rows of the drill `durability`: what became of the accepted orders. */
import type { Durability } from '../../service/config.ts';
import type { Table } from '../stage/result.ts';

/** What happens to the Redis that keeps the orders. */
export const losses = ['kill', 'power-loss', 'promotion'] as const;
export type Loss = (typeof losses)[number];

/** One row of the drill's table. */
export interface Survival {
  readonly durability: Durability;
  readonly loss: Loss;
  /** Orders whose buyer was told 202. */
  readonly accepted: number;
  /** Of these, those that MySQL never had. */
  readonly lost: number;
  /** Attempts whose outcome is unknown to their client. */
  readonly unknown: number;
  readonly secondsWithoutSales: number;
  /** The answer time of every second attempt, while nothing was wrong. */
  readonly calmMs: number;
}

export const survivalTable = (survived: readonly Survival[]): Table => ({
  title: 'What accepted orders survive',
  legend: {
    lost: { en: 'of the accepted: MySQL never had them', zh: '接受的订单中，MySQL 从来没有的' },
    'no sale s': { en: 'the longest time without a sale', zh: '最长多久没有成交' },
  },
  head: ['durability', 'fault', 'accepted', 'lost', 'unknown', 'no sale s', 'calm p50 ms'],
  rows: survived.map((each) => [
    ...[each.durability, each.loss],
    ...[each.accepted, each.lost, each.unknown].map(String),
    each.secondsWithoutSales.toFixed(1),
    each.calmMs.toFixed(1),
  ]),
});
