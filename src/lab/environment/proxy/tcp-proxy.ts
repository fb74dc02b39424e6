/** A TCP proxy between a client and one server, with toxics. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasSocket, inodeOf } from './connection-owner.ts';
import type { ProxyState, Stream, Toxic } from './toxic.ts';

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** A piece of its data was dropped: the connection is of no use any more. */
  isTorn: boolean;
  /** The last piece of the client's data was sent on: its end comes after it. */
  sentOn: Promise<void>;
  /** Some of the client's data waits for the end of a toxic. */
  isKept: boolean;
  answers: number;
  /** The toxics that wait for a word, and have seen it here. */
  readonly asked: Set<Toxic>;
  /** The inode of the client's socket: looked up once, for all processes. */
  inode?: string | undefined;
  /** Whether it belongs to this process: asked once. */
  readonly belongsTo: Map<number, boolean>;
}

export class TcpProxy {
  #port: number;
  #upstreamPort: number;
  #toxics: readonly Toxic[] = [];
  #spoiled = 0;
  readonly #links = new Set<Link>();
  /** The connections that were open when a toxic came that is only about those. */
  readonly #openThen = new Map<Toxic, ReadonlySet<Link>>();
  /** Until the toxics are others. */
  #change = Promise.withResolvers<void>();
  #server: Server | undefined;

  /** @param port 0 for any that is free */
  constructor(port: number, upstreamPort: number) {
    this.#port = port;
    this.#upstreamPort = upstreamPort;
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    if (this.#server) return;
    const server = createServer({ allowHalfOpen: false }, (client) => this.#accept(client));
    this.#server = server;
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
  }

  get state(): ProxyState {
    return { upstreamPort: this.#upstreamPort, toxics: this.#toxics, spoiled: this.#spoiled };
  }

  /**
   * Replaces all toxics. When a network is no longer dropped, two kinds of connections end. One has
   * lost data: its client must connect again. The other was closed by one side, and the other side
   * has not heard of it: a server would keep its transaction open.
   */
  async setToxics(toxics: readonly Toxic[]): Promise<void> {
    this.#toxics = toxics;
    this.#openThen.clear();
    for (const toxic of toxics) if (toxic.onlyOpen) this.#openThen.set(toxic, new Set(this.#links));
    this.#spoiled = [...this.#links].filter((link) => this.#of(link).length > 0).length;
    for (const link of this.#links) {
      if (!this.#has('timeout', link) && isOver(link)) void link.sentOn.then(() => finish(link));
      if (this.#has('reset_peer', link)) reset(link);
      link.isKept &&= this.#has('keep', link);
    }
    this.#change.resolve();
    this.#change = Promise.withResolvers();
    if (toxics.some(({ type }) => type === 'down')) this.close();
    else await this.listen();
  }

  /**
   * Ends all toxics. Resolves when the server has answered what was kept from it, or has closed
   * the connection before.
   */
  async thaw(): Promise<void> {
    const kept = [...this.#links].filter(({ isKept, upstream }) => isKept && !upstream.destroyed);
    const heard = kept.map(({ upstream }) =>
      Promise.race([once(upstream, 'data'), once(upstream, 'close')]),
    );
    await this.setToxics([]);
    await Promise.all(heard);
  }

  /** Sends clients to another server: their connections end, and the next ones go there. */
  forwardTo(upstreamPort: number): void {
    if (this.#upstreamPort === upstreamPort) return;
    this.#upstreamPort = upstreamPort;
    for (const link of this.#links) end(link);
  }

  /** Refuses connections, and ends those that there are. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const link of this.#links) end(link);
  }

  #accept(client: Socket): void {
    const upstream = connect(this.#upstreamPort, '127.0.0.1');
    const link: Link = {
      client,
      upstream,
      isTorn: false,
      sentOn: Promise.resolve(),
      isKept: false,
      answers: 0,
      asked: new Set(),
      belongsTo: new Map(),
    };
    this.#links.add(link);
    if (this.#of(link).length > 0) this.#spoiled++;
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      // Behind a dropped network neither side hears that the other one has closed.
      socket.on('close', () => {
        const isFinishing = socket === client && upstream.writableEnded;
        if (!this.#has('timeout', link) && !isFinishing) void link.sentOn.then(() => end(link));
        if (client.destroyed && upstream.destroyed) this.#links.delete(link);
      });
    }
    this.#pass(link, client, upstream, 'upstream');
    this.#pass(link, upstream, client, 'downstream');
    if (this.#has('reset_peer', link)) reset(link);
  }

  /** One piece after the other, so that a late piece is not overtaken. */
  #pass(link: Link, from: Socket, to: Socket, stream: Stream): void {
    let previous = Promise.resolve();
    from.on('data', (data: Buffer) => {
      const toxics = this.#on(link, stream);
      if (toxics.some(({ type }) => type === 'timeout')) {
        link.isTorn = true;
        return;
      }
      if (stream === 'upstream') note(link, toxics, data);
      else if (this.#swallows(link, toxics)) return void link.client.destroy();
      const lateMs = toxics.reduce((sum, { latencyMs = 0 }) => sum + latencyMs, 0);
      const due = lateMs > 0 ? sleep(lateMs) : Promise.resolve();
      const isKept = toxics.some(({ type }) => type === 'keep');
      const letThrough = isKept ? this.#untilLetThrough(link, stream) : Promise.resolve();
      previous = Promise.all([previous, due, letThrough]).then(() => void to.write(data));
      if (stream === 'upstream') link.sentOn = previous;
    });
  }

  async #untilLetThrough(link: Link, stream: Stream): Promise<void> {
    const isKept = () => this.#on(link, stream).some(({ type }) => type === 'keep');
    while (isKept()) await this.#change.promise;
  }

  /** One toxic takes one answer. */
  #swallows(link: Link, toxics: readonly Toxic[]): boolean {
    link.answers += 1;
    const swallow = toxics.find(
      (toxic) =>
        toxic.type === 'swallow' &&
        link.answers > (toxic.after ?? 0) &&
        (toxic.asked === undefined || link.asked.has(toxic)),
    );
    if (swallow) this.#toxics = this.#toxics.filter((each) => each !== swallow);
    return swallow !== undefined;
  }

  #has(type: Toxic['type'], link: Link): boolean {
    return this.#of(link).some((toxic) => toxic.type === type);
  }

  #on(link: Link, stream: Stream): Toxic[] {
    return this.#of(link).filter((each) => (each.stream ?? stream) === stream);
  }

  #of(link: Link): Toxic[] {
    return this.#toxics.filter(
      (toxic) =>
        (toxic.pid === undefined || belongsTo(link, toxic.pid)) &&
        (this.#openThen.get(toxic)?.has(link) ?? true),
    );
  }
}

/** What toxics want to know of the client's data. */
function note(link: Link, toxics: readonly Toxic[], data: Buffer): void {
  link.isKept ||= toxics.some(({ type }) => type === 'keep');
  for (const toxic of toxics)
    if (toxic.asked !== undefined && data.includes(toxic.asked)) link.asked.add(toxic);
}

function belongsTo(link: Link, pid: number): boolean {
  const known = link.belongsTo.get(pid);
  if (known !== undefined) return known;
  const { remotePort = 0, localPort = 0 } = link.client;
  link.inode ??= inodeOf(remotePort, localPort);
  if (link.inode === undefined) return false;
  const answer = hasSocket(pid, link.inode);
  link.belongsTo.set(pid, answer);
  return answer;
}

const isOver = ({ isTorn, client, upstream }: Link): boolean =>
  isTorn || client.destroyed || upstream.destroyed;

/** The server reads what was sent on before it hears of the end. */
function finish({ client, upstream }: Link): void {
  client.destroy();
  upstream.end();
}

function end({ client, upstream }: Link): void {
  client.destroy();
  upstream.destroy();
}

function reset({ client, upstream }: Link): void {
  client.resetAndDestroy();
  upstream.destroy();
}
