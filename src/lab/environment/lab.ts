/**
 * The environment of drills and races: real servers on this machine, on loopback ports, with all
 * data in one folder.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Interrupted, ServerEnded, UnknownServer } from '../errors.ts';
import { type LabServer, serviceProcess } from './lab-server.ts';
import { isAlive, isPaused, type ProcessRef } from './process-table.ts';
import { killWithChildren, signalProcess, startProcess, stopProcess } from './processes.ts';
import { type Database, installedMark } from './servers/database.ts';
import { nginxServer } from './servers/nginx.ts';
import type { Server } from './servers/server.ts';
import {
  instancePorts,
  processNames,
  type ServiceShape,
  sameShape,
  serviceServer,
} from './servers/service.ts';
import {
  choosePorts,
  type Running,
  readState,
  removeState,
  type State,
  writeState,
} from './state.ts';
import { stores, storesEnvironment } from './stores.ts';
import { waitUntil } from './wait-until.ts';

const startWithinMs = 30_000;
export const defaultShape: ServiceShape = { instances: 4, balancer: 'nginx' };

/** Called with one sentence for each step of a long command. */
export type Progress = (event: string) => void;

export interface StartOptions {
  readonly database?: Database | undefined;
  /** The command that stops the lab again; without one it stays until it is stopped by hand. */
  readonly owner?: ProcessRef | undefined;
}

/** A database with new data numbers vouchers from 1 again, so Redis must not keep the old ones. */
function forgetOtherVouchers(folder: string, database: Database): void {
  const file = join(folder, 'database');
  const last = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (last !== database || !existsSync(join(folder, database, installedMark)))
    for (const redis of ['redis-main', 'redis-1', 'redis-2', 'redis-3'])
      rmSync(join(folder, redis), { recursive: true, force: true });
  writeFileSync(file, database);
}

/** A server of the lab, for people. */
export interface ServerState {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly alive: boolean;
  readonly paused: boolean;
}

export class Lab {
  readonly #folder: string;
  readonly #state: State;
  #refusesStarts = false;

  private constructor(folder: string, state: State) {
    this.#folder = folder;
    this.#state = state;
  }

  /** The lab in this folder, even if some of its servers have ended. */
  static find(folder: string): Lab | null {
    const state = readState(folder);
    return state && new Lab(folder, state);
  }

  /**
   * The lab in this folder, if all its servers run and the command that started it, if any, is
   * still alive.
   */
  static running(folder: string): Lab | null {
    const lab = Lab.find(folder);
    if (!lab?.isRunning()) return null;
    const { owner } = lab.#state;
    return owner === undefined || isAlive(owner) ? lab : null;
  }

  /** Stops the servers that an earlier lab left in this folder, then starts all servers. */
  static async start(
    folder: string,
    progress: Progress,
    { database = 'mariadb', owner }: StartOptions = {},
  ): Promise<Lab> {
    await Lab.stop(folder);
    mkdirSync(folder, { recursive: true });
    forgetOtherVouchers(folder, database);
    const { ports, chosen } = await choosePorts();
    const state = {
      id: randomUUID(),
      ports,
      database,
      running: [],
      shape: defaultShape,
      ...(owner && { owner }),
    };
    const lab = new Lab(folder, state);
    try {
      await lab.#startAll(stores(folder, ports, database), progress);
      await lab.serve(defaultShape, progress);
    } finally {
      chosen();
    }
    return lab;
  }

  /** Stops all servers of this folder, the last started first. */
  static async stop(folder: string): Promise<void> {
    for (const server of readState(folder)?.running.toReversed() ?? []) await stopProcess(server);
    removeState(folder);
  }

  /** Restarts the service and nginx in this shape. */
  async serve(shape: ServiceShape, progress: Progress = () => {}): Promise<void> {
    await this.#stop('nginx', 'service');
    const { instances, balancer, settings = {} } = shape;
    this.#state.shape = { instances, balancer, settings };
    rmSync(this.historyFolder, { recursive: true, force: true });
    await this.#startAll([this.#service()], progress);
    await this.#startAll([this.#nginx()], progress);
  }

  /**
   * Restarts the service in this shape, unless it runs in this shape already. Then it waits until
   * every instance answers, because a killed one may still be starting.
   */
  async ensure(shape: ServiceShape): Promise<void> {
    if (sameShape(this.shape, shape)) await this.#answered(this.#service());
    else await this.serve(shape);
  }

  /** True when every server runs, but for those that a fault stopped. */
  isRunning(): boolean {
    const { running } = this.#state;
    return running.length > 0 && running.every((server) => server.stopped || isAlive(server));
  }

  /** Starts no more servers, so that a stop that follows finds all of them. */
  refuseStarts(): void {
    this.#refusesStarts = true;
  }

  get historyFolder(): string {
    return join(this.#folder, 'history');
  }

  get database(): Database {
    return this.#state.database;
  }

  get shape(): ServiceShape {
    return this.#state.shape;
  }

  /**
   * A server of the lab, or a process of the service, by name: for faults.
   * @throws UnknownServer
   */
  server(name: string): LabServer {
    if (this.servers.some((each) => each.name === name)) return this.#ownServer(name);
    const service = this.#running('service');
    const known = [...this.servers.map((each) => each.name), ...processNames(this.shape)];
    if (!known.includes(name)) throw new UnknownServer(name, known);
    return serviceProcess(name, service);
  }

  /**
   * Undoes every fault by hand: resumes what is paused and starts what is stopped. Resolves when
   * every server answers and every instance is ready.
   */
  async heal(): Promise<void> {
    for (const { name } of this.servers) {
      await this.server(name).resume();
      await this.server(name).start();
    }
    for (const name of processNames(this.shape)) await this.server(name).resume();
    for (const server of this.#all()) await this.#answered(server);
  }

  /** The address for clients: nginx. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.#state.ports.nginx}`;
  }

  get servers(): readonly ServerState[] {
    return this.#state.running.map((server) => ({
      ...server,
      alive: isAlive(server),
      paused: isPaused(server),
    }));
  }

  /** The configuration of the service. */
  get environment(): Record<string, string> {
    const { ports, id } = this.#state;
    return { ...storesEnvironment(ports), LAB_ID: id, HISTORY_FOLDER: this.historyFolder };
  }

  async #startAll(servers: readonly Server[], progress: Progress): Promise<void> {
    await Promise.all(servers.map((server) => server.prepare?.()));
    for (const server of servers) {
      if (this.#refusesStarts) throw new Interrupted();
      const ref = startProcess(server.program());
      this.#state.running.push({ ...ref, name: server.name, port: server.port });
      this.#save();
    }
    for (const server of servers) {
      await this.#answered(server);
      progress(`${server.name} answers on port ${server.port}`);
    }
  }

  #service(): Server {
    return serviceServer(this.#folder, this.#state.ports.api, this.shape, this.environment);
  }

  #ownServer(name: string): LabServer {
    return {
      name,
      stop: () => stopProcess(this.#expectEnd(name)),
      kill: () => killWithChildren(this.#expectEnd(name)),
      pause: async () => signalProcess(this.#running(name), 'SIGSTOP'),
      resume: async () => signalProcess(this.#running(name), 'SIGCONT'),
      start: () => this.#startAgain(name),
    };
  }

  /** Starts a server that has ended, on its port and with its data. */
  async #startAgain(name: string): Promise<void> {
    const server = this.#all().find((each) => each.name === name);
    if (!server || isAlive(this.#running(name))) return;
    if (this.#refusesStarts) throw new Interrupted();
    const fresh = { ...startProcess(server.program()), name, port: server.port };
    this.#state.running = this.#state.running.map((each) => (each.name === name ? fresh : each));
    this.#save();
    await this.#answered(server);
  }

  #expectEnd(name: string): ProcessRef {
    const server = this.#running(name);
    server.stopped = true;
    this.#save();
    return server;
  }

  #running(name: string): Running {
    const server = this.#state.running.find((each) => each.name === name);
    if (!server)
      throw new UnknownServer(
        name,
        this.servers.map((each) => each.name),
      );
    return server;
  }

  #all(): Server[] {
    const { ports, database } = this.#state;
    return [...stores(this.#folder, ports, database), this.#service(), this.#nginx()];
  }

  #nginx(): Server {
    const { ports, id } = this.#state;
    const instances = instancePorts(ports.api, this.shape);
    return nginxServer(this.#folder, ports.nginx, instances, id, this.shape.balancer);
  }

  async #answered({ name, port, answers }: Server): Promise<void> {
    const hasEnded = () => !this.servers.some((server) => server.name === name && server.alive);
    const log = join(this.#folder, `${name}.log`);
    await waitUntil(`${name} on port ${port} (see ${log})`, startWithinMs, () => {
      if (this.#refusesStarts) throw new Interrupted();
      if (hasEnded()) throw new ServerEnded(name, log);
      return answers();
    });
  }

  async #stop(...names: string[]): Promise<void> {
    const { running } = this.#state;
    for (const server of running.toReversed())
      if (names.includes(server.name)) await stopProcess(server);
    this.#state.running = running.filter(({ name }) => !names.includes(name));
    this.#save();
  }

  #save(): void {
    writeState(this.#folder, this.#state);
  }
}
