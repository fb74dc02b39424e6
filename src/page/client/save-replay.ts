/** One file that replays a play, or a run, without a server: the page itself, and the events. */
import { replayFile } from '../../lab/report/replay-file.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import { events } from './event-log.ts';
import { lettersOf, type PlayView } from './play-model.ts';
import type { RunView } from './run-model.ts';

export const saveReplay = (of: PlayView): Promise<void> =>
  save(
    `${of.rung}-${lettersOf(of) || 'begin'}`,
    events.filter((event) => 'player' in event && event.player === of.player),
  );

/** The run that was the last to begin. */
export function saveRun({ experiment }: RunView): Promise<void> {
  const from = events.findLastIndex((event) => event.kind === 'started');
  const own = events.slice(Math.max(0, from));
  return save(
    experiment,
    own.filter((event) => !('player' in event)),
  );
}

async function save(name: string, own: readonly StageEvent[]): Promise<void> {
  const packed = await (await fetch('/page.packed')).text();
  const html = replayFile({ packed, events: own });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
  link.download = `lockstep-${name}.html`;
  link.click();
  URL.revokeObjectURL(link.href);
}
