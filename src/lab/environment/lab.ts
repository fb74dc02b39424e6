/** The world that drills run in: real servers on this machine, on loopback ports, with their data under one folder. */

import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Interrupted, ServerEnded } from '../errors.ts';
import { isAlive, type ProcessRef, startProcess, stopProcess } from './processes.ts';
import { hasData } from './servers/mariadb.ts';
import { nginxServer } from './servers/nginx.ts';
import type { Server } from './servers/server.ts';
import { instancePorts, type ServiceShape, sameShape, serviceServer } from './servers/service.ts';
import { choosePorts, forgetState, readState, type State, writeState } from './state.ts';
import { stores, storesEnvironment } from './stores.ts';
import { waitUntil } from './wait-until.ts';

const startMs = 30_000;
export const defaultShape: ServiceShape = { instances: 4, balancer: 'nginx' };

export class Lab {
  readonly #folder: string;
  readonly #state: State;
  #stopping = false;

  private constructor(folder: string, state: State) {
    this.#folder = folder;
    this.#state = state;
  }

  /** The lab in this folder, whole or not. */
  static find(folder: string): Lab | null {
    const state = readState(folder);
    return state && new Lab(folder, state);
  }

  /** The lab in this folder, if all its servers are running and it is nobody's who has died. */
  static running(folder: string): Lab | null {
    const lab = Lab.find(folder);
    return lab?.isWhole() && (lab.#state.owner === undefined || isAlive(lab.#state.owner))
      ? lab
      : null;
  }

  /** Ends what an earlier lab in this folder left behind, then starts everything. */
  static async start(
    folder: string,
    tell: (event: string) => void,
    owner?: ProcessRef,
  ): Promise<Lab> {
    await Lab.stop(folder);
    mkdirSync(folder, { recursive: true });
    // Redis must not remember vouchers that a new MySQL will number again from 1.
    if (!hasData(folder)) rmSync(join(folder, 'redis-main'), { recursive: true, force: true });
    const ports = await choosePorts();
    const state = {
      id: randomUUID(),
      ports,
      running: [],
      shape: defaultShape,
      ...(owner && { owner }),
    };
    const lab = new Lab(folder, state);
    await lab.#startAll(stores(folder, ports), tell);
    await lab.serve(defaultShape, tell);
    return lab;
  }

  /** Stops whatever runs in this folder, the last started first. */
  static async stop(folder: string): Promise<void> {
    for (const server of readState(folder)?.running.toReversed() ?? []) await stopProcess(server);
    forgetState(folder);
  }

  /** Restarts the service, and nginx before it, with so many instances behind that balancer. */
  async serve(shape: ServiceShape, tell: (event: string) => void = () => {}): Promise<void> {
    await this.#stop('nginx', 'service');
    const { instances, balancer, settings = {} } = shape;
    this.#state.shape = { instances, balancer, settings };
    rmSync(this.historyFolder, { recursive: true, force: true });
    const { api, nginx } = this.#state.ports;
    await this.#startAll([this.#service()], tell);
    await this.#startAll(
      [nginxServer(this.#folder, nginx, instancePorts(api, shape), this.#state.id, shape.balancer)],
      tell,
    );
  }

  /** The same, unless that is what runs already; then only until every instance is there (one may have been killed). */
  async ensure(shape: ServiceShape): Promise<void> {
    if (sameShape(this.shape, shape)) await this.#answered(this.#service());
    else await this.serve(shape);
  }

  isWhole(): boolean {
    return this.#state.running.length > 0 && this.#state.running.every(isAlive);
  }

  /** From now on nothing is started any more, so that stopping finds everything there is. */
  startNothingMore(): void {
    this.#stopping = true;
  }

  get historyFolder(): string {
    return join(this.#folder, 'history');
  }

  get shape(): ServiceShape {
    return this.#state.shape;
  }

  /** Where clients send their requests: nginx. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.#state.ports.nginx}`;
  }

  get servers(): readonly { name: string; pid: number; port: number; alive: boolean }[] {
    return this.#state.running.map((server) => ({ ...server, alive: isAlive(server) }));
  }

  /** What the service is configured with. */
  get environment(): Record<string, string> {
    const { ports, id } = this.#state;
    return { ...storesEnvironment(ports), LAB_ID: id, HISTORY_FOLDER: this.historyFolder };
  }

  async #startAll(servers: readonly Server[], tell: (event: string) => void): Promise<void> {
    await Promise.all(servers.map((server) => server.prepare?.()));
    for (const server of servers) {
      if (this.#stopping) throw new Interrupted();
      const ref = startProcess(server.program());
      this.#state.running.push({ ...ref, name: server.name, port: server.port });
      this.#save();
    }
    for (const server of servers) {
      await this.#answered(server);
      tell(`${server.name} answers on port ${server.port}`);
    }
  }

  #service(): Server {
    return serviceServer(this.#folder, this.#state.ports.api, this.shape, this.environment);
  }

  async #answered({ name, port, answers }: Server): Promise<void> {
    const died = () => !this.servers.some((server) => server.name === name && server.alive);
    const log = join(this.#folder, `${name}.log`);
    await waitUntil(`${name} on port ${port} (see ${log})`, startMs, () => {
      if (this.#stopping) throw new Interrupted();
      if (died()) throw new ServerEnded(name, log);
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
