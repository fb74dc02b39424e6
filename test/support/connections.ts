/** Connections to the test lab's servers, as a process of the service would open them. */
import { pino } from 'pino';
import { inject, onTestFinished } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { Connections } from '../../src/connections/connections.ts';

export const quiet = pino({ level: 'silent' });

/**
 * A Redis that the lab's own order workers do not read, so that a test alone settles what it
 * queues.
 */
export const quietRedis = (): string =>
  (inject('environment')['REDLOCK_URLS'] ?? '').split(',')[0] ?? '';

/** Opened with the lab's configuration and these changes; not closed by itself. */
export function openConnections(changes: Readonly<Record<string, string>> = {}): Connections {
  return new Connections(readConfig({ ...inject('environment'), ...changes }), quiet);
}

/** Closed when the test is over. */
export function testConnections(changes: Readonly<Record<string, string>> = {}): Connections {
  const connections = openConnections(changes);
  onTestFinished(() => connections.close());
  return connections;
}
