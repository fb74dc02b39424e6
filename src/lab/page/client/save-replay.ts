/** One file that replays the play anywhere, without a server: the page itself, and the events. */

import { replayFile } from '../../report/replay-file.ts';
import { events } from './event-log.ts';
import { lettersOf, type PlayView } from './model.ts';

export async function saveReplay(of: PlayView): Promise<void> {
  const [script, style] = await Promise.all(['/page.js', '/page.css'].map(textAt));
  const own = events.filter((event) => 'player' in event && event.player === of.id);
  const html = replayFile({ script: script ?? '', style: style ?? '', events: own });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([html], { type: 'text/html' }));
  link.download = `lockstep-${of.rung}-${lettersOf(of) || 'begin'}.html`;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function textAt(path: string): Promise<string> {
  return (await fetch(path)).text();
}
