/** What can be done to a server by hand. The words are in the texts of the page. */
import type { HandVerb } from '../../lab/by-hand/asked-faults.ts';
import { faultWords } from '../../lab/report/fault-words.ts';
import type { PartState } from '../../lab/stage/events.ts';

const behindProxy = [
  'redis-main',
  'redis-1',
  'redis-2',
  'redis-3',
  'zookeeper',
  'mariadb',
  'mysql',
];

/** Of a process, of what it stores, of the network before it, of the clock and the loop inside. */
const groups = {
  process: ['stop', 'kill', 'pause'],
  data: ['restart', 'restart-empty', 'flush-all', 'flush-scripts', 'fill-disk'],
  network: ['slow', 'drop', 'reset', 'refuse'],
  inside: ['block-event-loop', 'step-clock-back', 'step-clock-forward'],
} as const satisfies Record<string, readonly HandVerb[]>;

export type OfferedVerb =
  | (typeof groups)[keyof typeof groups][number]
  | 'start'
  | 'resume'
  | 'mend';

/** What can be done to it now: a server that stands still, or is away, is mended first. */
export function offeredVerbs({ name, state }: PartState, isBroken: boolean): OfferedVerb[] {
  if (state === 'stopped') return ['start'];
  if (state === 'paused') return ['resume', 'kill'];
  if (isBroken) return ['mend'];
  return [
    ...groups.process,
    ...(name.startsWith('redis-') ? groups.data : []),
    ...(behindProxy.includes(name) ? groups.network : []),
    ...(/^api-\d+$/.test(name) ? groups.inside : []),
  ];
}

/** What a server is called that has ended: by what was done to it, or `ended` by itself. */
export function endedBy(faults: readonly string[]): 'stopped' | 'killed' | 'ended' {
  const states = faults.map((name) => faultWords(name).state);
  const known = states.findLast((state) => state === 'stopped' || state === 'killed');
  return known === 'stopped' || known === 'killed' ? known : 'ended';
}

/** From the top to the bottom, as a purchase goes. */
const tiers: readonly RegExp[] = [
  /^nginx$/,
  /^api-/,
  /^redis-(main|replica)|^sentinel/,
  /^redis-\d+$|^zookeeper$|^rabbitmq$/,
  /^mariadb$|^mysql$/,
];

export const tiersOf = (parts: readonly PartState[]): PartState[][] =>
  tiers
    .map((tier) => parts.filter(({ name }) => tier.test(name)))
    .filter((tier) => tier.length > 0);
