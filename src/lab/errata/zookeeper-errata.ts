/** Errata about the ZooKeeper lock of the notes. */
import { randomUUID } from 'node:crypto';
import {
  createFolder,
  createNumbered,
  namesIn,
  remove,
} from '../../service/connections/zookeeper-nodes.ts';
import type { Erratum } from './erratum.ts';

export const zookeeperErrata = {
  'one-folder': {
    says: {
      en: 'all locks are nodes in /lock, sorted by name; the comment: find the node "a little larger"',
      zh: '所有锁都是 /lock 下的节点，按名字排序；注释写“找到比自己大一点的节点”',
    },
    truth: {
      en: 'Names of different locks are sorted together, so a lock waits for a stranger. And the code takes the node before its own, which is the smaller one. Here each resource has a folder.',
      zh: '不同的锁排在一起，于是等的是别人的锁。而且代码取的是前一个，也就是比自己小的节点。这里每个资源有自己的目录。',
    },
    async play(stage, tell) {
      const session = stage.connections.zookeeper().session();
      const folder = `/erratum-${randomUUID()}`;
      await createFolder(session, folder);
      const created = [];
      for (const lock of ['order8-', 'order7-'])
        created.push(await createNumbered(session, `${folder}/${lock}`));
      const sorted = (await namesIn(session, folder)).toSorted();
      const own = created[0]?.split('/').at(-1) ?? '';
      const place = sorted.indexOf(own) + 1;
      tell(
        'user 8 asks for lock order8 first, then user 7 for order7',
        '用户 8 先申请锁 order8，用户 7 随后申请 order7',
      );
      tell(`sorted: ${sorted.join(', ')}`, `排序后：${sorted.join('、')}`);
      tell(
        `the only node of order8 is at place ${place}: it waits for order7`,
        `order8 唯一的节点排在第 ${place} 位：它在等 order7`,
      );
      for (const name of sorted) await remove(session, `${folder}/${name}`);
      await remove(session, folder);
      return place === 2;
    },
  },
} as const satisfies Record<string, Erratum>;
