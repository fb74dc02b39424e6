/** What a choice breaks in servers, in words: in the terminal, and in the page. */
import type { Bilingual, Language } from '../../texts/texts.ts';
import type { ServerFault } from './letters.ts';

interface FaultChoice {
  /** On its button. */
  readonly title: Bilingual;
  /** What has happened. */
  readonly did: Bilingual;
}

const choice = (title: [en: string, zh: string], did: [en: string, zh: string]): FaultChoice => ({
  title: { en: title[0], zh: title[1] },
  did: { en: did[0], zh: did[1] },
});

const choices: Readonly<Record<ServerFault, FaultChoice>> = {
  'hold-replication': choice(
    ['Hold replication', '停止复制'],
    ['the replica hears nothing more', '从节点不再收到任何数据'],
  ),
  'promote-replica': choice(
    ['Promote the replica', '提升从节点'],
    ['the master is killed, and its replica is the master', '主节点被杀死，从节点成为主节点'],
  ),
  'restart-empty': choice(
    ['Restart redis-1 empty', '清空重启 redis-1'],
    ['redis-1 restarts without its data', 'redis-1 数据丢失后重启'],
  ),
  'restart-all': choice(
    ['Restart the lock servers', '重启锁服务器'],
    ['the lock servers are killed, and start with their data', '锁服务器被杀死，带着数据启动'],
  ),
  'flush-scripts': choice(
    ['Forget the scripts', '忘记脚本'],
    ['the lock servers forget every script', '锁服务器忘记所有脚本'],
  ),
  slow: choice(
    ['Slow the masters', '让主节点变慢'],
    ['too many masters answer late', '太多主节点响应太慢'],
  ),
  pause: choice(
    ['Pause the masters', '暂停主节点'],
    ['too many masters stand still', '太多主节点停住'],
  ),
  'queue-restarts': choice(
    ['Restart the queue’s server', '重启队列的服务器'],
    ['the queue’s server is killed, and starts', '队列的服务器被杀死，又启动'],
  ),
  'database-restarts': choice(
    ['Restart the database', '重启数据库'],
    ['the database is killed, and starts', '数据库被杀死，又启动'],
  ),
  'session-killed': choice(
    ['Kill the worker’s session', '杀死消费者的会话'],
    ['the worker’s session in the database is killed', '消费者的数据库会话被杀死'],
  ),
  'connections-used-up': choice(
    ['Use up the connections', '占满数据库连接'],
    ['the database has no connection left', '数据库没有空闲的连接'],
  ),
};

const isOne = (to: string): to is ServerFault => Object.hasOwn(choices, to);

/** @param to the fault; or a lane, whose process was cut off */
export function brokenText(to: string, language: Language): string {
  if (isOne(to)) return choices[to].did[language];
  return { en: `${to} is cut off from its lock servers`, zh: `${to} 与锁服务器断网` }[language];
}

export const mendedText = (to: string, language: Language): string =>
  ({ en: `mended: ${brokenText(to, 'en')}`, zh: `已恢复：${brokenText(to, 'zh')}` })[language];

/** What it is called on a button. */
export const faultTitle = (to: string, language: Language): string =>
  isOne(to)
    ? choices[to].title[language]
    : { en: `the network of ${to}`, zh: `${to} 的网络` }[language];
