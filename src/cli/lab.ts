/** `up`, `down`, `status` and `page`: the lab that stays up, and its page. */
import { z } from 'zod';
import { database, json, language } from '../lab/commands/options.ts';
import { commandRow, type Given } from '../lab/commands/row.ts';
import { Lab } from '../lab/environment/lab.ts';
import { type Database, databaseShell } from '../lab/environment/servers/database.ts';
import { networkOf, networks, type ServiceShape } from '../lab/environment/servers/service.ts';
import { alone, endPlays, runningOn } from '../lab/environment/session.ts';
import { pageName } from '../lab/environment/stores.ts';
import { tableText } from '../lab/report/table.ts';
import { addressWithKey, openPage } from '../page/access.ts';
import { durabilities, labTokenSecret } from '../service/config.ts';
import { signToken } from '../service/http/tokens.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { print, progressIn, setExitCode } from './output.ts';

const upRow = commandRow({
  name: 'up',
  about: { en: 'start the lab and leave it running', zh: '启动实验环境，并让它一直运行' },
  arguments: {},
  options: {
    database,
    network: {
      schema: z.enum(networks).optional(),
      value: '<kind>',
      en: 'how the service reaches its stores; some faults need proxied or sentinel (default: direct)',
      zh: '服务怎么连存储；有些故障要 proxied 或 sentinel（默认 direct）',
    },
    durability: {
      schema: z.enum(durabilities).optional(),
      value: '<kind>',
      en: 'what an accepted order survives; replica takes the network sentinel (default: always)',
      zh: '已受理的订单扛得住什么；replica 会用 sentinel 网络（默认 always）',
    },
    language,
    json,
  },
});

export const addUp = command(upRow, async ({ labFolder }, options) => {
  const { json, database, language } = options;
  const { lab, page } = await alone(labFolder, async (signal) => {
    const lab = await labIn(labFolder, signal, language, database);
    await lab.ensure(shapeFor(lab.shape, options));
    return { lab, page: await openPage(lab) };
  });
  const url = lab.baseUrl;
  const token = await signToken(labTokenSecret, '1', 'operator', 86_400);
  const data = { url, page, token, tokenSecret: labTokenSecret, servers: lab.servers };
  const { instances } = lab.shape;
  print(json, data, () => labWords[language].up(url, instances, page));
});

/** `replica` without a network gets the one with Sentinels: it has a replica. */
function shapeFor(
  shape: ServiceShape,
  { network, durability }: Pick<Given<typeof upRow.options>, 'network' | 'durability'>,
): ServiceShape {
  const { ORDER_DURABILITY: _, ...others } = shape.settings ?? {};
  const settings = durability ? { ...others, ORDER_DURABILITY: durability } : shape.settings;
  const needed = durability === 'replica' && networkOf(shape) === 'direct' ? 'sentinel' : undefined;
  const chosen = network ?? needed;
  return { ...shape, ...(settings && { settings }), ...(chosen && { network: chosen }) };
}

/** The one that runs, or one that is started: up as a whole or not at all. */
async function labIn(
  folder: string,
  signal: AbortSignal,
  language: Language,
  database?: Database,
): Promise<Lab> {
  const running = runningOn(folder, database);
  if (running) return running;
  try {
    const lab = await Lab.start(folder, progressIn(language), { database });
    signal.throwIfAborted();
    return lab;
  } catch (error) {
    await Lab.stop(folder);
    throw error;
  }
}

const downRow = commandRow({
  name: 'down',
  about: { en: 'stop the lab', zh: '停止实验环境' },
  arguments: {},
  options: { language, json },
});

export const addDown = command(downRow, async ({ labFolder }, { json, language }) => {
  await endPlays(labFolder);
  const stopped = await alone(labFolder, async () => {
    const lab = Lab.find(labFolder);
    const wasRunning = lab?.servers.some(({ alive }) => alive) ?? false;
    if (lab && wasRunning) await lab.restoreMasters().catch(warnIn(language));
    await Lab.stop(labFolder);
    return wasRunning;
  });
  const say = labWords[language];
  print(json, { stopped }, () => (stopped ? say.stopped : say.wasNotUp));
});

/** The lab is stopped all the same. */
const warnIn =
  (language: Language) =>
  (error: unknown): void =>
    progressIn(language)({
      en: `Writes that only redis-replica has may be lost with this lab: ${error}`,
      zh: `只有 redis-replica 才有的写入，可能随这个实验环境丢失：${error}`,
    });

const statusRow = commandRow({
  name: 'status',
  about: { en: 'show the lab’s servers', zh: '列出实验环境的服务器' },
  arguments: {},
  options: { language, json },
});

export const addStatus = command(statusRow, ({ labFolder }, { json, language }) => {
  const lab = Lab.find(labFolder);
  const running = lab?.isRunning() ?? false;
  const data = { running, url: lab?.baseUrl, shape: lab?.shape, servers: lab?.servers ?? [] };
  print(json, data, () => (lab ? statusText(lab, language) : labWords[language].notUp));
  setExitCode([running ? 'yes' : 'no']);
});

function statusText(lab: Lab, language: Language): string {
  const { baseUrl, servers, shape, database } = lab;
  const say = labWords[language];
  const rows = servers.map(({ name, port, pid, alive, paused }) => [
    name,
    String(port),
    alive ? String(pid) : say.gone,
    paused ? say.paused : '',
  ]);
  const table = tableText({ title: '', head: say.head, rows, textColumns: 1 });
  return [
    `${say.servers(baseUrl, shape.instances, shape.balancer)}\n`,
    `${table}\n`,
    say.lookInside,
    `  ${databaseShell(lab.portOf(database))}`,
    `  redis-cli -p ${lab.portOf('redis-main')}`,
  ].join('\n');
}

const pageRow = commandRow({
  name: 'page',
  about: {
    en: 'print the address of the lab’s page; starts a lab when none is up',
    zh: '打印实验页面的地址；实验环境没启动就先启动',
  },
  arguments: {
    link: {
      schema: z.string().optional(),
      en: 'a link that somebody copied: the same play, in this lab',
      zh: '别人复制的链接：在这个实验环境里走同样的一遍',
    },
  },
  options: { language, json },
});

export const addPage = command(pageRow, async ({ labFolder }, { link, json, language }) => {
  const start = (await addressNow(labFolder)) ?? (await startedPage(labFolder, language));
  const address = link === undefined ? start : addressIn(start, link);
  print(json, { address }, () => labWords[language].page(address));
});

/** A link has the host of the lab in which it was copied. */
function addressIn(start: string, link: string): string {
  const { pathname, search } = new URL(link, start);
  const { origin, hash } = new URL(start);
  return `${origin}${pathname}${search}${hash}`;
}

/** While somebody plays, the page has the lab: it can be opened all the same. */
async function addressNow(folder: string): Promise<string | null> {
  const lab = Lab.running(folder);
  const isThere = lab?.servers.some(({ name, alive }) => name === pageName && alive);
  return lab && isThere ? addressWithKey(folder, lab.pageUrl) : null;
}

const startedPage = (folder: string, language: Language): Promise<string> =>
  alone(folder, async (signal) => openPage(await labIn(folder, signal, language)));

/** What they say, in each language. */
const en = {
  up: (url: string, instances: number, page: string) => `
Lockstep is up: ${url} (nginx, with ${instances} instances behind it)
  API description     ${url}/openapi.json
  Servers, ladder     npx lockstep status; npx lockstep ladder
  The headline        npx lockstep run mutex-per-user --instances 4
  Buy by hand         npx lockstep voucher mutex-per-user
                      npx lockstep buy <voucher> --user 7
  Load it with k6     npm run k6 -- k6/rush.js
  A bearer token      npx lockstep token 7, or 1..2000
  Stop it             npm run down

The page: be the scheduler, and break the sale. ${en.page(page)}`,
  page: (address: string) =>
    `Open in a browser on this machine, once, within 12 hours:\n  ${address}`,
  servers: (url: string, instances: number, balancer: string) =>
    `${url}, ${instances} instances behind ${balancer}`,
  head: ['server', 'port', 'pid', ''],
  lookInside: 'Look into the database, and into the Redis that keeps the orders:',
  gone: 'GONE',
  paused: 'paused',
  notUp: 'The lab is not running: start it with `npm run up`.',
  stopped: 'The lab is stopped.',
  wasNotUp: 'The lab was not running.',
};
type LabWords = typeof en;

const zh: LabWords = {
  up: (url, instances, page) => `
Lockstep 已启动：${url}（nginx，后面有 ${instances} 个实例）
  API 描述            ${url}/openapi.json
  服务器、全部方案    npx lockstep status; npx lockstep ladder
  先看这个            npx lockstep run mutex-per-user --instances 4
  手动购买            npx lockstep voucher mutex-per-user
                      npx lockstep buy <voucher> --user 7
  用 k6 加压          npm run k6 -- k6/rush.js
  令牌                npx lockstep token 7，或 1..2000
  停止                npm run down

实验页面：你来当调度器，让秒杀出错。${zh.page(page)}`,
  page: (address) => `在这台机器的浏览器里打开，12 小时内有效，只能用一次：\n  ${address}`,
  servers: (url, instances, balancer) => `${url}，${balancer} 后面有 ${instances} 个实例`,
  head: ['服务器', '端口', 'pid', ''],
  lookInside: '查看数据库，以及保存订单的 Redis：',
  gone: '已退出',
  paused: '已暂停',
  notUp: '实验环境没有运行：用 `npm run up` 启动。',
  stopped: '实验环境已停止。',
  wasNotUp: '实验环境没有在运行。',
};

const labWords: Readonly<Record<Language, LabWords>> = { en, zh };
