/**
 * Requests to one instance of the lab, past nginx: for the faults inside a process, and for its
 * profile.
 */

import { z } from 'zod';
import { signToken } from '../../service/http/tokens.ts';
import { labError } from '../errors.ts';
import type { LabServer } from './processes.ts';
import { instanceNames, type ServiceShape } from './servers/service.ts';

/** The part of a lab that it needs. */
interface Instances {
  readonly tokenSecret: string;
  readonly shape: ServiceShape;
  portOf(name: string): number;
}

/**
 * Blocks its event loop for this time, or until the file `mark` is gone. @throws INSTANCE_REFUSED
 */
export async function blockEventLoop(
  lab: Instances,
  instance: string,
  forMs: number,
  mark?: string,
): Promise<void> {
  const until = mark === undefined ? '' : `&while=${encodeURIComponent(mark)}`;
  await ask(lab, instance, `block-event-loop?ms=${forMs}${until}`);
}

const silentMs = 250;

/** True when it answers no request within that time. */
export async function isSilent(lab: Instances, instance: string): Promise<boolean> {
  const signal = AbortSignal.timeout(silentMs);
  const answer = fetch(`http://127.0.0.1:${lab.portOf(instance)}/livez`, { signal });
  return answer.then(
    () => false,
    () => true,
  );
}

const Clock = z.object({ mostAheadMs: z.int() });

/**
 * Its wall clock is ahead by so much; behind, when it is negative.
 * @returns the most that it was ever ahead, in milliseconds. @throws INSTANCE_REFUSED
 */
export async function stepClock(lab: Instances, instance: string, byMs: number): Promise<number> {
  const answer = await ask(lab, instance, `step-clock?ms=${byMs}`);
  return Clock.parse(await answer.json()).mostAheadMs;
}

/**
 * An instance that was ahead has made order ids of a time that has not come, and makes no more
 * until then. So it is replaced. @throws INSTANCE_REFUSED
 */
export async function setClockRight(
  lab: Instances & { server(name: string): LabServer },
  instance: string,
): Promise<void> {
  if ((await stepClock(lab, instance, 0)) > 0) await lab.server(instance).kill();
}

/** The lease of this purchase is over there, as if its time had passed. @throws INSTANCE_REFUSED */
export async function endLeaseIn(
  lab: Instances,
  instance: string,
  requestId: string,
): Promise<void> {
  await ask(lab, instance, `end-lease?request=${encodeURIComponent(requestId)}`);
}

/** What it renews by itself is due now. @throws INSTANCE_REFUSED */
export async function renewLeasesIn(lab: Instances, instance: string): Promise<void> {
  await ask(lab, instance, 'renew-leases');
}

/** A CPU profile of V8, of the next `ms` milliseconds. @throws INSTANCE_REFUSED */
export async function takeProfile(
  lab: Instances,
  instance: string,
  forMs: number,
): Promise<unknown> {
  return (await ask(lab, instance, `profile?ms=${forMs}`, forMs)).json();
}

async function ask(lab: Instances, instance: string, path: string, takesMs = 0): Promise<Response> {
  const instances = instanceNames(lab.shape);
  if (!instances.includes(instance)) throw labError('UNKNOWN_SERVER', instance, instances);
  const token = await signToken(lab.tokenSecret, '1', 'operator');
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const url = `http://127.0.0.1:${lab.portOf(instance)}/lab/${path}`;
  return answerOf('INSTANCE_REFUSED', instance, url, { method: 'POST', headers }, takesMs);
}

const answersWithinMs = 5_000;

/** @throws the error with this code: it is refused, or not answered, as by a paused process */
export async function answerOf(
  code: 'INSTANCE_REFUSED' | 'PROXY_REFUSED',
  name: string,
  url: string,
  request: RequestInit = {},
  takesMs = 0,
): Promise<Response> {
  const signal = AbortSignal.timeout(answersWithinMs + takesMs);
  const answer = await fetch(url, { ...request, signal }).catch((cause: unknown) => {
    throw labError(code, name, 'nothing').causedBy(cause);
  });
  if (!answer.ok) throw labError(code, name, answer.status);
  return answer;
}
