/** A lab for a benchmark: no history is kept, and there is a token for each request of a load. */
import { defaultShape } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { Stage } from '../stage/stage.ts';
import type { Bench } from './measure.ts';
import { writeTokens } from './wrk.ts';

/** With more purchases than this in a second, users repeat; their second purchases are refused. */
const usersPerSecond = 20_000;
/** More than the instances remember: nearly every token of a load is new to its instance. */
const usersMin = 50_000;

interface Shape {
  readonly seconds: number;
  readonly connections: number;
  readonly instances: number;
}

export function withBench<T>(
  stage: Stage,
  { instances, ...load }: Shape,
  work: (bench: Bench) => Promise<T>,
): Promise<T> {
  const { lab, signal } = stage;
  const progress = (line: string) => stage.note(line);
  return withConnections(lab, async (connections) => {
    await lab.ensure({ ...defaultShape, instances, settings: { HISTORY_FOLDER: '' } });
    const count = Math.max(usersMin, usersPerSecond * load.seconds);
    progress(`Signing ${count} tokens …`);
    const tokens = await writeTokens(lab.folder, connections.config.TOKEN_SECRET, count);
    return work({ lab, connections, load: { ...load, tokens }, signal, progress });
  });
}
