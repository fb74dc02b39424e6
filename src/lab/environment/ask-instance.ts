/** Requests to one instance of the lab, past nginx: for the faults inside a process. */
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
export const blockEventLoop = (lab: Instances, instance: string, forMs: number): Promise<void> =>
  ask(lab, instance, `block-event-loop?ms=${forMs}`);

/** Its wall clock is late by so much; 0 sets it right. @throws InstanceRefused */
export const stepClockBack = (lab: Instances, instance: string, byMs: number): Promise<void> =>
  ask(lab, instance, `step-clock-back?ms=${byMs}`);

async function ask(lab: Instances, instance: string, path: string): Promise<void> {
  const instances = instanceNames(lab.shape);
  if (!instances.includes(instance)) throw new UnknownServer(instance, instances);
  const token = await signToken(lab.environment['TOKEN_SECRET'] ?? '', '1', 'operator');
  const answer = await fetch(`http://127.0.0.1:${lab.portOf(instance)}/lab/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
    signal: AbortSignal.timeout(answersWithinMs), // A paused instance does not answer.
  }).catch((cause: unknown) => {
    throw new InstanceRefused(instance, 'nothing', cause);
  });
  if (!answer.ok) throw new InstanceRefused(instance, answer.status);
}
