/** The page from the command line, and how long a buyer waits for a person. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Lab } from '../../src/lab/environment/lab.ts';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { playSettings } from '../../src/lab/play/judged-play.ts';
import { laneKeys } from '../../src/lab/stage/lane-messages.ts';
import { withStage } from '../../src/lab/stage/stage.ts';
import { someFolder } from '../support/basics.ts';
import { lockstepWith } from '../support/lockstep.ts';
import { theLab } from '../support/own-lab.ts';
import { ask } from '../support/page.ts';

test('the page starts a lab, keeps its session over a restart, and ends with the lab', {
  timeout: 360_000,
}, async () => {
  const folder = join(someFolder(), 'lab');
  const env = { LOCKSTEP_LAB: folder, LOCKSTEP_RUNS: join(folder, 'runs') };
  const run = (...words: string[]) => lockstepWith(env, ...words);
  onTestFinished(async () => void (await run('down')));
  const { address } = JSON.parse((await run('page', '--json')).stdout) as { address: string };
  const { host, port, origin, hash } = new URL(address);
  /** Node resolves no `….localhost`. */
  const post = (path: string, body: object, cookie = '') =>
    ask(`http://127.0.0.1:${port}${path}`, { host, origin, cookie }, body);
  const enter = () => post('/session', { key: hash.slice('#key='.length) });
  const { status: entered, cookie } = await enter();
  expect(entered).toBe(201);
  expect((await enter()).status).toBe(403); // The key was used.

  const wanted = { rung: 'redis-atomic', choices: 'AAB', slot: 'test main' };
  const begin = () => post('/api/plays', wanted, cookie);
  expect((await begin()).status).toBe(201);
  const busy = await run('run', 'row-lock', '--json');
  expect(JSON.parse(busy.stdout)).toMatchObject({ error: { code: 'LAB_BUSY' } });
  await run('page'); // While it plays: no command waits for it.

  const status = async () => JSON.parse((await run('status', '--json')).stdout);
  const { servers } = (await status()) as { servers: { name: string; pid: number }[] };
  process.kill(servers.find(({ name }) => name === 'page')?.pid ?? 0, 'SIGKILL');
  await expect.poll(async () => (await run('page')).exitCode, { timeout: 30_000 }).toBe(0);
  const shapeOf = () => Lab.running(folder)?.shape.settings ?? {};
  expect(shapeOf()).toMatchObject(playSettings); // Nobody has restored it.
  const next = await run('run', 'row-lock', '--json');
  expect(JSON.parse(next.stdout)).toMatchObject({ asClaimed: true });
  expect(shapeOf()).not.toMatchObject(playSettings);
  expect((await begin()).status).toBe(201);

  const { stdout, exitCode } = await run('down');
  expect({ stdout, exitCode }).toEqual({ stdout: 'The lab is stopped.', exitCode: 0 });
  expect(existsSync(join(folder, 'lab.json'))).toBe(false);
});

const lab = theLab();
const onStage = (work: Parameters<typeof withStage<void>>[2]) =>
  withStage(lab(), new AbortController().signal, async (stage) => {
    await stage.connect();
    await work(stage);
  });

/** Until the player has said once more that it is there. */
const saidAgain = (player: string) =>
  withRedis(lab().portOf('redis-lab'), async (redis) => {
    const left = () => redis.pttl(laneKeys.present(player));
    let last = await left();
    await waitUntil('the next word of the player', 20_000, async () => {
      const before = last;
      last = await left();
      return last > before;
    });
  });

test('a buyer at a checkpoint waits for its player, however long that thinks', () =>
  onStage(async (stage) => {
    const voucherId = await stage.putOnSale({ title: 'long', stock: 1, rung: 'row-lock' });
    const player = stage.player();
    const purchase = { voucherId, userId: '7', requestId: player.requestId('A') };
    player.add('A', () => stage.buy(purchase, { headers: player.headers('A') }));
    await player.resume('A');
    expect(await player.settles('A', 5_000)).toBe(true);
    for (let word = 0; word < 2; word++) await saidAgain(player.id); // It has looked meanwhile.
    await player.look();
    expect(player.state('A')).toMatchObject({ kind: 'paused' });
    expect(stage.tries).toEqual([]);
    await player.finish(5_000);
    expect(stage.tries).toMatchObject([{ outcome: 'accepted' }]);
  }));

test('a buyer whose player has crashed goes on by itself', () =>
  onStage(async (stage) => {
    const voucherId = await stage.putOnSale({ title: 'alone', stock: 1, rung: 'stock-positive' });
    const headers = { 'x-lab-lane': '00000000-0000-4000-8000-000000000000:A' };
    const purchase = { voucherId, userId: '7', requestId: 'nobody-plays-it' };
    expect(await stage.buy(purchase, { headers })).toMatchObject({ outcome: 'accepted' });
  }));
