/**
 * The metrics of this process, in the format of Prometheus, on a port of their own: nginx does not
 * serve it, and one process that hangs does not hide the others.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { collectDefaultMetrics, Registry } from '@prometheus-io/client';

export const registry = new Registry();
export const registers = [registry];

/** @param port 0: none is opened. */
export async function serveMetrics(host: string, port: number, instance: string): Promise<void> {
  if (port === 0) return;
  registry.setDefaultLabels({ process: instance });
  collectDefaultMetrics({ register: registry }); // Also the delay of the event loop.
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    try {
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    } catch (error) {
      response.writeHead(503).end(String(error)); // A mistake of the program.
    }
  });
  server.listen({ host, port, exclusive: true }); // Not through the primary of the cluster.
  await once(server, 'listening');
  server.unref(); // It does not keep a process that has ended its work.
}
