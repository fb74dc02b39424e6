/** The rows of the drill `durability`: what became of the accepted orders. */
import type { Durability } from '../../config.ts';

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
