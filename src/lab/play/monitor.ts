/**
 * Every command that reaches a Redis server, by MONITOR. On a connection of our own: a line that
 * comes together with the answer to MONITOR is taken for an answer by ioredis, which throws.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { RedisOptions } from 'ioredis';

export interface Monitored {
  /** Milliseconds of the server's wall clock. */
  readonly atMs: number;
  /** Sent by a Lua script. */
  readonly isInLua: boolean;
  readonly text: string;
}

const line = /^\+(\d+\.\d+) \[\d+ (\S+)\] (.*)$/;
/** Quotes and line ends are escaped in it. */
const word = /"((?:[^"\\]|\\.)*)"/g;

export interface Monitor {
  readonly isOpen: () => boolean;
  readonly end: () => void;
}

/** Of a Redis of the lab: it asks for no password. */
export async function monitor(
  { host = '127.0.0.1', port = 6_379 }: RedisOptions,
  hear: (command: Monitored) => void,
): Promise<Monitor> {
  const socket = connect(port, host);
  socket.on('error', () => {}); // A choice may stop its server.
  await once(socket, 'connect');
  const lines = createInterface({ input: socket });
  const begun = once(lines, 'line');
  lines.on('line', (text) => {
    const command = parsed(text);
    if (command) hear(command);
  });
  socket.write('MONITOR\r\n');
  await begun;
  return { isOpen: () => socket.readyState === 'open', end: () => socket.destroy() };
}

function parsed(text: string): Monitored | null {
  const [, seconds, source, rest = ''] = line.exec(text) ?? [];
  if (seconds === undefined) return null;
  const words = [...rest.matchAll(word)].map(([, each = '']) => each.replaceAll('\\"', '"'));
  return { atMs: Number(seconds) * 1_000, isInLua: source === 'lua', text: words.join(' ') };
}
