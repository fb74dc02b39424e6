/** An instance that stops: every request that reached its port is answered. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { routes } from '../../src/service/http/openapi.ts';
import { drain, listen } from '../../src/service/processes/api-server.ts';

const request = 'POST /orders HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n';
const withinMs = 5_000;

async function started() {
  const app = routes();
  app.post('/orders', (c) => c.text('sold'));
  const server = await listen(app, { host: '127.0.0.1', port: 0, shared: false }, {});
  onTestFinished(async () => {
    if (server.listening) await drain(server, 0);
  });
  const { port } = server.address() as AddressInfo;
  return { server, open: () => connect({ host: '127.0.0.1', port }) };
}

/** All that came until the connection ended; or why it was cut. */
async function answerOn(socket: ReturnType<typeof connect>): Promise<string> {
  const parts: string[] = [];
  socket.on('data', (part) => parts.push(String(part)));
  const cut = await once(socket, 'end').then(
    () => '',
    (error: NodeJS.ErrnoException) => `cut: ${error.code}`,
  );
  socket.end();
  return parts.join('') + cut;
}

test('answers the connections that wait to be accepted when it stops', async () => {
  const { server, open } = await started();
  const sockets = Array.from({ length: 20 }, open); // Linux has accepted them; Node has not.
  const answers = sockets.map((socket) => {
    socket.write(request);
    return answerOn(socket);
  });
  const drained = drain(server, withinMs);
  for (const answer of await Promise.all(answers))
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*sold$/s);
  await drained;
});

test('answers a request on a connection that was idle, and ends the connection with it', async () => {
  const { server, open } = await started();
  const socket = open();
  socket.write(request);
  const [first] = await once(socket, 'data');
  expect(String(first)).toContain('keep-alive');
  const drained = drain(server, withinMs);
  while (server.listening) await turn();
  socket.write(request);
  const answer = await answerOn(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 200 .*sold$/s);
  expect(answer).toMatch(/connection: close/i);
  await drained;
});

test('closes a connection on which nothing comes, and takes no new one', async () => {
  const { server, open } = await started();
  const idle = open();
  idle.write(request);
  await once(idle, 'data');
  const drained = drain(server, withinMs);
  expect(await answerOn(idle)).toBe('');
  await drained;
  const late = open();
  const [error] = await once(late, 'error');
  expect(error).toMatchObject({ code: 'ECONNREFUSED' });
});
