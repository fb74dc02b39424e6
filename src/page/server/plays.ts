/** What the viewers play: each has a feed of events, and one play in each of its views. */

import { Mutex, Semaphore } from 'async-mutex';
import { labError } from '../../lab/errors.ts';
import { countOrders, type OrdersOfRung } from '../../lab/play/all-orders.ts';
import { type AskedPlay, type JudgedPlay, judgedPlay } from '../../lab/play/judged-play.ts';
import { actOf, choicesIn, hasFaults, lanesOf } from '../../lab/play/letters.ts';
import { type Choice, ChoicePlay } from '../../lab/play/play.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { Feed } from './feed.ts';
import { LabReservation, type LabSession } from './lab-reservation.ts';

export interface NewPlay {
  readonly rung: RungName;
  /** They are played at once. */
  readonly choices: string;
  /** The view that shows it: that of one tab. */
  readonly slot: string;
  /** What asked for it: told with the play. */
  readonly request: string;
  readonly lanes: number;
  readonly stopsEverywhere: boolean;
  /** So many of his plays stay; the oldest one ends. */
  readonly playsMax: number;
}

/** Hears what happens in the plays of a viewer. */
export type PlayReader = (viewer: string, event: StageEvent) => void;

interface Viewer {
  readonly name: string;
  readonly feed: Feed;
  /** By the view. */
  readonly plays: Map<string, ChoicePlay>;
  readonly firstInstance: number;
  /** One of his commands at a time. */
  readonly turn: Mutex;
}

/** Commands at once. One that concerns the plays of others is alone. */
const commandsMax = 64;

export class Plays {
  readonly #reservation: LabReservation;
  readonly #viewers = new Map<string, Viewer>();
  /** Of every play that is shown, by its player. */
  readonly #owners = new Map<string, Viewer>();
  readonly #commands = new Semaphore(commandsMax);
  readonly #counted = new Map<RungName, OrdersOfRung>();
  readonly #readers = new Set<PlayReader>();
  #usedAt = performance.now();

  constructor(folder: string) {
    this.#reservation = new LabReservation(folder, (event) => this.#read(event));
  }

  /** Until they give it back, no command can use it. */
  get haveLab(): boolean {
    return this.#reservation.isTaken;
  }

  feedOf(viewer: string): Feed {
    return this.#viewer(viewer).feed;
  }

  /** @returns what ends it */
  listen(reader: PlayReader): () => void {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }

  /** A viewer who has gone: nothing of him stands in the way of others. */
  forget(viewerName: string): Promise<void> {
    const viewer = this.#viewer(viewerName);
    return this.#command(async () => {
      for (const slot of [...viewer.plays.keys()]) await this.#giveUp(viewer, slot);
    }, viewer);
  }

  /** @returns the id of the play. @throws LockstepError: then the view has none */
  begin(viewerName: string, wanted: NewPlay): Promise<string> {
    const viewer = this.#viewer(viewerName);
    const isAlone = rungNamed(wanted.rung).queue !== undefined || hasFaults(wanted.choices);
    return this.#inTurn(
      (session) => this.#replace(viewer, wanted, session),
      isAlone ? null : viewer,
    );
  }

  /** Ends the play of the view, and that of its comparison. */
  async #replace(viewer: Viewer, wanted: NewPlay, session: LabSession): Promise<string> {
    const slots = [wanted.slot, wanted.slot.replace('main', 'beside')];
    const ending = slots.flatMap((slot) => viewer.plays.get(slot) ?? []);
    await this.#refuseBroken(wanted.rung, ending);
    let shown = viewer.plays.get(wanted.slot)?.id ?? '';
    for (const slot of slots) await this.#end(viewer, slot);
    await this.#makeRoom(viewer, wanted.playsMax);
    const begins = (id: string) => {
      this.#owners.set(id, viewer);
      shown = id;
    };
    try {
      const play = await this.#beginPlay(viewer, wanted, session, begins);
      viewer.plays.set(wanted.slot, play);
      for (const choice of choicesIn(wanted.choices) ?? [])
        await this.#step(viewer, wanted.slot, play, choice);
      return play.id;
    } catch (error) {
      this.#tellEnd(viewer, shown, 'failed');
      throw error;
    }
  }

  #beginPlay(
    viewer: Viewer,
    wanted: NewPlay,
    { stage, rowWaits }: LabSession,
    begins: (id: string) => void,
  ): Promise<ChoicePlay> {
    const { rung, slot, request, stopsEverywhere, choices } = wanted;
    // A comparison that kills a process does not kill that of the play beside it.
    const firstInstance = viewer.firstInstance + (slot.endsWith('beside') ? 2 : 0);
    return ChoicePlay.begin(stage, {
      rung,
      slot,
      request,
      stopsEverywhere,
      firstInstance,
      isObserved: true,
      begins,
      planned: choices,
      lanes: lanesOf(choices, wanted.lanes),
      rowWaits: () => rowWaits(this.#vouchersBut(viewer.plays.get(slot))),
    });
  }

  #tellEnd({ feed }: Viewer, player: string, because: 'left' | 'failed'): void {
    if (player) feed.tell({ kind: 'ended', because, player });
  }

  /** @returns false when there is no such play. @throws LockstepError */
  choose(viewerName: string, id: string, choice: string): Promise<boolean> {
    const viewer = this.#viewer(viewerName);
    const shown = [...viewer.plays.values()].find((each) => each.id === id);
    const isAlone = hasFaults(choice) || shown?.hasWorker;
    const choosing = async () => {
      const [slot, play] = [...viewer.plays].find(([, each]) => each.id === id) ?? [];
      if (slot === undefined || !play) return false;
      if (!play.knows(choice)) throw labError('UNKNOWN_LANE', choice, play.lanes);
      if (actOf(choice).does === 'break') this.#refusePaused([play]);
      if (play.hasWorker) await this.#refuseHeldWorker([play]);
      await this.#step(viewer, slot, play, choice);
      return true;
    };
    return this.#command(choosing, isAlone ? null : viewer);
  }

  /** Plays these choices again and again. @returns how often a promise broke */
  async again(request: AskedPlay, times: number): Promise<number> {
    let violated = 0;
    for (let count = 0; count < times; count++)
      if ((await this.#playOnce(request)).violated.length > 0) violated += 1;
    return violated;
  }

  /** Plays these choices once. @returns what each of them sent to Redis and MySQL */
  async commands(request: AskedPlay): Promise<Pick<Choice, 'choice' | 'commands'>[]> {
    const { choices } = await this.#playOnce({ ...request, hasCommands: true });
    return choices.map(({ choice, commands = [] }) => ({ choice, commands }));
  }

  #playOnce(request: AskedPlay): Promise<JudgedPlay> {
    return this.#inTurn(async ({ stage, rowWaits }) => {
      await this.#refuseBroken(request.rung);
      const quick = { ...request, isQuick: true };
      return judgedPlay(stage, quick, this.#ownRows(rowWaits));
    });
  }

  /** Every order of two buyers, played once as long as the page runs. */
  orders(rung: RungName): Promise<OrdersOfRung> {
    return this.#inTurn(async ({ stage, rowWaits }) => {
      await this.#refuseBroken(rung);
      const counted =
        this.#counted.get(rung) ?? (await countOrders(stage, rung, this.#ownRows(rowWaits)));
      this.#counted.set(rung, counted);
      return counted;
    });
  }

  /** Gives the lab back. */
  async leave(): Promise<void> {
    await this.#command(async () => {
      for (const viewer of this.#viewers.values())
        for (const slot of [...viewer.plays.keys()]) await this.#giveUp(viewer, slot);
      await this.#reservation.leave();
    });
  }

  /** Gives the lab back, for this viewer. @throws PLAYS_GO_ON while another one plays */
  async leaveFor(viewerName: string): Promise<void> {
    const own = this.#viewer(viewerName);
    const others = [...this.#viewers.values()].filter((viewer) => viewer !== own);
    if (others.some(({ feed, plays }) => feed.isRead && plays.size > 0))
      throw labError('PLAYS_GO_ON');
    await this.leave();
  }

  /** What another play has broken. @param ending the plays that will be over by then */
  async #refuseBroken(rung: RungName, ending: readonly ChoicePlay[] = []): Promise<void> {
    this.#refusePaused(ending);
    if (rungNamed(rung).queue) await this.#refuseHeldWorker(ending);
  }

  /** A voucher is on sale once every instance knows it: one that stands still would not. */
  #refusePaused(except: readonly ChoicePlay[]): void {
    const others = this.#plays().filter((play) => !except.includes(play));
    if (others.some(({ standsInTheWay }) => standsInTheWay)) throw labError('PROCESS_PAUSED');
  }

  /** One order worker is there for all plays. A play that nobody looks at gives it back. */
  async #refuseHeldWorker(except: readonly ChoicePlay[]): Promise<void> {
    for (const viewer of this.#viewers.values())
      for (const [slot, play] of [...viewer.plays]) {
        if (except.includes(play) || !play.holdsWorker) continue;
        if (viewer.feed.isRead) throw labError('WORKER_HELD');
        await this.#giveUp(viewer, slot);
      }
  }

  #plays(): ChoicePlay[] {
    return [...this.#viewers.values()].flatMap((viewer) => [...viewer.plays.values()]);
  }

  /** Of tabs that were closed. */
  async #makeRoom(viewer: Viewer, playsMax: number): Promise<void> {
    const [oldest] = viewer.plays.keys();
    if (oldest !== undefined && viewer.plays.size >= playsMax) await this.#giveUp(viewer, oldest);
  }

  /** Its view says that it is over. */
  async #giveUp(viewer: Viewer, slot: string): Promise<void> {
    const { id = '' } = viewer.plays.get(slot) ?? {};
    await this.#end(viewer, slot);
    this.#tellEnd(viewer, id, 'left');
  }

  async leaveAfter(idleMs: number): Promise<void> {
    if (this.#reservation.isTaken && performance.now() - this.#usedAt > idleMs) await this.leave();
  }

  /** @param viewer it concerns his plays alone; null: nothing else moves meanwhile */
  #command<T>(work: () => Promise<T>, viewer: Viewer | null = null): Promise<T> {
    const used = async () => {
      this.#usedAt = performance.now();
      try {
        return await work();
      } finally {
        this.#usedAt = performance.now();
      }
    };
    if (!viewer) return this.#commands.runExclusive(used, commandsMax);
    return viewer.turn.runExclusive(() => this.#commands.runExclusive(used));
  }

  #inTurn<T>(work: (session: LabSession) => Promise<T>, viewer: Viewer | null = null): Promise<T> {
    return this.#command(async () => work(await this.#reservation.take()), viewer);
  }

  /** A play that failed is over: it proves nothing. */
  async #step(viewer: Viewer, slot: string, play: ChoicePlay, choice: string): Promise<void> {
    try {
      await play.choose(choice);
    } catch (error) {
      viewer.plays.delete(slot);
      this.#tellEnd(viewer, play.id, 'failed');
      await play.abandon().catch(() => {});
      throw error;
    }
  }

  /** Ends a play; its remaining events are not sent. */
  async #end(viewer: Viewer, slot: string): Promise<void> {
    const play = viewer.plays.get(slot);
    if (!play) return;
    viewer.plays.delete(slot);
    this.#owners.delete(play.id);
    await play.end();
  }

  #ownRows = (rowWaits: LabSession['rowWaits']) => () => rowWaits(this.#vouchersBut());

  #vouchersBut(own?: ChoicePlay): string[] {
    return this.#plays()
      .filter((play) => play !== own)
      .map(({ voucherId }) => voucherId);
  }

  #viewer(name: string): Viewer {
    const known = this.#viewers.get(name);
    if (known) return known;
    const firstInstance = this.#viewers.size;
    const feed = new Feed();
    const viewer = { name, feed, plays: new Map(), firstInstance, turn: new Mutex() };
    this.#viewers.set(name, viewer);
    return viewer;
  }

  /** The feeds have what happens in plays, and nothing else. */
  #read(event: StageEvent): void {
    const viewer = 'player' in event ? this.#owners.get(event.player) : undefined;
    if (!viewer) return;
    viewer.feed.push(event);
    for (const read of this.#readers) read(viewer.name, event);
  }
}
