/** A TCP proxy between a client and one server of the lab, with toxics. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
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
  /** The inode of the client's socket: looked up once, for all processes. */
  inode?: string | undefined;
  /** Whether it belongs to this process: asked once. */
  readonly belongsTo: Map<number, boolean>;
}

export class TcpProxy {
  readonly port: number;
  #upstreamPort: number;
  #toxics: readonly Toxic[] = [];
  #spoiled = 0;
  readonly #links = new Set<Link>();
  #server: Server | undefined;

  constructor(port: number, upstreamPort: number) {
    this.port = port;
    this.#upstreamPort = upstreamPort;
  }

  async listen(): Promise<void> {
    if (this.#server) return;
    const server = createServer({ allowHalfOpen: false }, (client) => this.#accept(client));
    this.#server = server;
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
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
    this.#spoiled = [...this.#links].filter((link) => this.#of(link).length > 0).length;
    for (const link of this.#links) {
      if (!this.#has('timeout', link) && isOver(link)) void link.sentOn.then(() => end(link));
      if (this.#has('reset_peer', link)) reset(link);
    }
    if (toxics.some(({ type }) => type === 'down')) this.#refuse();
    else await this.listen();
  }

  /** Sends clients to another server: their connections end, and the next ones go there. */
  forwardTo(upstreamPort: number): void {
    if (this.#upstreamPort === upstreamPort) return;
    this.#upstreamPort = upstreamPort;
    for (const link of this.#links) end(link);
  }

  #refuse(): void {
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
      belongsTo: new Map(),
    };
    this.#links.add(link);
    if (this.#of(link).length > 0) this.#spoiled++;
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      // Behind a dropped network neither side hears that the other one has closed.
      socket.on('close', () => {
        if (!this.#has('timeout', link)) void link.sentOn.then(() => end(link));
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
    from.on('data', (data) => {
      const toxics = this.#of(link).filter((each) => (each.stream ?? stream) === stream);
      if (toxics.some(({ type }) => type === 'timeout')) {
        link.isTorn = true;
        return;
      }
      const lateMs = toxics.reduce((sum, { latencyMs }) => sum + latencyMs, 0);
      const due = lateMs > 0 ? sleep(lateMs) : Promise.resolve();
      previous = Promise.all([previous, due]).then(() => void to.write(data));
      if (stream === 'upstream') link.sentOn = previous;
    });
  }

  #has(type: Toxic['type'], link: Link): boolean {
    return this.#of(link).some((toxic) => toxic.type === type);
  }

  #of(link: Link): Toxic[] {
    return this.#toxics.filter(({ pid }) => pid === undefined || belongsTo(link, pid));
  }
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

function end({ client, upstream }: Link): void {
  client.destroy();
  upstream.destroy();
}

function reset({ client, upstream }: Link): void {
  client.resetAndDestroy();
  upstream.destroy();
}
