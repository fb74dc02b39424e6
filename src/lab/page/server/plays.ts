/** What the viewers play: each has a feed of events, and one play in each of its views. */
import { Mutex } from 'async-mutex';
import type { RungName } from '../../../ladder/rungs.ts';
import { countOrders, type OrdersOfRung } from '../../choices/all-orders.ts';
import { judgedPlay } from '../../choices/judged-play.ts';
import { choicesIn, lanesOf } from '../../choices/letters.ts';
import { ChoicePlay } from '../../choices/play.ts';
import type { StageEvent } from '../../stage/events.ts';
import { Feed } from './feed.ts';
import { Seat, type Table } from './seat.ts';

export interface Wanted {
  readonly rung: RungName;
  /** They are played at once. */
  readonly choices: string;
  /** The view that shows it. */
  readonly slot: string;
  readonly lanes: number;
  readonly isFine: boolean;
}

interface Viewer {
  readonly feed: Feed;
  /** By the view. */
  readonly plays: Map<string, ChoicePlay>;
  readonly firstInstance: number;
}

const forEverybody: readonly StageEvent['kind'][] = ['note', 'service', 'fault', 'healed'];

export class Plays {
  readonly #seat: Seat;
  readonly #viewers = new Map<string, Viewer>();
  /** Of every play that is shown, by its player. */
  readonly #owners = new Map<string, Viewer>();
  /** One command at a time: a step must find nothing else that moves. */
  readonly #turn = new Mutex();
  readonly #counted = new Map<RungName, OrdersOfRung>();
  #beginning: Viewer | undefined;
  #usedAt = performance.now();

  constructor(folder: string) {
    this.#seat = new Seat(folder, (event) => this.#read(event));
  }

  feedOf(viewer: string): Feed {
    return this.#viewer(viewer).feed;
  }

  /** @returns the id of the play. @throws LockstepError */
  begin(viewerName: string, wanted: Wanted): Promise<string> {
    const viewer = this.#viewer(viewerName);
    return this.#inTurn(async ({ stage, rowWaits }) => {
      const { rung, slot, isFine, choices } = wanted;
      await this.#end(viewer, slot);
      const names = lanesOf(choices, wanted.lanes);
      this.#beginning = viewer;
      const others = () => this.#rowWaitersBut(viewer, slot);
      const play = await ChoicePlay.begin(stage, {
        ...{ rung, slot, isFine, planned: choices, lanes: names, isObserved: true },
        firstInstance: viewer.firstInstance,
        rowWaits: async () => (await rowWaits()) - others(),
      }).finally(() => {
        this.#beginning = undefined;
      });
      viewer.plays.set(slot, play);
      for (const choice of choicesIn(choices) ?? []) await this.#step(viewer, slot, play, choice);
      return play.id;
    });
  }

  /** @returns false when there is no such play. @throws LockstepError */
  choose(viewerName: string, id: string, choice: string): Promise<boolean> {
    const viewer = this.#viewer(viewerName);
    return this.#turn.runExclusive(async () => {
      this.#usedAt = performance.now();
      const [slot, play] = [...viewer.plays].find(([, each]) => each.id === id) ?? [];
      if (slot === undefined || !play) return false;
      await this.#step(viewer, slot, play, choice);
      return true;
    });
  }

  /** Plays these choices again and again. @returns how often a promise broke */
  again(rung: RungName, choices: string, times: number): Promise<number> {
    return this.#inTurn(async ({ stage, rowWaits }) => {
      let violated = 0;
      for (let count = 0; count < times; count++) {
        const request = { rung, choices, toTheEnd: false, isQuick: true };
        const played = await judgedPlay(stage, request, this.#ownRows(rowWaits));
        if (played.violated.length > 0) violated += 1;
      }
      return violated;
    });
  }

  /** Every order of two buyers, played once as long as the page runs. */
  orders(rung: RungName): Promise<OrdersOfRung> {
    return this.#inTurn(async ({ stage, rowWaits }) => {
      const counted =
        this.#counted.get(rung) ?? (await countOrders(stage, rung, this.#ownRows(rowWaits)));
      this.#counted.set(rung, counted);
      return counted;
    });
  }

  /** Gives the lab back. */
  async leave(): Promise<void> {
    await this.#turn.runExclusive(async () => {
      for (const viewer of this.#viewers.values())
        for (const slot of viewer.plays.keys()) await this.#end(viewer, slot).catch(() => {});
      await this.#seat.leave();
    });
  }

  async leaveAfter(idleMs: number): Promise<void> {
    if (this.#seat.isTaken && performance.now() - this.#usedAt > idleMs) await this.leave();
  }

  #inTurn<T>(work: (table: Table) => Promise<T>): Promise<T> {
    return this.#turn.runExclusive(async () => {
      const table = await this.#seat.take();
      try {
        return await work(table);
      } finally {
        this.#usedAt = performance.now();
      }
    });
  }

  /** A play that failed is over: it proves nothing. */
  async #step(viewer: Viewer, slot: string, play: ChoicePlay, choice: string): Promise<void> {
    try {
      await play.choose(choice);
    } catch (error) {
      viewer.plays.delete(slot);
      await play.abandon().catch(() => {});
      throw error;
    }
  }

  async #end(viewer: Viewer, slot: string): Promise<void> {
    const play = viewer.plays.get(slot);
    if (!play) return;
    viewer.plays.delete(slot);
    this.#owners.delete(play.id); // Its rest is shown to nobody.
    await play.finish();
  }

  #ownRows = (rowWaits: Table['rowWaits']) => async () =>
    (await rowWaits()) - this.#rowWaitersBut();

  /** The lanes of all other plays that wait for a row of MySQL. */
  #rowWaitersBut(viewer?: Viewer, slot?: string): number {
    const own = slot === undefined ? undefined : viewer?.plays.get(slot);
    return [...this.#viewers.values()]
      .flatMap(({ plays }) => [...plays.values()])
      .filter((play) => play !== own)
      .reduce((sum, play) => sum + play.rowWaiters, 0);
  }

  #viewer(name: string): Viewer {
    const known = this.#viewers.get(name);
    if (known) return known;
    const viewer = { feed: new Feed(), plays: new Map(), firstInstance: this.#viewers.size };
    this.#viewers.set(name, viewer);
    return viewer;
  }

  #read(event: StageEvent): void {
    if ('player' in event) {
      if (event.kind === 'play' && this.#beginning) this.#owners.set(event.player, this.#beginning);
      this.#owners.get(event.player)?.feed.push(event);
    } else if (forEverybody.includes(event.kind))
      for (const { feed } of this.#viewers.values()) feed.push(event);
  }
}
