/**
 * The page has the lab for itself while somebody plays, as a command has. Its service then has the
 * limits of a person who thinks; afterwards it is as it was.
 */

import {
  asDatabaseRoot,
  restoreSettings,
  setRowWait,
} from '../../lab/environment/database-root.ts';
import { Lab } from '../../lab/environment/lab.ts';
import { alone, withLab } from '../../lab/environment/session.ts';
import { labError } from '../../lab/errors.ts';
import { serveLanes } from '../../lab/play/judged-play.ts';
import { laneNames } from '../../lab/play/letters.ts';
import { type RowWaits, rowWaitsNow } from '../../lab/play/row-waits.ts';
import { emitter, type Reader } from '../../lab/stage/events.ts';
import { type Stage, withStage } from '../../lab/stage/stage.ts';

/** What is played on. */
export interface LabSession {
  readonly stage: Stage;
  readonly rowWaits: RowWaits;
}

/** A transaction waits so long for a row, while somebody thinks. */
const thinkingSeconds = 3_600;

export class LabReservation {
  readonly #folder: string;
  readonly #reader: Reader;
  #session: Promise<LabSession> | undefined;
  #left: Promise<void> = Promise.resolve();
  #giveBack: () => void = () => {};

  constructor(folder: string, reader: Reader) {
    this.#folder = folder;
    this.#reader = reader;
  }

  get isTaken(): boolean {
    return this.#session !== undefined;
  }

  /** @throws LAB_BUSY when a command has the lab; LAB_NOT_RUNNING, LAB_HAS_FAULT */
  async take(): Promise<LabSession> {
    if (!this.#session) await this.#left.catch(() => {});
    this.#session ??= this.#reserve();
    return this.#session;
  }

  /** Resolves when the lab is as it was. @throws what kept it from that */
  async leave(): Promise<void> {
    this.#giveBack();
    await this.#left;
  }

  #reserve(): Promise<LabSession> {
    const session = Promise.withResolvers<LabSession>();
    const givenBack = Promise.withResolvers<void>();
    this.#giveBack = givenBack.resolve;
    this.#left = this.#use(session.resolve, givenBack.promise).finally(() => {
      this.#session = undefined;
    });
    this.#left.catch(session.reject); // Once the session is there, `leave` tells it.
    return session.promise;
  }

  async #use(ready: (session: LabSession) => void, givenBack: Promise<void>): Promise<void> {
    if (!Lab.running(this.#folder)) {
      await alone(this.#folder, async () => {}); // A command may be restarting the service.
      if (!Lab.running(this.#folder)) throw labError('LAB_NOT_RUNNING');
    }
    const onStage = async (stage: Stage) => {
      await serveLanes(stage, laneNames.length);
      ready({ stage, rowWaits: rowWaitsNow(stage.lab) });
      await givenBack;
    };
    await withLab(
      this.#folder,
      () => {},
      (lab, signal) => this.#play(lab, signal, onStage),
    );
  }

  async #play(lab: Lab, signal: AbortSignal, onStage: (stage: Stage) => Promise<void>) {
    const data = lab.dataFolder(lab.database);
    signal.addEventListener('abort', () => this.#giveBack());
    await asDatabaseRoot(data, (root) => setRowWait(root, thinkingSeconds));
    try {
      await withStage(lab, signal, onStage, emitter([this.#reader]));
    } finally {
      await restoreSettings(data);
    }
  }
}
