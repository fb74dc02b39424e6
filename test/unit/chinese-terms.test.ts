/** One Chinese word for each term, in every catalog and page; recorded output is not read. */
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

/** What is said, and what may not be used for it. */
const terms: readonly [says: string, not: RegExp][] = [
  ['方案 (rung), 全部方案 (ladder)', /台阶|阶梯|[一两这每几]级(?![别联])/],
  ['与预期一致 (as claimed)', /声明过|承诺的一样/],
  ['通过, 违反 (held, violated)', /判定：|被打破/],
  ['实验环境 (lab)', /实验室/],
  ['时间线 (lane)', /泳道/],
  ['数据版本 (epoch)', /纪元/],
  ['故障场景 (circumstance)', /情形/],
  ['已受理 (accepted)', /[已被]接受|每秒接受/],
  ['响应 (answer of a server)', /应答(?!、重试五次)|答复|(?<!简短的|主持人的)回答(?!一个问题)/],
  ['压测 (load)', /负载(?!均衡)/],
  ['下单, 秒杀, 业务 (sale)', /销售|促销/],
  ['故障注入 (to break)', /破坏它|弄坏|被破坏/],
  ['key, 幂等键', /(?<![一等主外按由关向])键(?!盘)/],
  ['栅栏令牌 (fence)', /栅栏(?!令牌)/],
  ['系统时钟 (wall clock)', /墙上时钟/],
  ['持有者宕机 (a dead owner)', /宕机者|拿着订单死了/],
  ['锁已释放 (a free lock)', /锁旁|睡觉|沉睡/],
  ['等候室 (waiting room)', /排队室|候场室/],
  ['丢了锁数据的主节点', /失忆|空着重启/],
];

const files = globSync(
  ['{src,examples}/**/*.{ts,tsx}', 'docs/{glossary.md,zh/**/*.md}', 'README.zh-CN.md'],
  { cwd: root },
);

test.each(terms)('in Chinese it is %s', (_, not) => {
  for (const file of files) {
    const text = readFileSync(root + file, 'utf8').replaceAll(/```text.*?```/gs, '');
    const lines = text.split('\n').filter((line) => /\p{Script=Han}/u.test(line) && not.test(line));
    expect.soft(lines, file).toEqual([]);
  }
});
