/** `runs/<time>-<name>/`: facts and verdicts as JSON, what every process did, a report to read; `runs/latest` points there. */
import { cpus, release, totalmem } from 'node:os';
import { execa } from 'execa';
import type { Run } from '../drills/run-rung.ts';
import { programPath } from '../lab/processes.ts';
import type { PlayedRace, RaceResult } from '../races/judge.ts';
import { factsFiles, withoutFacts } from './facts-files.ts';
import { timeStamp, writeFolder } from './folder.ts';
import { raceText } from './race-text.ts';
import { auditLines, place, proofLines, runSentence } from './sentences.ts';
import { costLegend, costTable, legend, raceTable, runTable, serialTable } from './table.ts';

export interface RunRecord {
  readonly command: string;
  readonly runs: readonly Run[];
  /** The runs of the comparison that `serialTable` shows. */
  readonly serial?: readonly Run[];
  readonly races?: readonly PlayedRace[];
}

/** @returns the folder's path. */
export async function writeRunFolder(
  root: string,
  name: string,
  { command, runs, serial = [], races = [] }: RunRecord,
): Promise<string> {
  const about = { command, time: timeStamp(), machine: machine(), versions: await versions() };
  return writeFolder(root, name, {
    'report.json': {
      ...about,
      runs: runs.map(withoutFacts),
      serial: serial.map(withoutFacts),
      races: races.map(withoutFacts),
    },
    'report.md': markdown(about, runs, serial, races),
    ...factsFiles([...runs, ...serial, ...races]),
  });
}

type About = Record<'command' | 'time', string> & Record<'machine' | 'versions', Record<string, string>>;

function markdown(
  { command, time, machine: host, versions: programs }: About,
  runs: readonly Run[],
  serial: readonly Run[],
  races: readonly RaceResult[],
): string {
  const list = (entries: Record<string, string>) =>
    Object.entries(entries)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join('\n');
  const chapters = runs.map(
    (run) =>
      `## ${place(run)}\n\n${runSentence(run)}\n\n\`\`\`text\n${[auditLines(run.audit), ...proofLines(run)].join('\n')}\n\`\`\``,
  );
  const results = runs.map(({ result }) => result);
  return `# Lockstep, ${time}

\`${command}\`

\`\`\`text
${runTable(results)}

${legend}

${costTable(results)}

${costLegend}
\`\`\`

Time between check and write (\`workMs\`): ${[...new Set(runs.map(({ result }) => result.workMs))].join(', ')} ms.

${chapters.join('\n\n')}

${serialChapter(serial)}

${raceChapter(races)}

## Machine and versions

${list(host)}
${list(programs)}
`;
}

const machine = (): Record<string, string> => ({
  cores: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
  memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
  kernel: release(),
  node: process.version,
});

async function versions(): Promise<Record<string, string>> {
  const ask = async (program: string, argument: string) => {
    const { all } = await execa(programPath(program), [argument], { all: true, reject: false });
    return (all ?? '').split('\n')[0] ?? '';
  };
  const [redis, mysql, nginx] = await Promise.all([
    ask('redis-server', '--version'),
    ask('mariadbd', '--version'),
    ask('nginx', '-v'),
  ]);
  return { redis, mysql, nginx };
}

const serialChapter = (serial: readonly Run[]): string =>
  serial.length === 0
    ? ''
    : `## What being serial costs\n\n\`\`\`text\n${serialTable(serial.map(({ result }) => result))}\n\`\`\``;

function raceChapter(races: readonly RaceResult[]): string {
  if (races.length === 0) return '';
  const fenced = (text: string) => `\`\`\`text\n${text}\n\`\`\``;
  return ['## Races', fenced(raceTable(races)), ...races.map((race) => fenced(raceText(race)))].join('\n\n');
}
