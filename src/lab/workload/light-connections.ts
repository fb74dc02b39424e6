/**
 * The connections of a load generator that costs the machine little: k6 spends more CPU time on a
 * request than the whole service. A request that finds no free connection is sent late.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** As many as nginx keeps open to the instances. */
const usual = 256;

export interface LightOptions {
  readonly count?: number;
  /** Of this end of a connection; otherwise all have the same one. */
  readonly addressOf?: ((connection: number) => string) | undefined;
}

export class LightConnections {
  readonly #free: Socket[];
  readonly #late: (() => void)[] = [];

  private constructor(sockets: readonly Socket[]) {
    this.#free = [...sockets];
  }

  /**
   * Open for as long as `work` takes; `ended` aborts when it is over, or interrupted.
   * @throws Error when one is closed: its request has no answer to wait for
   */
  static async use<T>(
    url: string,
    { count = usual, addressOf }: LightOptions,
    signal: AbortSignal,
    work: (connections: LightConnections, ended: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { hostname: host, port } = new URL(url);
    const sockets = Array.from({ length: count }, (_, connection) =>
      connect({ host, port: Number(port), localAddress: addressOf?.(connection) }),
    );
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const connections = new LightConnections(sockets);
    const closed = Promise.race(sockets.map((socket) => once(socket, 'close'))).then(() => {
      throw new Error(`a connection to ${url} was closed`);
    });
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    try {
      return await Promise.race([work(connections, ended), closed]);
    } finally {
      over.abort();
      for (const socket of sockets) socket.destroy();
    }
  }

  /** @param text the whole request @param onAnswer is given the whole answer */
  ask(text: string, onAnswer: (answer: string) => void): void {
    const socket = this.#free.shift(); // In turn: nginx closes one that has sent nothing.
    if (socket) this.#send(socket, text, onAnswer);
    else this.#late.push(() => this.ask(text, onAnswer));
  }

  #send(socket: Socket, text: string, onAnswer: (answer: string) => void): void {
    let answer = '';
    const read = (part: Buffer) => {
      answer += part.toString('latin1');
      if (!isWhole(answer)) return;
      socket.off('data', read);
      this.#free.push(socket);
      onAnswer(answer);
      if (this.#free.length > 0) this.#late.shift()?.();
    };
    socket.on('data', read);
    socket.write(text);
  }
}

/** Every answer of the service names its length. */
function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4;
  if (bodyAt === 3) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
  return answer.length - bodyAt >= Number(length ?? 0);
}

/** `accepted`, the code of a problem, or the status. */
export const codeOf = (answer: string): string =>
  /^HTTP\/1.1 20[12] /.test(answer)
    ? 'accepted'
    : (/"code":"([a-z-]+)"/.exec(answer)?.[1] ?? answer.slice(9, 12));

export const bodyOf = (answer: string): unknown =>
  JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));

/** A request without a body. */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nHost: lockstep\r\n${lines.join('')}\r\n`;
}
