/**
 * nginx as in docker-compose.yml: it asks a name server for the addresses of the instances. Here
 * the name server is the test's.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { programPath, startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { renderNginx } from '../../src/lab/environment/servers/nginx.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from '../support/basics.ts';
import { ownPorts } from '../support/servers.ts';

const apiPort = 17_960;

/** Without settings of a deployment: what is behind `:-`. */
const asComposeFills = (environment: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+:-([^}]*)\}/g, '$1'),
    ]),
  );

/** Answers every question with these addresses, each time in another order, as Docker does. */
async function nameServer() {
  const server = { port: 0, addresses: [] as string[] };
  const socket = createSocket('udp4');
  socket.on('message', (question, { port, address }) => {
    server.addresses.push(...server.addresses.splice(0, 1));
    socket.send(answerWith(question, server.addresses), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  server.port = socket.address().port;
  return server;
}

/** The question again, and an A record for each address; without addresses, "no such name". */
function answerWith(question: Buffer, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(addresses.length > 0 ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const record = Buffer.from('c00c0001000100000258000400000000', 'hex');
    record.set(address.split('.').map(Number), 12);
    return record;
  });
  return Buffer.concat([head, ...records]);
}

async function instanceAt(address: string): Promise<void> {
  const server = createServer((_, response) => response.end(address));
  server.listen(apiPort, address);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
}

/** nginx with the settings of docker-compose.yml, and the test's name server. */
async function nginxOfCompose(nameServerPort: number): Promise<string> {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });
  const folder = someFolder();
  const port = await ownPorts(19_900);
  const upstream: string = services.nginx.environment.UPSTREAM_SERVERS;
  expect(upstream).toContain('resolver 127.0.0.11 ');
  const file = join(folder, 'nginx.conf');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    file,
    renderNginx({
      ...asComposeFills(services.nginx.environment),
      RUN_FOLDER: folder,
      LISTEN: `127.0.0.1:${port}`,
      UPSTREAM_SERVERS: upstream
        .replace('resolver 127.0.0.11', `resolver 127.0.0.1:${nameServerPort}`)
        .replace('api:8080', `api:${apiPort}`),
    }),
  );
  const args = ['-p', folder, '-c', file, '-g', 'daemon off;'];
  const logFile = join(folder, 'nginx.log');
  const running = startProcess({ command: programPath('nginx'), args, logFile });
  onTestFinished(() => stopProcess(running));
  const url = `http://127.0.0.1:${port}/vouchers`;
  await waitUntil('an answer of nginx', 20_000, async () => (await fetch(url)).status > 0);
  return url;
}

const ask = async (url: string): Promise<string> => (await fetch(url)).text();

test('nginx starts while no instance has an address, and finds the instances later', async () => {
  const names = await nameServer();
  const url = await nginxOfCompose(names.port);
  const answer = await fetch(url);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ code: 'not-ready' });
  await instanceAt('127.0.0.2');
  names.addresses = ['127.0.0.2'];
  await waitUntil('the instance', 20_000, async () => (await ask(url)) === '127.0.0.2');
});

test('nginx follows instances whose addresses change', async () => {
  const names = await nameServer();
  await Promise.all(['127.0.0.2', '127.0.0.3'].map(instanceAt));
  names.addresses = ['127.0.0.2'];
  const url = await nginxOfCompose(names.port);
  await waitUntil('the first instance', 20_000, async () => (await ask(url)) === '127.0.0.2');
  names.addresses = ['127.0.0.3'];
  await waitUntil('the other instance', 20_000, async () => (await ask(url)) === '127.0.0.3');
});

test('nginx asks the instances strictly in turn, in whatever order their addresses come', async () => {
  const names = await nameServer();
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
  await Promise.all(addresses.map(instanceAt));
  names.addresses = [...addresses];
  const url = await nginxOfCompose(names.port);
  const seen = new Set<string>();
  await waitUntil('all instances', 20_000, async () => seen.add(await ask(url)).size === 4);
  const answers: string[] = [];
  const until = Date.now() + 5_000; // Longer than two questions to the name server.
  while (Date.now() < until) answers.push(await ask(url));
  const turn = answers.slice(0, 4);
  expect(new Set(turn).size).toBe(4);
  const expected = answers.map((_, index) => turn[index % 4]);
  expect(answers).toEqual(expected);
});
