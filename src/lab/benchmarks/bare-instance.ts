/**
 * A program of the benchmark: the least that Hono does for a request, on the same adapter as an
 * instance of the service; and, at another path, the least that Node does. It ends with the process
 * that started it.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { isAbsolute } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';

const [upstream = '', path = '', nodePath = ''] = process.argv.slice(2);
const backlog = 4_096; // As an instance.
const accepted = { id: '0', status: 'queued' };
const app = new Hono().post(path, (c) => c.json(accepted, 202));
const ofHono = getRequestListener(app.fetch);
const ofNode = (response: ServerResponse) =>
  response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify(accepted));
const server = createServer((request, response) => {
  if (request.url === nodePath) ofNode(response);
  else void ofHono(request, response);
});
server.keepAliveTimeout = 75_000; // Longer than nginx keeps an idle connection, as the service.
if (isAbsolute(upstream)) {
  rmSync(upstream, { force: true }); // A killed process leaves its socket behind.
  server.listen({ path: upstream, backlog, writableAll: true });
} else server.listen({ host: '127.0.0.1', port: Number(upstream), backlog });
await once(server, 'listening');
process.send?.('listening');
process.on('disconnect', () => process.exit());
