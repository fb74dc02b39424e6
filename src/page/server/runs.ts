/**
 * A race or a drill that a viewer has started: the same experiment as the command, with the lab for
 * itself, and with the same report. One at a time.
 */

import { type AskedFault, askLab } from '../../lab/by-hand/asked-faults.ts';
import { Lab } from '../../lab/environment/lab.ts';
import { withLab } from '../../lab/environment/session.ts';
import { labError } from '../../lab/errors.ts';
import { type ExperimentPlan, writeReport } from '../../lab/report/experiment-report.ts';
import type { ReportAbout, StageEvent } from '../../lab/stage/events.ts';
import type { Bilingual } from '../../lab/stage/result.ts';
import { play } from '../../lab/stage/runner.ts';
import type { Feed, FeedPlace } from './feed.ts';
import type { Plays } from './plays.ts';

interface Going {
  readonly feed: Feed;
  /** Before its first event: a page that is loaded again reads it from there. */
  readonly began: FeedPlace;
  readonly stop: AbortController;
  ended: Promise<void>;
}

export class Runs {
  readonly #folder: string;
  readonly #runsFolder: string;
  readonly #plays: Plays;
  #going: Going | undefined;

  constructor(folder: string, runsFolder: string, plays: Plays) {
    this.#folder = folder;
    this.#runsFolder = runsFolder;
    this.#plays = plays;
  }

  /** Where the page of this viewer begins to read. */
  placeFor(viewer: string): FeedPlace {
    const feed = this.#plays.feedOf(viewer);
    return this.#going?.feed === feed ? this.#going.began : feed.place;
  }

  /** Ends the plays, and resolves when it has begun. @throws LockstepError */
  async begin<Options extends object, Own>(
    viewer: string,
    planned: ExperimentPlan<Options, Own>,
  ): Promise<void> {
    if (this.#going) throw labError('RUN_GOES_ON');
    const feed = this.#plays.feedOf(viewer);
    const going: Going = {
      feed,
      began: feed.place,
      stop: new AbortController(),
      ended: Promise.resolve(),
    };
    this.#going = going;
    try {
      await this.#plays.leaveFor(viewer);
      const begun = Promise.withResolvers<void>();
      going.ended = this.#run(planned, going, begun.resolve).finally(() => {
        this.#going = undefined;
      });
      going.ended.catch(begun.reject);
      await begun.promise;
    } catch (error) {
      this.#going = undefined;
      throw error;
    }
  }

  /** @returns what was done. @throws NOTHING_TO_END, or the error that was answered */
  async fault(asked: AskedFault): Promise<Bilingual> {
    const lab = Lab.running(this.#folder);
    const done = lab && (await askLab(lab, asked));
    if (done === null) throw labError('NOTHING_TO_END');
    return done;
  }

  /** Resolves when the lab is as it was. */
  async stop(): Promise<void> {
    this.#going?.stop.abort();
    await this.#going?.ended.catch(() => {});
  }

  async #run<Options extends object, Own>(
    planned: ExperimentPlan<Options, Own>,
    { feed, stop }: Going,
    begun: () => void,
  ): Promise<void> {
    let hasBegun = false;
    const begin = () => {
      hasBegun = true;
      begun();
    };
    try {
      const report = await this.#played(planned, feed, stop.signal, begin);
      feed.tell({ kind: 'over', report });
    } catch (error) {
      if (!hasBegun) throw error;
      console.error(error);
      feed.tell({ kind: 'over', because: error instanceof Error ? error.message : String(error) });
    }
  }

  /** @returns what stands in its report, and its folder */
  #played<Options extends object, Own>(
    planned: ExperimentPlan<Options, Own>,
    feed: Feed,
    stopped: AbortSignal,
    begun: () => void,
  ): Promise<ReportAbout> {
    return withLab(
      this.#folder,
      () => {},
      async (lab, ending, untilInterrupted) => {
        const events: StageEvent[] = [];
        const read = (event: StageEvent) => {
          if (event.kind === 'purchase') return; // They are thousands.
          events.push(event);
          feed.push(event);
          begun();
        };
        const { name, experiment, options } = planned;
        const signal = AbortSignal.any([ending, stopped]);
        const result = await play(name, experiment, options, { lab, signal, untilInterrupted }, [
          read,
        ]);
        const plays = [{ result, events }];
        return (await writeReport(this.#runsFolder, planned, plays, lab.database)).about;
      },
    );
  }
}
