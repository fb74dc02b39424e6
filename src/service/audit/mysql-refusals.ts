/** The writes that MySQL refused after a lock had let two requests through. */
import type { Facts } from './facts.ts';

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

/** A sentence for people; empty when MySQL refused nothing. */
export function mysqlRefusalsText({ staleFence, duplicate }: MysqlRefusals): string {
  const counts = [
    staleFence > 0 ? `${staleFence} by the fence` : '',
    duplicate > 0 ? `${duplicate} by the unique key` : '',
  ].filter((text) => text !== '');
  return counts.length > 0 ? `writes that MySQL refused: ${counts.join(', ')}` : '';
}
