/** What each choice does to a buyer, the order worker or a server, and when it can be taken. */
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { labError } from '../errors.ts';
import { oneHourMs } from '../faults/process.ts';
import type { PlayedLane } from '../stage/events.ts';
import { workerLane } from '../stage/lane-messages.ts';
import { canMove } from '../stage/place.ts';
import type { Player } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import type { Lanes } from './lanes.ts';
import { type Act, isOfServers, type ServerFault } from './letters.ts';
import { lockProbe, type Probe } from './lock-probe.ts';
import type { PlayFaults } from './play-faults.ts';
import type { PlayWorker } from './play-worker.ts';
import { brokenBy, ServerFaults } from './server-faults.ts';
import { serverFaultsOf } from './set-up.ts';

interface ActRow {
  /** @param to the lane, the server or the fault */
  readonly isPossible: (to: string) => boolean | Promise<boolean>;
  readonly act: (to: string) => unknown;
}
type Acts = Readonly<Record<Act['does'], ActRow>>;

interface ActScene {
  readonly stage: Stage;
  readonly rung: RungName;
  readonly voucherId: string;
  readonly lanes: readonly PlayedLane[];
  readonly player: Player;
  readonly moves: Lanes;
  readonly faults: PlayFaults;
}

export class PlayActs {
  readonly servers: ServerFaults;
  /** The lanes whose next answer is lost; those that forget to release; that buy in their lock. */
  readonly losing = new Set<string>();
  readonly forgetting = new Set<string>();
  readonly nesting = new Set<string>();
  /** A server or a network was broken: it explains a refused lock. */
  hasBroken = false;
  readonly #scene: ActScene;
  readonly #player: Player;
  readonly #moves: Lanes;
  readonly #faults: PlayFaults;
  readonly #acts: Acts = {
    move: { isPossible: (lane) => this.canGo().includes(lane), act: (lane) => this.#move(lane) },
    kill: { isPossible: (lane) => this.#stands(lane), act: (lane) => this.#kill(lane) },
    pause: {
      isPossible: (lane) => this.#stands(lane) && !this.#standsWithWorker(lane),
      act: (lane) => this.#faults.pause(lane, this.#pidOf(lane), `the process of ${lane}`),
    },
    block: {
      isPossible: (lane) => this.#stands(lane) && !this.#standsWithWorker(lane),
      act: (lane) => this.#block(lane),
    },
    resume: {
      isPossible: (lane) => this.#faults.isPaused(lane),
      act: (lane) => this.#faults.resume(lane),
    },
    'end-lease': {
      isPossible: (lane) => this.#canEndLease(lane),
      act: (lane) => this.#endLease(lane),
    },
    'pass-time': {
      isPossible: (lane) => this.#canEndLease(lane),
      act: (lane) => this.#passTime(lane),
    },
    'lose-answer': {
      isPossible: (lane) => this.canGo().includes(lane) && !this.losing.has(lane),
      act: (lane) => this.losing.add(lane),
    },
    'cut-off': {
      isPossible: (lane) => this.#canCutOff(lane),
      act: (lane) => this.#break('cut-off', lane),
    },
    forget: {
      isPossible: (lane) => this.#canChange(lane),
      act: (lane) => this.forgetting.add(lane),
    },
    nest: {
      isPossible: (lane) => this.#canChange(lane),
      act: (lane) => this.nesting.add(lane),
    },
    stop: {
      isPossible: (server) => this.#faults.canStop(server),
      act: (server) => this.#faults.stop(server),
    },
    start: {
      isPossible: (server) => this.#faults.canStart(server),
      act: (server) => this.#start(server),
    },
    break: {
      isPossible: (fault) => this.#canBreak(fault as ServerFault),
      act: (fault) => this.#break(fault as ServerFault, ''),
    },
    mend: {
      isPossible: (to) => this.servers.isBroken(...brokenBy(to)),
      act: (to) => this.mend(to),
    },
  };
  #probe: Promise<Probe> | undefined;

  constructor(scene: ActScene) {
    this.#scene = scene;
    this.#player = scene.player;
    this.#moves = scene.moves;
    this.#faults = scene.faults;
    const { stage, voucherId, faults, lanes } = scene;
    this.servers = new ServerFaults({
      stage,
      rung: rungNamed(scene.rung),
      faults,
      voucherId,
      leaseMs: oneHourMs,
      userId: lanes[0]?.userId ?? '',
      lockAnswers: async () => (await this.#sale()).lockAnswers(),
    });
  }

  get #isPaused(): boolean {
    return this.#scene.lanes.some(({ name }) => this.#faults.isPaused(name));
  }

  /** What other plays would feel: a process that stands still, or servers that answer nobody. */
  get standsInTheWay(): boolean {
    return this.#isPaused || this.servers.areAway;
  }

  /** The order worker consumes nothing until somebody moves it, or starts it. */
  get holdsWorker(): boolean {
    const { worker } = this.#moves;
    return worker !== undefined && worker.place.is !== 'free';
  }

  /** The lanes that a choice would move. */
  canGo(): string[] {
    const { lanes, moves } = this.#scene;
    return lanes.map(({ name }) => name).filter((lane) => canMove(moves.place(lane)));
  }

  async canDo({ does, to }: Act): Promise<boolean> {
    return (await this.#actsOn(to)[does]?.isPossible(to)) ?? false;
  }

  /** @returns of a lease whose time has passed: whether it was renewed */
  async do({ does, to }: Act): Promise<unknown> {
    this.hasBroken ||= isOfServers({ does, to }) || does === 'cut-off';
    return this.#actsOn(to)[does]?.act(to);
  }

  #actsOn(to: string): Partial<Acts> {
    return to === workerLane ? this.#workerActs() : this.#acts;
  }

  #workerActs(): Partial<Acts> {
    const { worker } = this.#moves;
    if (!worker) return {};
    return {
      move: {
        isPossible: () => this.canGo().includes(workerLane),
        act: () => this.#player.resume(workerLane),
      },
      kill: {
        isPossible: () => worker.canDie && !this.#isPaused, // The next one is looked for.
        act: () => this.#killWorker(worker),
      },
      pause: { isPossible: () => worker.canPause, act: () => worker.pause() },
      resume: { isPossible: () => worker.canResume, act: () => worker.resume() },
      stop: { isPossible: () => worker.canStop, act: () => worker.stop() },
      start: {
        isPossible: () => worker.canStart && !this.#isPaused,
        act: () => worker.start(),
      },
    };
  }

  /** Afterwards every instance must sell: one that stands still would not. */
  #canBreak(name: ServerFault): boolean {
    const isThere = serverFaultsOf(this.#scene.rung).includes(name) && this.servers.canBreak(name);
    return isThere && !this.#isPaused && (name !== 'session-killed' || this.#isRecording());
  }

  #stands(lane: string): boolean {
    return this.#moves.place(lane).is === 'at';
  }

  /** The transaction of the order worker is open. */
  #isRecording(): boolean {
    const place = this.#moves.place(workerLane);
    return place.is === 'at' && place.checkpoint === 'recording';
  }

  #canCutOff(lane: string): boolean {
    const hasService = rungNamed(this.#scene.rung).lockService !== undefined;
    return this.#stands(lane) && hasService && !this.servers.isBroken('cut-off', lane);
  }

  #canEndLease(name: string): boolean | Promise<boolean> {
    const lane = this.#laneNamed(name);
    if (!lane || !this.#moves.locks.isNewestOwner(name)) return false;
    return this.#faults.canEndLease(this.#scene.voucherId, lane);
  }

  /** It has not asked for its lock yet. */
  #canChange(lane: string): boolean {
    return rungNamed(this.#scene.rung).lock !== undefined && this.#moves.place(lane).is === 'idle';
  }

  async #endLease(name: string): Promise<void> {
    const lane = this.#laneNamed(name);
    if (!lane) return;
    await this.#faults.endLease(this.#scene.voucherId, lane, this.#player.requestId(name));
    this.#moves.locks.leaseEnded(name); // Dead and releasing processes write no event.
  }

  async #passTime(name: string): Promise<boolean> {
    const lane = this.#laneNamed(name);
    const request = this.#player.requestId(name);
    const isRenewed = lane && (await this.#faults.passTime(this.#scene.voucherId, lane, request));
    if (!isRenewed) this.#moves.locks.leaseEnded(name);
    return isRenewed ?? false;
  }

  /** @throws CHOICES_DISTURBED when nothing was seen of it */
  async #block(lane: string): Promise<void> {
    const { instance = '' } = this.#laneNamed(lane) ?? {};
    if (await this.#faults.block(lane, instance)) return;
    throw labError('CHOICES_DISTURBED', `nothing was seen of the blocked event loop of ${lane}`);
  }

  async #move(lane: string): Promise<void> {
    if (this.#player.state(lane)?.kind === 'answered') this.#player.again(lane);
    else await this.#player.resume(lane);
  }

  /** @throws CHOICES_DISTURBED when nothing was seen of it */
  async #break(name: ServerFault | 'cut-off', lane: string): Promise<void> {
    await this.#sale(); // It can be created now.
    if (await this.servers.break(name, lane, this.#player.state(lane))) {
      this.#moves.worker?.serversBroken(name);
      return this.#scene.stage.connections.ready();
    }
    throw labError('CHOICES_DISTURBED', `nothing was seen of ${name}`);
  }

  /** Until instances have connected again, the release of a lane would miss a server that runs. */
  async #start(server: string): Promise<void> {
    await this.#faults.start(server);
    const areCutOff = this.#scene.lanes.some(({ name }) => this.servers.isBroken('cut-off', name));
    if (this.#faults.stopped.length > 0 || this.standsInTheWay || areCutOff) return;
    await (await this.#sale()).lockAnswers();
  }

  async mend(to: string): Promise<void> {
    await this.servers.mend(...brokenBy(to));
    await this.#scene.stage.connections.ready();
  }

  /** The next play begins at once: its instances have their connections again. */
  async recover(): Promise<void> {
    if (this.hasBroken) await (await this.#sale()).lockAnswers();
  }

  #sale(): Promise<Probe> {
    this.#probe ??= lockProbe(this.#scene.stage, this.#scene.rung);
    return this.#probe;
  }

  /** Where the queue is in an instance, its requests die too. */
  async #killWorker(worker: PlayWorker): Promise<void> {
    for (const { name, instance } of this.#scene.lanes) {
      if (instance !== worker.process || name === workerLane || !this.#moves.isStanding(name))
        continue;
      this.#tellDeath(name);
      this.#faults.died(name);
    }
    await worker.kill();
  }

  /** The queue is in its instance, and the order worker stands there. */
  #standsWithWorker(lane: string): boolean {
    return this.holdsWorker && this.#moves.worker?.process === this.#laneNamed(lane)?.instance;
  }

  #laneNamed(name: string): PlayedLane | undefined {
    return this.#scene.lanes.find((lane) => lane.name === name);
  }

  async #kill(lane: string): Promise<void> {
    const { worker } = this.#moves;
    if (worker && this.#standsWithWorker(lane)) return this.#killWorker(worker);
    await this.killProcess(lane, `the process of ${lane}`);
    this.#moves.locks.died(lane);
  }

  async killProcess(lane: string, name: string): Promise<void> {
    this.#tellDeath(lane);
    await this.#faults.kill(lane, this.#pidOf(lane), name);
  }

  /** Before its client sees that no answer comes. */
  #tellDeath(lane: string): void {
    this.#scene.stage.emit({ kind: 'lane', player: this.#player.id, lane, is: 'dead' });
  }

  #pidOf(lane: string): number {
    const { instance = '' } = this.#laneNamed(lane) ?? {};
    return this.#scene.stage.lab.pidOf(instance);
  }
}
