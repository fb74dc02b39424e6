/**
 * Opens the page to the learners of a room: at one address of this machine, which the instructor
 * names. Closed, the page listens on the loopback address alone.
 */

import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { type ServerType, serve } from '@hono/node-server';
import { labError } from '../../lab/errors.ts';
import { learnersApp } from './learners-app.ts';
import type { Plays } from './plays.ts';
import { Room, type RoomNow } from './room.ts';

/** So often the page looks who is here. */
const lookEveryMs = 1_000;
/** That the room is closed is under way to the learners so long before their connections end. */
const toldWithinMs = 200;

interface OpenRoom {
  readonly room: Room;
  readonly server: ServerType;
  readonly end: () => void;
}

export interface DoorOptions {
  readonly folder: string;
  readonly port: number;
  readonly plays: Plays;
}

export class RoomDoor {
  readonly #options: DoorOptions;
  #opened: OpenRoom | undefined;
  /** The instructors: they hear of a change. */
  readonly #told = new Set<string>();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Those of this machine that a room may reach. */
  get addresses(): string[] {
    const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    return all.flatMap(({ internal, family, address }) =>
      internal || family !== 'IPv4' ? [] : [address],
    );
  }

  /** @returns null while it is closed */
  now(viewer: string): RoomNow | null {
    this.#told.add(viewer);
    return this.#opened?.room.whole() ?? null;
  }

  /** @throws ROOM_NOT_OPENED */
  async open(address: string): Promise<void> {
    await this.close();
    const { folder, port, plays } = this.#options;
    const host = `${address}:${port}`;
    if (!isIPv4(address)) throw labError('ROOM_NOT_OPENED', host);
    const room = new Room(host, plays);
    const { fetch } = learnersApp(folder, plays, room);
    const server = serve({ fetch, port, hostname: address });
    await once(server, 'listening').catch((cause: unknown) => {
      throw labError('ROOM_NOT_OPENED', host).causedBy(cause);
    });
    const stopHearing = plays.listen((viewer, event) => {
      if (room.has(viewer)) room.tally.read(event);
    });
    const looking = setInterval(() => {
      room.look();
      this.#tell();
    }, lookEveryMs);
    const end = () => {
      stopHearing();
      clearInterval(looking);
    };
    this.#opened = { room, server, end };
    this.#tell();
  }

  /** @returns false while it is closed */
  show(rung: string): boolean {
    if (!this.#opened) return false;
    this.#opened.room.at = rung;
    this.#tell();
    return true;
  }

  /** The plays of the learners end. */
  async close(): Promise<void> {
    const opened = this.#opened;
    if (!opened) return;
    this.#opened = undefined;
    opened.end();
    const { server, room } = opened;
    server.close();
    await room.close();
    await setTimeout(toldWithinMs);
    if ('closeAllConnections' in server) server.closeAllConnections();
    this.#tell();
  }

  #tell(): void {
    this.#opened?.room.wake();
    for (const viewer of this.#told) this.#options.plays.feedOf(viewer).wake();
  }
}
