/**
 * Faults at their times, as one line: `10 stop redis-2, 20 start redis-2`. Somebody writes it, or
 * it is the record of what was broken by hand. Pure.
 */
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { Database } from '../environment/servers/database.ts';
import { isProxied, proxied } from '../environment/servers/proxies.ts';
import { instanceNames, processNames } from '../environment/servers/service.ts';
import { labError } from '../errors.ts';
import { faultOn, faults, isUndoing, isVerb, verbs } from '../faults/faults.ts';
import type { AskedFault, HandVerb } from './asked-faults.ts';
import { type BreakChoice, rungsOf } from './break-choice.ts';
import { longestMs, shapeFor } from './break-loads.ts';

const others = ['resume', 'start', 'heal', 'end'] as const;
/** In the order of --help. */
export const handVerbs: readonly HandVerb[] = [...verbs, ...others];
const isHandVerb = (verb: string): verb is HandVerb =>
  isVerb(verb) || others.some((each) => each === verb);

export interface FaultStep extends AskedFault {
  /** From the start of the load. */
  readonly seconds: number;
}

/** Where nothing else is said: of a fault that has a length. */
export const usualMs = 2_000;
/** How long the load goes on after the last step, so that it shows when it is sold again. */
export const calmAfterMs = 5_000;

/** It reads what `scriptText` writes. @throws what is wrong with it, before anything starts */
export function scriptOf(text: string, choice: BreakChoice, database: Database): FaultStep[] {
  const steps = text.split(/[,，]/).map((step) => stepOf(step.trim().replaceAll(/\s+/g, ' ')));
  const texts = steps.map(stepText);
  const late = steps.findIndex(
    ({ seconds }, at) => seconds < (steps[at - 1]?.seconds ?? 0) || steps[at - 1]?.verb === 'end',
  );
  if (late > 0) throw labError('FAULTS_NOT_IN_ORDER', texts[late] ?? '', texts[late - 1] ?? '');
  for (const step of steps) checkTarget(step, choice, database);
  const mostSeconds = Math.floor((longestMs(choice) - calmAfterMs) / 1_000);
  if ((steps.at(-1)?.seconds ?? 0) > mostSeconds)
    throw labError('FAULTS_TOO_LATE', texts.at(-1) ?? '', mostSeconds);
  return steps;
}

export const scriptText = (steps: readonly FaultStep[]): string => steps.map(stepText).join(', ');

const stepText = ({ seconds, verb, server, ms }: FaultStep): string =>
  [seconds, verb, ...(server ? [server] : []), ...(ms === usualMs ? [] : [`--ms ${ms}`])].join(' ');

const form = /^(\d+(?:\.\d+)?)s? (\S+)(?: ([\w-]+))?(?: --ms (\d{1,6}))?$/;

function stepOf(text: string): FaultStep {
  const [, seconds, verb = '', server = '', ms = usualMs] = form.exec(text) ?? [];
  if (seconds === undefined) throw labError('FAULT_UNREADABLE', text);
  if (!isHandVerb(verb)) throw labError('UNKNOWN_FAULT', verb, handVerbs);
  const isOfAll = verb === 'heal' || verb === 'end';
  if (isOfAll && server !== '') throw labError('FAULT_UNREADABLE', text);
  if (!isOfAll && server === '') throw labError('SERVER_NAME_MISSING', verb);
  return { seconds: Number(seconds), verb, server, ms: Number(ms) };
}

/** @throws UNKNOWN_SERVER, NOT_AN_INSTANCE, NOT_A_REDIS, NOT_PROXIED */
function checkTarget({ verb, server }: FaultStep, choice: BreakChoice, database: Database): void {
  if (verb === 'heal' || verb === 'end') return;
  const hits = isUndoing(verb) ? 'process' : faults[verb].hits;
  const instances = instanceNames(shapeFor(choice));
  if (hits === 'instance' && !instances.includes(server))
    throw labError('NOT_AN_INSTANCE', server, instances);
  const known = serversOf(choice, database);
  const isKnown = known.includes(server) || (isUndoing(verb) && isProxied(server));
  if (hits === 'process' && !isKnown) throw labError('UNKNOWN_SERVER', server, known);
  if (!isUndoing(verb)) faultOn(verb, server);
}

/** Those that the sale of these rungs has. */
function serversOf(choice: BreakChoice, database: Database): string[] {
  const stores = proxied.filter((name) => name !== 'database' && name !== 'replication');
  const queues = rungsOf(choice).map((rung) => rungNamed(rung).queueServer);
  return [
    ...[...stores, database, 'nginx', ...(queues.includes('rabbitmq') ? ['rabbitmq'] : [])],
    ...['redis-replica', 'service', ...processNames(shapeFor(choice)), 'proxies'],
  ];
}
