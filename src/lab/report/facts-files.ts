/**
 * The facts that an experiment was judged by, in its folder: `facts.json`, the history in
 * `history.jsonl`, and what the stage emitted in `events.jsonl`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Facts } from '../../service/audit/facts.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { StageEvent } from '../stage/events.ts';

interface WithFacts {
  readonly facts: Facts;
}

export const withoutFacts = <Kind extends WithFacts>({
  facts: _,
  ...rest
}: Kind): Omit<Kind, 'facts'> => rest;

/** Files by name, for `writeFolder`. */
export function factsFiles(judged: readonly WithFacts[]): Record<string, unknown> {
  const events = judged.flatMap(({ facts }) => facts.history ?? []);
  return {
    'facts.json': judged.map(({ facts: { history: _, ...facts } }) => facts),
    'history.jsonl': events.map((event) => JSON.stringify(event)).join('\n'),
  };
}

export const eventsFile = (events: readonly StageEvent[]): Record<string, string> => ({
  'events.jsonl': events.map((event) => JSON.stringify(event)).join('\n'),
});

/** The answers to clients and the history, from the newest folder that has this voucher. */
export function keptFacts(
  root: string,
  { voucherId, createdAt }: Facts,
): Pick<Facts, 'attempts' | 'history'> {
  for (const folder of folders(root)) {
    const facts = read(join(root, folder, 'facts.json')).find(
      (kept) => kept.voucherId === voucherId && kept.createdAt === createdAt,
    );
    if (!facts?.attempts) continue;
    const history = eventsOf(join(root, folder, 'history.jsonl'), voucherId);
    return { attempts: facts.attempts, ...(history.length > 0 && { history }) };
  }
  return {};
}

/** Nothing, for a folder without facts. */
function read(file: string): readonly Facts[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Facts[];
  } catch {
    return [];
  }
}

function eventsOf(file: string, voucherId: string): HistoryEvent[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  const own = lines.filter((line) => line.includes(`"voucherId":"${voucherId}"`));
  return own.map((line) => JSON.parse(line) as HistoryEvent);
}

function folders(root: string): string[] {
  try {
    const entries = readdirSync(root, { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    return entries
      .map(({ name }) => name)
      .sort()
      .reverse();
  } catch {
    return [];
  }
}
