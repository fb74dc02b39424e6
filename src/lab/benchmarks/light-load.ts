/**
 * The load generator of an open model that costs the machine little: k6 spends more CPU time on a
 * request than the whole service. Each request is sent when it is due, whatever became of those
 * before, and its latency counts from then. Only purchases: a request has no body.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentiles } from '../workload/percentiles.ts';
import type { Answers } from './wrk.ts';

export interface LightLoad {
  readonly rate: number;
  /** The Authorization header of each request: as many are sent. */
  readonly headers: readonly string[];
}

export interface LightResult {
  readonly answers: Answers;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** As many as nginx keeps open to the instances. A request that finds none free is late. */
const connections = 256;

/** @throws Error when a connection is closed: its request has no answer to wait for. */
export async function lightLoad(
  url: string,
  load: LightLoad,
  signal: AbortSignal,
): Promise<LightResult> {
  const { hostname, port, pathname } = new URL(url);
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const over = new AbortController();
  const closed = Promise.race(sockets.map((socket) => once(socket, 'close'))).then(() => {
    throw new Error(`a connection to ${url} was closed`);
  });
  const sender = new Sender(sockets, pathname, load);
  try {
    return await Promise.race([sender.send(AbortSignal.any([signal, over.signal])), closed]);
  } finally {
    over.abort();
    for (const socket of sockets) socket.destroy();
  }
}

interface Due {
  readonly header: string;
  readonly atMs: number;
}

class Sender {
  readonly #path: string;
  readonly #load: LightLoad;
  readonly #free: Socket[];
  readonly #late: Due[] = [];
  readonly #answers: Record<string, number> = {};
  readonly #latenciesMs: number[] = [];

  constructor(sockets: readonly Socket[], path: string, load: LightLoad) {
    this.#free = [...sockets];
    this.#path = path;
    this.#load = load;
  }

  async send(signal: AbortSignal): Promise<LightResult> {
    const { rate, headers } = this.#load;
    const beganMs = performance.now();
    for (let next = 0; next < headers.length; await sleep(1, undefined, { signal })) {
      const dueBy = Math.min(headers.length, ((performance.now() - beganMs) * rate) / 1_000);
      for (; next < dueBy; next++)
        this.#ask({ header: headers[next] ?? '', atMs: beganMs + (next * 1_000) / rate });
    }
    while (this.#latenciesMs.length < headers.length) await sleep(5, undefined, { signal });
    const { p50: p50Ms, p99: p99Ms } = percentiles(this.#latenciesMs);
    return { answers: this.#answers, p50Ms, p99Ms };
  }

  #ask(due: Due): void {
    const socket = this.#free.pop();
    if (!socket) {
      this.#late.push(due);
      return;
    }
    let answer = '';
    const read = (part: Buffer) => {
      answer += part.toString('latin1');
      if (!isWhole(answer)) return;
      socket.off('data', read);
      this.#answered(codeOf(answer), due, socket);
    };
    socket.on('data', read);
    socket.write(
      `POST ${this.#path} HTTP/1.1\r\nHost: lockstep\r\nAuthorization: ${due.header}\r\n\r\n`,
    );
  }

  #answered(code: string, { atMs }: Due, socket: Socket): void {
    this.#latenciesMs.push(performance.now() - atMs);
    this.#answers[code] = (this.#answers[code] ?? 0) + 1;
    this.#free.push(socket);
    const late = this.#late.shift();
    if (late) this.#ask(late);
  }
}

/** Every answer of the service names its length. */
function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4;
  if (bodyAt === 3) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
  return answer.length - bodyAt >= Number(length ?? 0);
}

const codeOf = (answer: string): string =>
  /^HTTP\/1.1 20[12] /.test(answer)
    ? 'accepted'
    : (/"code":"([a-z-]+)"/.exec(answer)?.[1] ?? answer.slice(9, 12));
