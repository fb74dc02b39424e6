/** Reads only what was added to the history since the last look: a look costs no more with time. */
import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { HistoryEvent } from '../../service/trace/history.ts';

export class HistoryTail {
  readonly #folder: string;
  readonly #offsets = new Map<string, number>();

  /** What is there already is skipped. */
  constructor(folder: string) {
    this.#folder = folder;
    for (const name of this.#names()) this.#offsets.set(name, statSync(join(folder, name)).size);
  }

  /** In the order of time. */
  read(): HistoryEvent[] {
    const events = this.#names().flatMap((name) => this.#added(name));
    return events.sort((one, other) => Number(BigInt(one.at) - BigInt(other.at)));
  }

  #names(): string[] {
    return readdirSync(this.#folder).filter((name) => name.endsWith('.jsonl'));
  }

  #added(name: string): HistoryEvent[] {
    const offset = this.#offsets.get(name) ?? 0;
    const file = openSync(join(this.#folder, name), 'r');
    try {
      const size = fstatSync(file).size;
      if (size <= offset) return [];
      const buffer = Buffer.alloc(size - offset);
      readSync(file, buffer, 0, buffer.length, offset);
      const end = buffer.lastIndexOf('\n') + 1; // The last line may be half written.
      this.#offsets.set(name, offset + end);
      const lines = buffer.toString('utf8', 0, end).split('\n').filter(Boolean);
      return lines.map((line) => JSON.parse(line) as HistoryEvent);
    } finally {
      closeSync(file);
    }
  }
}
