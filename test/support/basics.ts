/** What needs no server of the lab: folders, HTTP, errors, logs, metrics, order ids, clocks. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Logger, pino } from 'pino';
import { expect, onTestFinished, vi } from 'vitest';
import { registry } from '../../src/service/metrics/registry.ts';
import type { Stretch } from '../../src/service/order-ids/snowflake.ts';
import { newDataFolder } from './data-home.ts';

/** Of a test's own, and removed when it is over. */
export function someFolder(): string {
  const folder = newDataFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface HttpServer {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
}

/** On loopback, until the test is over. */
export async function httpServer(answer: RequestListener): Promise<HttpServer> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://127.0.0.1:${port}` };
}

/** For `toThrow`: an error of the service or the lab, by its code. */
export const withCode = (code: string): Error => expect.objectContaining({ code });

/** A log that says nothing. */
export const quiet = pino({ level: 'silent' });

/** A worker id without beginning or end: two makers of one process must not share it. */
export const always = (workerId: number) => (): Stretch => ({
  workerId,
  fromMs: 0,
  untilMs: Infinity,
});

export interface SetClock {
  readonly now: () => number;
  step(byMs: number): void;
}

export function setClock(startMs: number): SetClock {
  let timeMs = startMs;
  return {
    now: () => timeMs,
    step: (byMs) => {
      timeMs += byMs;
    },
  };
}

/** A log, and the events that were written to it. */
export function listeningLog(): { log: Logger; events: string[] } {
  const events: string[] = [];
  const write = (line: string) => void events.push((JSON.parse(line) as { event: string }).event);
  return { log: pino({ level: 'info' }, { write }), events };
}

/** What this process has counted in a series; null without it. */
export async function valueOfSeries(series: string): Promise<number | null> {
  const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(series));
  return line === undefined ? null : Number(line.split(' ').at(-1));
}

/** Until the test is over. */
export function fakeTimers(options?: Parameters<typeof vi.useFakeTimers>[0]): void {
  vi.useFakeTimers(options);
  onTestFinished(() => void vi.useRealTimers());
}

/** The first id that is not above the one before it; undefined when all ascend. */
export const firstOutOfOrder = (ids: readonly string[]): string | undefined =>
  ids.find((id, index) => index > 0 && BigInt(id) <= BigInt(ids[index - 1] ?? id));
