/** The servers that a rung needs and that not every lab has. */
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';

export async function provideFor(lab: Pick<Lab, 'provide'>, rung: string): Promise<void> {
  if (rungNamed(rung).queueServer === 'rabbitmq') await lab.provide(['rabbitmq']);
}
