import {
  type LockEventGap,
  type Outcome,
  type Stay,
  sentenceIn,
} from '../service/audit/sentences.ts';
import type { evidenceEn } from './evidence-en.ts';

const gaps: Readonly<Record<LockEventGap, string>> = {
  'few-grants': '加锁成功的次数太少',
  'no-grant': '没有加锁成功',
  'no-denial': '没有加锁失败',
  'two-requests': '有两个请求的加锁记录',
};

const stay = ({ userId, orderId, instance, from, to }: Stay): string =>
  `用户 ${userId} 在 ${instance} 上从 ${from} ms 到 ${to} ms（订单 ${orderId}）`;

const outcome = (known: Outcome | null): string => {
  if (known === null) return '没有';
  return known.outcome === 'accepted' ? `accepted（订单 ${known.orderId}）` : known.outcome;
};

const tooSlow = '机器太慢';

export const evidenceZh: typeof evidenceEn = {
  'user-has-orders': (userId, count, some) =>
    `用户 ${userId} 有 ${count} 个订单：${some.join(', ')}${count > some.length ? '，等等' : ''}`,
  'more-orders-than-stock': (orders, stock) => `库存 ${stock}，订单 ${orders} 个`,
  'stock-below-zero': (stock) => `库存变成了 ${stock}`,
  'stock-and-orders-differ': (stock, orders, initialStock) =>
    `库存 ${stock} 加订单 ${orders} 不等于 ${initialStock}`,
  'unit-without-order': (orderId) => `有一件库存卖给了不存在的订单 ${orderId}`,
  'order-without-unit': (orderId) => `订单 ${orderId} 没有对应的库存`,
  'order-without-attempt': (orderId, userId) => `用户 ${userId} 的订单 ${orderId} 没有对应的请求`,
  'order-id-means-several': (orderId, purchases) => {
    const all = purchases.map(({ userId, requestId }) => `用户 ${userId} 的请求 ${requestId}`);
    return `订单号 ${orderId} 指的是 ${all.join('，以及 ')}`;
  },
  'order-stored-again': (orderId, times) => `订单 ${orderId} 在 MySQL 里有 ${times} 条`,
  'accepted-order-missing': (orderId, userId, requestId) =>
    `用户 ${userId} 的订单 ${orderId} 已受理（请求 ${requestId}），却不存在`,
  'accepted-order-failed': (orderId, userId, requestId, reason) =>
    `用户 ${userId} 的订单 ${orderId} 已受理（请求 ${requestId}），之后失败（${reason}），也没有别的订单可以解释`,
  'busy-beside-unused-lock': (userId) => `没有别的请求在用锁，用户 ${userId} 却被告知繁忙`,
  'granted-late': (userId, ms) => `锁空闲 ${ms} ms 之后，用户 ${userId} 才拿到`,
  'stocks-differ': (redis, mysql) =>
    redis === null
      ? `Redis 里没有库存，MySQL 里是 ${mysql}`
      : `库存在 Redis 里是 ${redis}，在 MySQL 里是 ${mysql}`,
  'buyer-without-order': (userId, orderId, inMysql) => {
    const orders = inMysql.length > 0 ? `是订单 ${inMysql.join(', ')}` : '没有这个用户的订单';
    return `Redis 把订单 ${orderId} 卖给了用户 ${userId}，MySQL 里${orders}`;
  },
  'order-without-buyer': (orderId, userId) =>
    `MySQL 里有用户 ${userId} 的订单 ${orderId}，Redis 里却没有这个买家`,
  'sold-out-too-early': (userId, taken, forSale) =>
    `用户 ${userId} 被告知售罄，而那时 ${forSale} 张里最多卖了 ${taken} 张`,
  'already-ordered-too-early': (userId, orderId) =>
    `用户 ${userId} 被告知已有订单（${orderId}），而那个订单当时还没有请求`,
  'answered-with-foreign-order': (userId, answer, orderId, owner) =>
    `给用户 ${userId} 的响应是 ${answer}，订单 ${orderId}，而它${owner === null ? '不属于任何人' : `属于 ${owner}`}`,
  'sold-after-sold-out': (orderId, userId) =>
    `已经有人被告知“售罄”，用户 ${userId} 的订单 ${orderId} 之后才请求，却被受理了`,
  'history-says-another-outcome': (requestId, answered, recorded) =>
    `请求 ${requestId} 得到的响应是 ${outcome(answered)}，历史里却是 ${outcome(recorded)}`,
  'sections-overlap': (resource, one, other) => `${resource}：${stay(one)}，同时${stay(other)}`,
  'fence-granted-after': ({ resource, earlier, later }) =>
    `${resource}：订单 ${earlier.orderId} 拿到令牌 ${earlier.fence} 之后，订单 ${later.orderId} 拿到了令牌 ${later.fence}`,
  'fence-wrote-after': ({ resource, earlier, later }) =>
    `${resource}：订单 ${earlier.orderId} 用令牌 ${earlier.fence} 写入之后，订单 ${later.orderId} 用令牌 ${later.fence} 写入`,
  'grant-not-recorded': (orderId) => `历史里没有订单 ${orderId} 加锁成功的记录`,
  'lock-events-incomplete': (gap, orderId) => `历史里订单 ${orderId} 的记录：${gaps[gap]}`,
  'nobody-bought-of-stock': (firstAnswer) => `还有库存却没有人买到；第一个响应是：${firstAnswer}`,
  'writes-refused-by-mysql': (byFence, byUniqueKey) => {
    const fence = byFence > 0 ? [`栅栏令牌已过期 ${byFence} 次`] : [];
    const uniqueKey = byUniqueKey > 0 ? [`违反唯一索引 ${byUniqueKey} 次`] : [];
    return `MySQL 拒绝的写入：${[...fence, ...uniqueKey].join('，')}`;
  },
  'accepted-orders-queued': () => '还有已受理的订单在排队',
  'orders-queued': () => '还有订单在排队',
  'redis-moves': () => '检查期间还有人下单，Redis 变了',
  'history-gap': () => '历史里有缺口',
  'no-history': () => '没有记录历史',
  'neither-answers-nor-history': () => '响应和历史都没有记录',
  'no-answers': () => '没有记录给客户端的响应',
  'not-promised': () => '这个方案没有承诺这一点',
  'no-excluding-lock': () => '这个方案不用锁',
  'no-stock-in-redis': () => '这次秒杀的库存不在 Redis 里',
  'check-failed': (error) => `检查本身出错：${error}`,
  'broken-without-claim': (check, found) =>
    `违反了 ${check}，与预期不一致：${sentenceIn(evidenceZh, found)}`,
  'claimed-and-not-broken': (check) => `预期会违反 ${check}，却没有`,
  'lease-lost-without-fault': (lane) => `${tooSlow}：没有故障，${lane} 却失去了租约`,
  'lease-lost-before-fault': (lane) => `${tooSlow}：还没有注入故障，${lane} 就失去了租约`,
  'first-waited': (lane) => `${tooSlow}：前面没有别人，${lane} 却在等待`,
  'server-outlasted-lease': () => `${tooSlow}：有服务器停机的时间超过租约`,
  'did-not-stop': (lane, until, at) => `${lane} 没有停在 ${until}：${at}`,
  'stood-there-before': (lane, until, at) =>
    `${lane} 在前面的步骤已经停在 ${until}，不能再停一次：${at}`,
  'cannot-be-interleaved': (lane, until, at) =>
    `这里两个请求无法交错：${lane} 已得到响应（${at}），而这个方案的购买不经过 ${until}`,
  'did-not-stay': (lane, checkpoint) => `${lane} 没有一直停在 ${checkpoint}`,
  'fault-without-request': () => '故障没有碰到它要针对的请求',
  'fault-without-effect': () => '故障没有作用',
  'lock-not-forgotten': () => '有服务器没能忘记锁',
  'order-recorded-anyway': () => '故障没有拦住订单，订单还是入库了',
  'order-queued': () => '还有一个订单在排队',
  'lane-lost': () => '有一条时间线既没有到达，也看不出在等锁',
  'odd-answer': (userId, reason) => `用户 ${userId} 得到的响应是 ${reason}`,
  'answer-missing': (reasons) => `没有人得到这样的响应：${reasons.join(' 或 ')}`,
  'nobody-bought': () => '没有人买到',
  'orders-never-settled': (orders) => `还在排队的订单：${orders}`,
};
