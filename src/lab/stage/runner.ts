/**
 * Plays an experiment on a stage, and hands every event to its readers. Ctrl-C ends it with what
 * was seen until then.
 */
import { LockstepError } from '../../service/errors.ts';
import type { Lab } from '../environment/lab.ts';
import type { UntilInterrupted } from '../environment/session.ts';
import { labError } from '../errors.ts';
import { faultTable } from './costs.ts';
import { countBy, sum } from './counts.ts';
import { type Emit, emitter, type Reader } from './events.ts';
import type { Judged, Result } from './result.ts';
import { refusedIn, type TimelineRecord } from './seconds.ts';
import type { Experiment } from './stage.ts';
import { Stage } from './stage.ts';
import { Timeline } from './timeline.ts';

export interface Session {
  readonly lab: Lab;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
  readonly untilInterrupted: UntilInterrupted;
}

export async function play<Options extends object, Own>(
  name: string,
  experiment: Experiment<Options, Own>,
  options: Options,
  { lab, signal, untilInterrupted }: Session,
  readers: readonly Reader[] = [],
): Promise<Result<Own>> {
  const timeline = new Timeline();
  const emit = emitter([timeline.read, ...readers]);
  const stage = new Stage(lab, signal, emit);
  emit({ kind: 'started', experiment: name, about: experiment.about, options });
  const tellRest = tellSeconds(timeline, emit);
  const playing = untilInterrupted(playOn(stage, experiment, options));
  const judged = await playing
    .catch((error: unknown) => ({
      ...undecided(error, stage, timeline.recorded()),
      ...experiment.soFar?.(),
    }))
    .finally(tellRest);
  const faults = judged.faults ?? countBy(stage.injected.map((fault) => fault.name));
  const recorded = timeline.recorded();
  const tables = [judged.tables ?? [], faultTable(timeline, judged.lost) ?? []].flat();
  const { facts, own, lost: _, ...rest } = judged;
  const told = { ...rest, tables, faults, isInterrupted: signal.aborted };
  emit({ kind: 'verdict', ...told, loads: recorded.loads });
  return { ...told, facts, ...(own !== undefined && { own }), recorded };
}

async function playOn<Options extends object, Own>(
  stage: Stage,
  experiment: Experiment<Options, Own>,
  options: Options,
): Promise<Judged<Own>> {
  let judged: Judged<Own> | undefined;
  try {
    judged = await experiment.play(stage, options);
    return judged;
  } finally {
    // What was judged stands, also when the lab is not whole again in time.
    await stage.end().catch((error: unknown) => {
      if (!judged || !(error instanceof LockstepError)) throw error;
      stage.note({
        en: `The lab is not whole again: ${error.message}`,
        zh: `实验环境没有完全恢复：${error.message}`,
      });
    });
  }
}

/**
 * A deadline that passed, a service that refused, or Ctrl-C: nothing can be told.
 * @throws any other error
 */
function undecided(error: unknown, { signal }: Stage, { seconds }: TimelineRecord): Judged<never> {
  if (!signal.aborted && !(error instanceof LockstepError)) throw error;
  const said = signal.aborted ? labError('INTERRUPTED').message : errorText(error as LockstepError);
  const figures = {
    accepted: sum(seconds.map(({ accepted }) => accepted)),
    refused: sum(seconds.map(refusedIn)),
    unknown: sum(seconds.map(({ unknown }) => unknown)),
  };
  return {
    verdict: 'unknown',
    reasons: [{ en: said, zh: signal.aborted ? '被中断。' : said }],
    figures,
    facts: [],
  };
}

const errorText = ({ code, message, cause }: LockstepError): string =>
  `${code}: ${message}${cause instanceof Error ? ` (${cause.message})` : ''}`;

/** A load in another process reports its answers a little later. */
const reportedWithinMs = 500;
const lookEveryMs = 100;

/**
 * Tells each second when it is over, as a reader shows it.
 * @returns the function that tells the rest, and ends
 */
export function tellSeconds(timeline: Timeline, emit: Emit): () => void {
  let next = 0;
  const tellUntil = (ms: number): void => {
    const beganAt = String(timeline.beganAt);
    for (; (next + 1) * 1_000 <= ms; next++)
      emit({ kind: 'second', beganAt, ...timeline.second(next) });
  };
  const timer = setInterval(() => tellUntil(timeline.elapsedMs() - reportedWithinMs), lookEveryMs);
  return () => {
    clearInterval(timer);
    tellUntil(timeline.recorded().seconds.length * 1_000);
  };
}
