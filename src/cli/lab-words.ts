/** What the commands that start, show and stop the lab say, in each language. */
import type { Language } from '../texts/texts.ts';

interface Running {
  readonly url: string;
  readonly instances: number;
}

const en = {
  up: ({ url, instances }: Running, page: string) => `
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
  up: ({ url, instances }, page) => `
Lockstep 已启动：${url}（nginx，后面有 ${instances} 个实例）
  API 描述            ${url}/openapi.json
  服务器、阶梯        npx lockstep status; npx lockstep ladder
  先看这个            npx lockstep run mutex-per-user --instances 4
  手动购买            npx lockstep voucher mutex-per-user
                      npx lockstep buy <voucher> --user 7
  用 k6 加压          npm run k6 -- k6/rush.js
  令牌                npx lockstep token 7，或 1..2000
  停止                npm run down

实验页面：你来当调度器，让促销出错。${zh.page(page)}`,
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

export const labWords: Readonly<Record<Language, LabWords>> = { en, zh };
