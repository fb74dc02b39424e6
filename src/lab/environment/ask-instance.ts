/**
 * Requests to one instance of the lab, past nginx: for the faults inside a process, and for its
 * profile.
 */
import { signToken } from '../../http/tokens.ts';
import { InstanceRefused, UnknownServer } from '../errors.ts';
import { instanceNames, type ServiceShape } from './servers/service.ts';

const answersWithinMs = 5_000;

/** The part of a lab that it needs. */
interface Instances {
  readonly environment: Readonly<Record<string, string>>;
  readonly shape: ServiceShape;
  portOf(name: string): number;
}

/** Its event loop stands still for so long. @throws InstanceRefused */
export async function blockEventLoop(
  lab: Instances,
  instance: string,
  forMs: number,
): Promise<void> {
  await ask(lab, instance, `block-event-loop?ms=${forMs}`);
}

/** Its wall clock is late by so much; 0 sets it right. @throws InstanceRefused */
export async function stepClockBack(lab: Instances, instance: string, byMs: number): Promise<void> {
  await ask(lab, instance, `step-clock-back?ms=${byMs}`);
}

/** What it does for so long from now on, as a CPU profile of V8. @throws InstanceRefused */
export async function takeProfile(
  lab: Instances,
  instance: string,
  forMs: number,
): Promise<unknown> {
  return (await ask(lab, instance, `profile?ms=${forMs}`, forMs)).json();
}

async function ask(lab: Instances, instance: string, path: string, takesMs = 0): Promise<Response> {
  const instances = instanceNames(lab.shape);
  if (!instances.includes(instance)) throw new UnknownServer(instance, instances);
  const token = await signToken(lab.environment['TOKEN_SECRET'] ?? '', '1', 'operator');
  const answer = await fetch(`http://127.0.0.1:${lab.portOf(instance)}/lab/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
    signal: AbortSignal.timeout(answersWithinMs + takesMs), // A paused instance does not answer.
  }).catch((cause: unknown) => {
    throw new InstanceRefused(instance, 'nothing', cause);
  });
  if (!answer.ok) throw new InstanceRefused(instance, answer.status);
  return answer;
}
