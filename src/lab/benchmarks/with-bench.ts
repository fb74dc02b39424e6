/** A lab for a benchmark: no history is kept, and there is a token for each request of a load. */
import type { Progress } from '../environment/lab.ts';
import { defaultShape } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { withLab } from '../environment/session.ts';
import type { Bench } from './measure.ts';
import { writeTokens } from './wrk.ts';

/** With more purchases than this in a second, users repeat; their second purchases are refused. */
const usersPerSecond = 20_000;
/** More than the instances remember: nearly every token of a load is new to its instance. */
const leastUsers = 50_000;

export function withBench<T>(
  labFolder: string,
  load: { readonly seconds: number; readonly connections: number },
  progress: Progress,
  work: (bench: Bench) => Promise<T>,
): Promise<T> {
  return withLab(labFolder, progress, (lab, signal, untilInterrupted) => {
    const working = withConnections(lab, async (connections) => {
      await lab.ensure({ ...defaultShape, settings: { HISTORY_FOLDER: '' } });
      const count = Math.max(leastUsers, usersPerSecond * load.seconds);
      progress(`Signing ${count} tokens …`);
      const tokens = await writeTokens(labFolder, connections.config.TOKEN_SECRET, count);
      return work({ lab, connections, load: { ...load, tokens }, signal, progress });
    });
    return untilInterrupted(working);
  });
}
