/** The locks of now as lines for an 80-column terminal. */
import type { LockNow } from '../environment/locks-now.ts';

/** Each resource, and under it what each server has of it. */
export function lockLines(locks: readonly LockNow[]): string {
  if (locks.length === 0) return 'no lock is held, and nobody waits for one';
  return [...Map.groupBy(locks, ({ resource }) => resource)].map(blockOf).join('\n\n');
}

function blockOf([resource, locks]: readonly [string, readonly LockNow[]]): string {
  const { waiting = [], ghosts = 0 } = locks[0] ?? {};
  const inQueue = `in its queue, and in no living process: ${ghosts}`;
  return [
    resource,
    ...locks.flatMap(serverLines),
    ...waiting.map((each) => `  waits:   ${each}`),
    ...(ghosts > 0 ? [`  ${inQueue}`] : []),
  ].join('\n');
}

function serverLines({ server, leftMs, holders, count: times }: LockNow): string[] {
  const left = leftMs === null ? 'without end' : `${(leftMs / 1_000).toFixed(1)} s left`;
  const place = server === null ? 'no key in Redis' : `${server}, ${left}`;
  const again = times > 1 ? `, acquired ${times} times` : '';
  const by = holders.map((each) => `  held by: ${each}`);
  const nobody = server === null ? [] : ['  held by: NOBODY; it is left over until its lease ends'];
  return [`  ${place}${again}`, ...(by.length > 0 ? by : nobody)];
}
