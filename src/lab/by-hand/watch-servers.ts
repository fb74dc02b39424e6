/** Tells the state of every server of the lab when it changes, whoever changed it. */
import type { Stage } from '../stage/stage.ts';

const everyMs = 500;

/** @returns what ends it */
export function watchServers({ lab, emit }: Stage): () => void {
  let before = '';
  const look = () => {
    const { parts } = lab;
    const now = JSON.stringify(parts);
    if (now !== before) emit({ kind: 'servers', parts });
    before = now;
  };
  look();
  const timer = setInterval(look, everyMs);
  return () => clearInterval(timer);
}
