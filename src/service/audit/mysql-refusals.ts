/** The writes that MySQL refused after a lock had let two requests through. */
import type { Facts } from './facts.ts';
import type { Evidence } from './sentences.ts';

export interface MysqlRefusals {
  /** By the fence: a newer lease was granted. */
  readonly staleFence: number;
  /** By the unique key (the rails): the user had an order already. */
  readonly duplicate: number;
}

export function mysqlRefusals({ history = [] }: Pick<Facts, 'history'>): MysqlRefusals {
  const fenced = history.filter(
    ({ event, reason }) => event === 'refused' && reason === 'stale-fence',
  );
  const duplicates = history.filter(({ event }) => event === 'duplicate');
  return { staleFence: fenced.length, duplicate: duplicates.length };
}

/** Nothing when MySQL refused nothing. */
export const refusalEvidence = ({ staleFence, duplicate }: MysqlRefusals): Evidence[] =>
  staleFence + duplicate > 0 ? [['writes-refused-by-mysql', staleFence, duplicate]] : [];
