/** What the learners predicted on each rung, and what they saw: counts only, no names. */
import { type Outcome, type OutcomeSeen, outcomeIn } from '../../lab/play/outcomes.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import type { RungTally } from '../room-now.ts';

interface Shown {
  readonly rung: string;
  outcome: OutcomeSeen;
}

interface OfRung {
  readonly predicted: Map<Outcome, number>;
  readonly seen: Map<OutcomeSeen, number>;
  broken: number;
}

function countIn<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export class Tally {
  readonly #byRung = new Map<string, OfRung>();
  readonly #hasPredicted = new Set<string>();
  /** The plays that are not over, by their player. */
  readonly #shown = new Map<string, Shown>();

  /** The first prediction counts. */
  predict(viewer: string, rung: string, outcome: Outcome): void {
    const who = `${viewer} ${rung}`;
    if (this.#hasPredicted.has(who)) return;
    this.#hasPredicted.add(who);
    countIn(this.#of(rung).predicted, outcome);
  }

  read(event: StageEvent): void {
    if (!('player' in event)) return;
    if (event.kind === 'play') this.#shown.set(event.player, { rung: event.rung, outcome: 'none' });
    const shown = this.#shown.get(event.player);
    if (!shown) return;
    if (event.kind === 'readings') shown.outcome = outcomeIn(event.readings);
    if (event.kind === 'ended') this.#shown.delete(event.player);
    if (event.kind !== 'judged' || !(event.isFinal || event.broken.length > 0)) return;
    this.#shown.delete(event.player);
    const rung = this.#of(shown.rung);
    countIn(rung.seen, shown.outcome);
    if (event.broken.length > 0) rung.broken += 1;
  }

  all(): RungTally[] {
    return [...this.#byRung].map(([rung, { predicted, seen, broken }]) => ({
      ...{ rung, broken, predicted: Object.fromEntries(predicted) },
      seen: Object.fromEntries(seen),
    }));
  }

  #of(rung: string): OfRung {
    const known = this.#byRung.get(rung) ?? { predicted: new Map(), seen: new Map(), broken: 0 };
    this.#byRung.set(rung, known);
    return known;
  }
}
