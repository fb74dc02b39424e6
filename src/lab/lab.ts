/** The world that drills run in: real servers on this machine, on loopback ports, with their data under one folder. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rungNames } from '../ladder.ts';
import { isAlive, startProcess, stopProcess } from './processes.ts';
import { hasData, mariadbServer, mariadbUrl } from './servers/mariadb.ts';
import { nginxServer } from './servers/nginx.ts';
import { redisServer } from './servers/redis.ts';
import type { Server } from './servers/server.ts';
import { instancePorts, type ServiceShape, serviceServer } from './servers/service.ts';
import { zookeeperServer } from './servers/zookeeper.ts';
import { choosePorts, forgetState, readState, type State, writeState } from './state.ts';
import { waitUntil } from './waiting.ts';

/** Signs the lab's tokens. Not a secret: the lab listens on loopback only, and k6 signs with it too. */
export const labTokenSecret = 'lockstep-lab-secret-that-signs-tokens';

const startMs = 30_000;
export const defaultShape: ServiceShape = { instances: 4, balancer: 'nginx' };

export class Lab {
  readonly #folder: string;
  readonly #state: State;

  private constructor(folder: string, state: State) {
    this.#folder = folder;
    this.#state = state;
  }

  /** The lab in this folder, if all its servers are running. */
  static running(folder: string): Lab | null {
    const state = readState(folder);
    return state && state.running.length > 0 && state.running.every(isAlive) ? new Lab(folder, state) : null;
  }

  /** Ends what an earlier lab in this folder left behind, then starts everything. */
  static async start(folder: string, tell: (event: string) => void): Promise<Lab> {
    await Lab.stop(folder);
    mkdirSync(folder, { recursive: true });
    // Redis must not remember vouchers that a new MySQL will number again from 1.
    if (!hasData(folder)) rmSync(join(folder, 'redis-main'), { recursive: true, force: true });
    const lab = new Lab(folder, { ports: await choosePorts(), running: [], shape: defaultShape });
    await lab.#startAll(lab.#stores(), tell);
    await lab.serve(defaultShape, tell);
    return lab;
  }

  /** Stops whatever runs in this folder, the last started first. */
  static async stop(folder: string): Promise<void> {
    const state = readState(folder);
    if (!state) return;
    for (const server of [...state.running].reverse()) await stopProcess(server);
    forgetState(folder);
  }

  /** Restarts the service, and nginx before it, with so many instances behind that balancer. */
  async serve(shape: ServiceShape, tell: (event: string) => void = () => {}): Promise<void> {
    await this.#stop('nginx', 'service');
    this.#state.shape = shape;
    const { api, nginx } = this.#state.ports;
    const service = serviceServer(this.#folder, api, shape, this.environment);
    await this.#startAll([service], tell);
    await this.#startAll([nginxServer(this.#folder, nginx, instancePorts(api, shape))], tell);
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
    const { mariadb, redisMain, redlock, zookeeper } = this.#state.ports;
    return {
      MYSQL_URL: mariadbUrl(mariadb),
      REDIS_URL: `redis://127.0.0.1:${redisMain}`,
      REDLOCK_URLS: redlock.map((port) => `redis://127.0.0.1:${port}`).join(','),
      ZOOKEEPER_URL: `127.0.0.1:${zookeeper}`,
      TOKEN_SECRET: labTokenSecret,
      ALLOWED_RUNGS: rungNames.join(','),
      LAB: '1',
    };
  }

  #stores(): Server[] {
    const { mariadb, redisMain, redlock, zookeeper } = this.#state.ports;
    return [
      mariadbServer(this.#folder, mariadb),
      redisServer('redis-main', this.#folder, redisMain, 'always'),
      zookeeperServer(this.#folder, zookeeper),
      ...redlock.map((port, index) => redisServer(`redis-${index + 1}`, this.#folder, port, 'everysec')),
    ];
  }

  async #startAll(servers: readonly Server[], tell: (event: string) => void): Promise<void> {
    await Promise.all(servers.map((server) => server.prepare?.()));
    for (const server of servers) {
      const ref = startProcess(server.program());
      this.#state.running.push({ ...ref, name: server.name, port: server.port });
      this.#save();
    }
    for (const { name, port, answers } of servers) {
      const died = () => !this.servers.some((server) => server.name === name && server.alive);
      await waitUntil(
        `${name} on port ${port} (see ${join(this.#folder, `${name}.log`)})`,
        startMs,
        async () => {
          if (died()) throw new Error(`${name} ended at once`);
          return answers();
        },
      );
      tell(`${name} answers on port ${port}`);
    }
  }

  async #stop(...names: string[]): Promise<void> {
    for (const name of names) {
      const server = this.#state.running.find((running) => running.name === name);
      if (!server) continue;
      await stopProcess(server);
      this.#state.running = this.#state.running.filter((running) => running !== server);
      this.#save();
    }
  }

  #save(): void {
    writeState(this.#folder, this.#state);
  }
}
