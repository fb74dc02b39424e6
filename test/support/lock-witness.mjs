// A witness of mutual exclusion that knows no lock: files. A section leaves a mark in its key's
// folder while it is inside, and adds one to a counter by reading, waiting and writing.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function openWitness(folder) {
  const inside = (key) => join(folder, key, 'inside');
  const counter = (key) => join(folder, key, 'counter');

  /** The mark comes before the look: of two sections that enter together, one sees the other. */
  function enter(key, section) {
    mkdirSync(inside(key), { recursive: true });
    writeFileSync(join(inside(key), section), '');
    const beside = readdirSync(inside(key)).filter((other) => other !== section);
    return { beside, read: count(key) };
  }

  /** By a rename, so that no reader sees half of it. @returns the new count */
  function write(key, section, read) {
    writeFileSync(join(folder, section), String(read + 1));
    renameSync(join(folder, section), counter(key));
    return read + 1;
  }

  const leave = (key, section) => rmSync(join(inside(key), section), { force: true });

  function count(key) {
    try {
      return Number(readFileSync(counter(key), 'utf8'));
    } catch {
      return 0; // Nobody has written yet.
    }
  }

  return { enter, write, leave };
}
