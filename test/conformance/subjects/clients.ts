/** The clients of other people's locks, with the options that their READMEs give them: none. */

import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';

export const ioredis5 = 'ioredis 5.9.2 with its defaults';
export const ioredis6 = 'ioredis 6.0.0 with its defaults';

/** A client that reports a silent or missing master soon. */
export const impatient = { commandTimeout: 500, maxRetriesPerRequest: 0 } as const;

export const openClients5 = (urls: readonly string[], options: object = {}): Promise<Redis5[]> =>
  connectAll(urls.map((url) => new Redis5(url, options)));

export const openClients6 = (urls: readonly string[]): Promise<Redis6[]> =>
  connectAll(urls.map((url) => new Redis6(url)));

/** An error event of a client must not end the process. */
async function connectAll<C extends EventEmitter>(clients: C[]): Promise<C[]> {
  for (const client of clients) client.on('error', () => {});
  await Promise.all(clients.map((client) => once(client, 'ready')));
  return clients;
}

export const closeClients = (clients: readonly { disconnect(): void }[]) => (): void => {
  for (const client of clients) client.disconnect();
};
