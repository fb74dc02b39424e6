/** What a drill does before its load: the instances have their code compiled, and the rung open. */
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Stage } from '../stage/stage.ts';
import { warmUp } from '../workload/warm-up.ts';

export async function warmRung(
  { lab, connections }: Stage,
  rung: RungName,
  seed: number,
): Promise<void> {
  const { baseUrl, shape } = lab;
  const request = { rung, instances: shape.instances, seed, baseUrl, requestsPerEagerUser: 1 };
  await warmUp(request, connections);
}
