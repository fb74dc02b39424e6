/**
 * The environment of drills and races: real servers on this machine, on loopback ports, with all
 * data in one folder.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import { saleKeys } from '../../service/connections/sale-keys.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { labError } from '../errors.ts';
import { redisAppends } from './append-only-file.ts';
import { setClockRight } from './ask-instance.ts';
import { giveAllBack, giveBack, giveDiskBack, isKept, refuseFileWrites } from './data-folder.ts';
import { restoreSettings } from './database-root.ts';
import { LabNetwork, networkEnvironment, networkServers } from './lab-network.ts';
import { childrenWith, isAlive, isPaused, type ProcessRef } from './process-table.ts';
import { type LabServer, labServer, type Server, startProcess, stopProcess } from './processes.ts';
import { withRedis } from './replication.ts';
import { type Database, defaultDatabase, installedMark } from './servers/database.ts';
import { nginxServer } from './servers/nginx.ts';
import { orderRedisSettings } from './servers/redis.ts';
import {
  bareUpstreams,
  instanceNames,
  type Network,
  networkOf,
  processNames,
  type ServiceShape,
  sameShape,
  serviceServer,
  upstreamsOf,
} from './servers/service.ts';
import {
  choosePorts,
  type Running,
  readState,
  removeState,
  type State,
  writeState,
} from './state.ts';
import {
  pageName,
  type SpareServer,
  spareServers,
  startedSpares,
  stores,
  storesEnvironment,
} from './stores.ts';
import { waitFor, waitUntil } from './wait-until.ts';

/** On a slow machine RabbitMQ takes half of it. A server that has ended is not waited for. */
const startWithinMs = 60_000;
/** Until the primary of the service has replaced a dead process; it waits longer each time. */
const replacedWithinMs = 30_000;
export const defaultShape: ServiceShape = { instances: 4, balancer: 'nginx' };

/** Called with one sentence for each step of a long command. */
export type Progress = (text: Bilingual) => void;

export interface StartOptions {
  readonly database?: Database | undefined;
  /** The command that stops the lab again; without one it stays until it is stopped by hand. */
  readonly owner?: ProcessRef | undefined;
  /** Of the servers that only some rungs need: those that start with the lab. */
  readonly spares?: readonly SpareServer[] | undefined;
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

const isService = (name: string): boolean => name === 'service' || name === 'nginx';

/** A server of the lab, for people. */
export interface ServerState {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly alive: boolean;
  readonly paused: boolean;
}

type RunState = 'runs' | 'paused' | 'stopped';

/** They are of the lab, and of no sale; the service is seen as its processes. */
const behindScenes: readonly string[] = ['redis-lab', 'proxies', 'page', 'service', 'epmd'];

function stateOf(process: ProcessRef | undefined): RunState {
  if (!process || !isAlive(process)) return 'stopped';
  return isPaused(process) ? 'paused' : 'runs';
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
    { database = defaultDatabase, owner, spares = startedSpares }: StartOptions = {},
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
      const first = spares.flatMap((name) => spareServers[name](folder, ports));
      await lab.#startAll([...stores(folder, ports, database, defaultShape), ...first], progress);
      await lab.serve(defaultShape, progress);
    } finally {
      chosen();
    }
    return lab;
  }

  /**
   * Stops all servers of this folder, the last started first. Data that a fault put aside is put
   * back, because a stopped lab cannot be healed any more.
   */
  static async stop(folder: string): Promise<void> {
    for (const server of readState(folder)?.running.toReversed() ?? []) {
      if (server.hasFullDisk) await giveDiskBack(server);
      await stopProcess(server);
    }
    giveAllBack(folder);
    removeState(folder);
  }

  /**
   * Before a stop. The next lab begins without the replica, so what only the replica has must go
   * back to its master first. The service ends before that: nobody writes meanwhile.
   */
  async restoreMasters(): Promise<void> {
    if (networkOf(this.shape) === 'direct') return;
    await this.#stop('nginx', 'service');
    await this.#healStores();
  }

  /** Restarts the service and nginx in this shape. */
  async serve(shape: ServiceShape, progress: Progress = () => {}): Promise<void> {
    await this.#stop('nginx', 'service');
    const { instances, balancer, settings = {}, network = 'direct', code, limits } = shape;
    if (network !== networkOf(this.shape)) await this.#useNetwork(shape, progress);
    const before = orderRedisSettings(this.shape);
    const more = { ...(code && { code }), ...(limits && { limits }) };
    this.#state.shape = { instances, balancer, settings, network, ...more };
    if (!isDeepStrictEqual(before, orderRedisSettings(shape))) await this.#useDurability();
    rmSync(this.historyFolder, { recursive: true, force: true });
    await this.#nameShards(settings['SALE_SHARDS'] ?? '1');
    await this.#startAll([this.#service()], progress);
    await this.#startAll([this.#nginx()], progress);
  }

  /**
   * A drill may sell in more shards than the lab does otherwise. Not while redis-main is a replica:
   * only the direct network has another number.
   */
  async #nameShards(count: string): Promise<void> {
    const [first] = saleKeys(1).shards;
    const name = (redis: Redis) => redis.set(first?.shardCount ?? '', count);
    const answer = () =>
      withRedis(this.#state.ports.redisMain, name).catch((error: Error) => error.message);
    let last = '';
    await waitUntil('the replica of redis-main', startWithinMs, async () => {
      last = (await answer()) ?? '';
      return !last.startsWith('NOREPLICAS');
    });
    if (last !== 'OK' && !last.startsWith('READONLY'))
      throw labError('REDIS_REFUSED', 'redis-main', last);
  }

  /**
   * Restarts the service in this shape, unless it runs in this shape already. Then it waits until
   * every instance answers, because a killed one may still be starting.
   */
  async ensure(shape: ServiceShape): Promise<void> {
    if (sameShape(this.shape, shape)) await this.#answered(this.#service());
    else await this.serve(shape);
  }

  /**
   * A session that was killed has restored nothing: that is done first.
   * @returns the shape that this session restores
   */
  async beginSession(): Promise<ServiceShape> {
    const { shapeBefore } = this.#state;
    if (shapeBefore) {
      await this.ensure(shapeBefore);
      await restoreSettings(this.dataFolder(this.database));
    }
    this.#state.shapeBefore = this.shape;
    this.#save();
    return this.shape;
  }

  async endSession(shape: ServiceShape): Promise<void> {
    await this.ensure(shape);
    delete this.#state.shapeBefore;
    this.#save();
  }

  /** Starts servers that only some rungs need, unless they run. They stop with the lab. */
  async provide(names: readonly SpareServer[], progress: Progress = () => {}): Promise<void> {
    const servers = names.flatMap((name) => spareServers[name](this.#folder, this.#state.ports));
    const missing = servers.filter((each) => !this.servers.some(({ name }) => name === each.name));
    await this.#startAll(missing, progress);
  }

  /** Where the page is. A cookie knows no port: so each lab has a host name of its own. */
  get pageUrl(): string {
    const { id, ports } = this.#state;
    return `http://lab-${id.slice(0, 8)}.localhost:${ports.page}`;
  }

  /**
   * True when every server runs, but for those that a fault stopped, and the page. Without nginx,
   * the last one, a command was killed while it started them.
   */
  isRunning(): boolean {
    const { running } = this.#state;
    const isComplete = running.some(({ name }) => name === 'nginx');
    const mayBeGone = ({ name, stopped, hasFullDisk }: Running) =>
      stopped || hasFullDisk || name === pageName;
    return isComplete && running.every((server) => mayBeGone(server) || isAlive(server));
  }

  /**
   * The first server, or process of the service, that is paused or stopped and that every rung
   * needs. In another network the replica may sell instead of redis-main.
   */
  faultInTheWay(): { readonly name: string; readonly state: 'paused' | 'stopped' } | undefined {
    const master = networkOf(this.shape) === 'direct' ? ['redis-main'] : [];
    const needed = [...master, this.database, 'service', 'nginx'];
    const servers = this.servers.filter(({ name }) => needed.includes(name));
    const stopped = servers.find(({ alive }) => !alive);
    if (stopped) return { name: stopped.name, state: 'stopped' };
    const processes = [...this.#processes()].map(([name, { pid }]) => ({ name, pid }));
    const paused = [...servers, ...processes].find((each) => isPaused(each));
    return paused && { name: paused.name, state: 'paused' };
  }

  /** Starts no more servers, so that a stop that follows finds all of them. */
  refuseStarts(): void {
    this.#refusesStarts = true;
  }

  get folder(): string {
    return this.#folder;
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
   * @throws UNKNOWN_SERVER
   */
  server(name: string): LabServer {
    if (this.servers.some((each) => each.name === name)) return this.#ownServer(name);
    const known = [...this.servers.map((each) => each.name), ...processNames(this.shape)];
    if (!known.includes(name)) throw labError('UNKNOWN_SERVER', name, known);
    return this.#serviceProcess(name);
  }

  /**
   * Mends what nobody undid: processes, disks, clocks, networks, data, and the settings of the
   * database. Resolves when every server answers and every instance is ready.
   */
  async heal(): Promise<void> {
    await this.#healStores();
    for (const name of ['service', 'nginx']) await this.#runAgain(name);
    for (const name of processNames(this.shape)) await this.server(name).resume();
    for (const name of instanceNames(this.shape)) await this.#clockSet(name);
    for (const server of this.#all()) await this.#answered(server);
  }

  /** An instance whose clock is wrong is not ready. One that was resumed answers after a while. */
  #clockSet(instance: string): Promise<void> {
    const answers = () => setClockRight(this, instance).then(() => true);
    return this.#answered({ ...this.#service(), answers });
  }

  /**
   * Before the service, which is not ready behind a broken network. Data is given back last: to a
   * master that was replaced, the network gives the data of its replica.
   */
  async #healStores(): Promise<void> {
    const names = this.servers.map(({ name }) => name).filter((name) => !isService(name));
    for (const name of names) await this.#runAgain(name);
    await restoreSettings(this.dataFolder(this.database));
    await this.#network().heal();
    for (const name of names) if (isKept(this.dataFolder(name))) await this.restoreData(name);
  }

  async #runAgain(name: string): Promise<void> {
    await this.server(name).resume();
    await this.server(name).start();
    if (this.#running(name).hasFullDisk) await this.clearDisk(name);
  }

  /** What the lab must have for a fault. @throws NETWORK_MISSING */
  network(needed: Network): LabNetwork {
    const present = networkOf(this.shape);
    if (present !== needed) throw labError('NETWORK_MISSING', needed, present);
    return this.#network();
  }

  /** The files of a server. @throws UNKNOWN_SERVER */
  dataFolder(name: string): string {
    this.#running(name);
    return join(this.#folder, name);
  }

  logFile(name: string): string {
    return join(this.#folder, `${name}.log`);
  }

  /** Of a server, or of a process of the service. @throws UNKNOWN_SERVER */
  pidOf(name: string): number {
    const server = this.#state.running.find((each) => each.name === name);
    if (server) return server.pid;
    const processes = this.#processes();
    const found = processes.get(name);
    if (!found) throw labError('UNKNOWN_SERVER', name, [...processes.keys()]);
    return found.pid;
  }

  /** SIGKILL for a server, which starts again with what `meanwhile` has made of its data. */
  async restart(name: string, meanwhile: () => void = () => {}): Promise<void> {
    const server = this.server(name);
    await server.kill();
    meanwhile();
    await server.start();
  }

  /** Restarts a server with the data that a fault put aside. */
  restoreData(name: string): Promise<void> {
    return this.restart(name, () => giveBack(this.dataFolder(name)));
  }

  /**
   * A Redis cannot write to its files, until `clearDisk` or another start. It may end because of
   * that. @throws UNKNOWN_SERVER, SERVER_DOWN
   */
  async fillDisk(name: string): Promise<void> {
    const server = this.#running(name);
    if (!isAlive(server)) throw labError('SERVER_DOWN', name);
    server.hasFullDisk = true; // First, so that it can be cleared whatever happens next.
    this.#save();
    await refuseFileWrites(server.pid);
  }

  /** Resolves when it writes again. If it has ended, it is started. */
  async clearDisk(name: string): Promise<void> {
    const server = this.#running(name);
    await giveDiskBack(server);
    const isMended = async () => !isAlive(server) || (await redisAppends(server.port));
    await waitUntil(`${name} to write again`, startWithinMs, isMended);
    delete server.hasFullDisk;
    this.#save();
    await this.#startAgain(name);
  }

  /** @throws UNKNOWN_SERVER */
  portOf(name: string): number {
    const index = instanceNames(this.shape).indexOf(name);
    return index < 0 ? this.#running(name).port : this.#state.ports.api + index;
  }

  /** Of a benchmark's bare processes, behind the same nginx. Nothing listens there otherwise. */
  get bareUpstreams(): readonly (number | string)[] {
    return bareUpstreams(this.#folder, this.#state.ports.api, this.shape);
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

  /** Of a server, or of a process of the service. @throws UNKNOWN_SERVER */
  stateOf(name: string): RunState {
    this.server(name);
    const own = this.#state.running.find((each) => each.name === name);
    return stateOf(own ?? this.#processes().get(name));
  }

  /** The servers of a sale, and the processes of the service: what each of them does now. */
  get parts(): { readonly name: string; readonly state: RunState }[] {
    const processes = this.#processes();
    const own = this.#state.running.filter(({ name }) => !behindScenes.includes(name));
    return [
      ...own.map((server) => ({ name: server.name, state: stateOf(server) })),
      ...processNames(this.shape).map((name) => ({ name, state: stateOf(processes.get(name)) })),
    ];
  }

  /** The configuration of the service. */
  get environment(): Record<string, string> {
    const { ports, id } = this.#state;
    const network = networkOf(this.shape);
    // A command finds the master through the Sentinels, as the service does. It uses no proxies.
    const sentinels = network === 'sentinel' ? networkEnvironment(ports, this.shape) : {};
    // A drill reconciles at its end: what it counts meanwhile is of the sale alone.
    const own = { LAB_ID: id, HISTORY_FOLDER: this.historyFolder, RECONCILE_EVERY_MS: '0' };
    return { ...storesEnvironment(ports), ...sentinels, ...own };
  }

  /** Signs the tokens of its users and operators. */
  get tokenSecret(): string {
    const secret = this.environment['TOKEN_SECRET'];
    if (!secret) throw new RangeError('the environment of the lab has a TOKEN_SECRET');
    return secret;
  }

  async #startAll(servers: readonly Server[], progress: Progress): Promise<void> {
    await Promise.all(servers.map((server) => server.prepare?.()));
    for (const server of servers) {
      if (this.#refusesStarts) throw labError('INTERRUPTED');
      const ref = startProcess(server.program());
      this.#state.running.push({ ...ref, name: server.name, port: server.port });
      this.#save();
    }
    for (const server of servers) {
      await this.#answered(server);
      const { name, port } = server;
      progress({ en: `${name} answers on port ${port}`, zh: `${name} 已启动，端口 ${port}` });
    }
  }

  #service(): Server {
    const { ports } = this.#state;
    const environment = { ...this.environment, ...networkEnvironment(ports, this.shape) };
    return serviceServer(this.#folder, ports.api, this.shape, environment);
  }

  #network(): LabNetwork {
    return new LabNetwork(this.#state.ports, networkOf(this.shape));
  }

  /** Starts the servers of a network, and stops those of the one before. */
  async #useNetwork(next: ServiceShape, progress: Progress): Promise<void> {
    const { ports } = this.#state;
    await this.#healStores();
    const before = networkServers(this.#folder, ports, this.shape);
    await this.#stop(...before.map(({ name }) => name));
    const servers = networkServers(this.#folder, ports, next);
    for (const { name } of servers)
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    await this.#startAll(servers, progress);
  }

  /** As the servers start from now on. */
  async #useDurability(): Promise<void> {
    const settings = orderRedisSettings(this.shape);
    const names = this.servers.map(({ name }) => name);
    const keepOrders = ['redis-main', 'redis-replica', 'redis-replica-2'];
    for (const name of keepOrders.filter((each) => names.includes(each)))
      await withRedis(this.portOf(name), async (redis) => {
        for (const [key, value] of Object.entries(settings)) await redis.config('SET', key, value);
      });
  }

  #ownServer(name: string): LabServer {
    return labServer(
      name,
      () => this.#startAgain(name),
      async () => this.#running(name),
      async () => this.#expectEnd(name),
    );
  }

  /** A child of the service, which replaces it when it dies. */
  #serviceProcess(name: string): LabServer {
    const find = () =>
      waitFor(`${name} to run`, replacedWithinMs, async () => this.#processes().get(name) ?? null);
    return labServer(name, async () => void (await find()), find);
  }

  /** The instances and the order workers that live, by name. */
  #processes(): ReadonlyMap<string, ProcessRef> {
    const children = childrenWith('INSTANCE', this.#running('service').pid);
    return new Map(children.map(({ value, ...process }) => [value, process]));
  }

  /** Starts a server that has ended, on its port and with its data. */
  async #startAgain(name: string): Promise<void> {
    const server = this.#all().find((each) => each.name === name);
    if (!server || isAlive(this.#running(name))) return;
    if (this.#refusesStarts) throw labError('INTERRUPTED');
    await server.prepare?.();
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
    const known = this.#state.running.map((each) => each.name);
    if (!server) throw labError('UNKNOWN_SERVER', name, known);
    return server;
  }

  #all(): Server[] {
    const { ports, database } = this.#state;
    const network = networkServers(this.#folder, ports, this.shape);
    const all = [...stores(this.#folder, ports, database, this.shape), ...network];
    const spare = Object.values(spareServers).flatMap((of) => of(this.#folder, ports));
    const present = spare.filter((each) => this.servers.some(({ name }) => name === each.name));
    return [...all, ...present, this.#service(), this.#nginx()];
  }

  #nginx(): Server {
    const { ports, id } = this.#state;
    const upstreams = upstreamsOf(this.#folder, ports.api, this.shape);
    const { balancer, limits } = this.shape;
    const options = { labId: id, balancer, bare: this.bareUpstreams, limits };
    return nginxServer(this.#folder, ports.nginx, upstreams, options);
  }

  async #answered({ name, port, answers }: Server): Promise<void> {
    const hasEnded = () => !this.servers.some((server) => server.name === name && server.alive);
    const log = this.logFile(name);
    await waitUntil(`${name} on port ${port} (see ${log})`, startWithinMs, () => {
      if (this.#refusesStarts) throw labError('INTERRUPTED');
      if (hasEnded()) throw labError('SERVER_ENDED', name, log);
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
