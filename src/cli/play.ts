/** Plays an experiment in the lab: what it emits is printed live, and its result is a folder. */
import { countBy } from '../grouping.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, type Work, withLab } from '../lab/environment/session.ts';
import { eventsFile, factsFiles } from '../lab/report/facts-files.ts';
import { timeStamp, writeFolder } from '../lab/report/folder.ts';
import { liveReader } from '../lab/report/live-lines.ts';
import { describeMachine } from '../lab/report/machine.ts';
import { resultMarkdown } from '../lab/report/result-markdown.ts';
import { resultPage } from '../lab/report/result-page.ts';
import { resultText } from '../lab/report/result-text.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { Experiment } from '../lab/stage/experiment.ts';
import type { Result } from '../lab/stage/result.ts';
import { play } from '../lab/stage/runner.ts';
import { keptEvents, type OnStage } from './on-stage.ts';
import { onDatabase } from './options.ts';
import { answerOf, type Place, print, progress, setExitCode } from './output.ts';

interface Request<Options extends object> {
  readonly name: string;
  readonly experiment: Experiment<Options>;
  readonly options: Options;
  /** Repeats it: `npx lockstep soak --minutes 3 --seed 1`. */
  readonly command: string;
  readonly times: number;
  readonly database: Database | undefined;
  readonly json: boolean;
}

type Played = OnStage<Result>;

/** Ctrl-C ends it: then the last play is that far, and is reported all the same. */
export async function playExperiment<Options extends object>(
  { labFolder, runsFolder }: Place,
  request: Request<Options>,
): Promise<void> {
  const { times, json } = request;
  const database = databaseOf(labFolder, request.database);
  const work: Work<void> = async (lab, signal, untilInterrupted) => {
    const plays: Played[] = [];
    while (plays.length < times && !signal.aborted) {
      plays.push(await playOnce(request, { lab, signal, untilInterrupted }));
      if (times > 1) progress(`${plays.length} of ${times}: ${plays.at(-1)?.played.verdict}`);
    }
    await report(runsFolder, request, database, plays);
    setExitCode(plays.map(({ played }) => answerOf[played.verdict]));
  };
  await withLab(labFolder, json ? () => {} : progress, work, { database });
}

async function playOnce<Options extends object>(
  { name, experiment, options, json }: Request<Options>,
  session: Parameters<typeof play>[3],
): Promise<Played> {
  const { events, keep } = keptEvents();
  const live = liveReader(json ? () => {} : progress);
  const readers = [keep, live.read];
  const played = await play(name, experiment, options, session, readers).finally(live.end);
  return { played, events };
}

/** Of the first play that is not held. */
async function report<Options extends object>(
  runsFolder: string,
  { name, experiment, options, command: repeat, times, json }: Request<Options>,
  database: Database,
  plays: readonly Played[],
): Promise<void> {
  const shown = plays.find(({ played }) => played.verdict !== 'held') ?? plays[0];
  if (!shown) throw new RangeError('an experiment is played at least once');
  const { facts, ...result } = shown.played;
  const command = repeat + onDatabase(database);
  const machine = await describeMachine(database);
  const about = { experiment: name, about: experiment.about, command, machine };
  const folder = writeFolder(runsFolder, name, {
    'index.html': resultPage({ ...about, time: timeStamp(), result }),
    'result.json': { ...about, options, ...result },
    'report.md': resultMarkdown(command, result),
    ...eventsFile(shown.events),
    ...factsFiles(facts.map((each) => ({ facts: each }))),
  });
  const counts = countBy(plays.map(({ played: { verdict } }) => verdict));
  const { recorded: _, ...brief } = result;
  print(json, { experiment: name, ...options, times, counts, ...brief, folder }, () =>
    [
      `\n${wrap(`${name}: ${experiment.about}`)}`,
      resultText(result),
      ...(times > 1 ? [`run ${times} times: ${countsText(counts)}`] : []),
      '',
      `repeat it: ${command}`,
      `report: ${folder}/index.html`,
    ].join('\n'),
  );
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');
