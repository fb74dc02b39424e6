/**
 * Plays an experiment in the lab: what it emits is printed live, and its result is a folder. Every
 * command that plays one goes through here.
 */
import { countBy } from '../grouping.ts';
import type { Database } from '../lab/environment/servers/database.ts';
import { databaseOf, type Work, withLab } from '../lab/environment/session.ts';
import { eventsFile, factsFiles } from '../lab/report/facts-files.ts';
import { timeStamp, writeFolder } from '../lab/report/folder.ts';
import { liveReader } from '../lab/report/live-lines.ts';
import { describeMachine, type Machine } from '../lab/report/machine.ts';
import { replayFiles } from '../lab/report/replay-files.ts';
import { resultMarkdown } from '../lab/report/result-markdown.ts';
import { resultPage } from '../lab/report/result-page.ts';
import { resultText } from '../lab/report/result-text.ts';
import { wrap } from '../lab/report/wrap.ts';
import type { StageEvent } from '../lab/stage/events.ts';
import type { Experiment } from '../lab/stage/experiment.ts';
import type { Judged, Result } from '../lab/stage/result.ts';
import { play } from '../lab/stage/runner.ts';
import { onDatabase } from './options.ts';
import { type Answer, answerOf, type Place, print, progress, setExitCode } from './output.ts';

export interface Request<Options extends object, Own> {
  /** Of its folder in runs/. */
  readonly name: string;
  readonly experiment: Experiment<Options, Own>;
  readonly options: Options;
  /** Repeats it: `npx lockstep soak --minutes 3 --seed 1`. */
  readonly command: string;
  readonly times: number;
  readonly database: Database | undefined;
  /** The command has no `--database`: it takes that of the lab. */
  readonly isOnLabDatabase?: true;
  readonly json: boolean;
  /** Only its notes are printed while it plays: its load is no load. */
  readonly isQuiet?: true;
  /** A report of its own, beside the files that every experiment leaves. */
  readonly report?: (own: Own, about: About<Own>) => OwnReport;
}

export interface About<Own> {
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
  /** Of every play, in order. */
  readonly plays: readonly Judged<Own>[];
}

/** Where the experiment does not end, there is none. */
export interface OwnReport {
  readonly files: Readonly<Record<string, unknown>>;
  /** For `--json`. */
  readonly data: (folder: string) => unknown;
  readonly text: (folder: string) => string;
}

interface Played<Own> {
  readonly result: Result<Own>;
  /** But for the purchases, which are thousands. */
  readonly events: readonly StageEvent[];
}

/** Ctrl-C ends it: then the last play is that far, and is reported all the same. */
export async function playExperiment<Options extends object, Own>(
  { labFolder, runsFolder }: Place,
  request: Request<Options, Own>,
): Promise<void> {
  const { times } = request;
  const database = databaseOf(labFolder, request.database);
  const work: Work<void> = async (lab, signal, untilInterrupted) => {
    const plays: Played<Own>[] = [];
    while (plays.length < times && !signal.aborted) {
      plays.push(await playOnce(request, { lab, signal, untilInterrupted }));
      if (times > 1) progress(`${plays.length} of ${times}: ${plays.at(-1)?.result.verdict}`);
    }
    await report(runsFolder, request, database, plays);
    setExitCode(plays.map(({ result }) => answerTo(result)));
  };
  await withLab(labFolder, tellerOf(request), work, { database });
}

/** The lines of a load are no progress of the command: `--json` leaves them out. */
const tellerOf = <Options extends object, Own>({ json, report }: Request<Options, Own>) =>
  json && !report ? () => {} : progress;

const answerTo = ({ verdict, isAsClaimed }: Judged): Answer => {
  if (verdict === 'unknown' || isAsClaimed === undefined) return answerOf[verdict];
  return isAsClaimed ? 'yes' : 'no';
};

async function playOnce<Options extends object, Own>(
  request: Request<Options, Own>,
  session: Parameters<typeof play>[3],
): Promise<Played<Own>> {
  const events: StageEvent[] = [];
  const keep = (event: StageEvent) => event.kind !== 'purchase' && events.push(event);
  const { name, experiment, options, isQuiet, report: own } = request;
  const tell = tellerOf(request);
  const live = own || isQuiet ? notesReader(tell) : liveReader(tell);
  const result = await play(name, experiment, options, session, [keep, live.read]).finally(
    live.end,
  );
  return { result, events };
}

/** For an experiment whose own report says what its seconds and marks would. */
const notesReader = (print: (line: string) => void) => ({
  read: (event: StageEvent) => event.kind === 'note' && print(event.text),
  end: () => {},
});

/** Of the first play that is not as expected. */
async function report<Options extends object, Own>(
  runsFolder: string,
  request: Request<Options, Own>,
  database: Database,
  plays: readonly Played<Own>[],
): Promise<void> {
  const { name, experiment, options, json } = request;
  const shown = plays.find(({ result }) => answerTo(result) !== 'yes') ?? plays[0];
  if (!shown) throw new RangeError('an experiment is played at least once');
  const ending = request.isOnLabDatabase ? '' : onDatabase(database);
  const { facts, own, hints = [], ...others } = shown.result;
  const result = { ...others, hints: hints.map((hint) => hint + ending) };
  const command = request.command + ending;
  const [machine, time] = [await describeMachine(database), timeStamp()];
  const about = { experiment: name, about: experiment.about, command, machine };
  const ownAbout = { command, time, machine, plays: plays.map((each) => each.result) };
  const ownReport = own === undefined ? undefined : request.report?.(own, ownAbout);
  const replay = replayFiles(shown.events);
  const folder = writeFolder(runsFolder, name, {
    'index.html': resultPage({ ...about, time, result }),
    'result.json': { ...about, options, ...result },
    'report.md': resultMarkdown(command, result),
    ...ownReport?.files,
    ...replay,
    ...eventsFile(shown.events),
    ...factsFiles(facts.map((each) => ({ facts: each }))),
  });
  if (ownReport) print(json, ownReport.data(folder), () => ownReport.text(folder));
  else printResult(request, command, plays, result, { folder, replay: Object.keys(replay)[0] });
}

function printResult<Options extends object, Own>(
  { name, experiment, options, times, json }: Request<Options, Own>,
  command: string,
  plays: readonly Played<Own>[],
  { recorded: _, ...brief }: Omit<Result, 'facts' | 'own'>,
  { folder, replay }: { readonly folder: string; readonly replay: string | undefined },
): void {
  const counts = countBy(plays.map(({ result: { verdict } }) => verdict));
  print(json, { experiment: name, ...options, times, counts, ...brief, folder }, () =>
    [
      `\n${wrap(`${name}: ${experiment.about}`)}`,
      resultText(brief),
      ...(times > 1 ? [`run ${plays.length} of ${times} times: ${countsText(counts)}`] : []),
      '',
      `repeat it: ${command}`,
      `report: ${folder}/index.html`,
      ...(replay === undefined ? [] : [`replay, without servers: ${folder}/${replay}`]),
    ].join('\n'),
  );
}

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');
