/** What `reconcile`, `dead-letters` and `ended-sales` say in the lab, in Chinese. */
import type { OperateSentences, TermsInWords } from '../service/operate/sentences.ts';

const terms = ({ change, paused, begin, end }: TermsInWords): string =>
  `第 ${change} 次修改（${paused ? '已暂停' : '未暂停'}，从 ${begin} 到 ${end}）`;

const unknown = '未知';

export const operateZh: OperateSentences = {
  differences: {
    'sale-missing': (voucherId, buyers) =>
      `Redis 里没有券 ${voucherId} 的秒杀（买家 ${buyers} 个）：用 --rebuild 重建`,
    change: (inRedis, inMysql) => `Redis 里是${terms(inRedis)}，MySQL 里是${terms(inMysql)}`,
    'change-of-mysql': (inRedis, inMysql) =>
      `Redis 里是${terms(inRedis)}，MySQL 里是${terms(inMysql)}：MySQL 丢了最近的修改，重建会让 Redis 和 MySQL 一致`,
    stock: (stock, orders, sum, initialStock) =>
      `Redis 的库存 ${stock} + 在途或已入库的订单 ${orders} = ${sum}，初始库存却是 ${initialStock}`,
    'stock-of-mysql': (stock, recorded, initialStock) =>
      `MySQL 的库存 ${stock} + 已入库的订单 ${recorded} 不等于 ${initialStock}`,
    'order-lost': (userId, orderId) =>
      `用户 ${userId} 是买家，订单 ${orderId} 却既不在 Stream 里，也不在 MySQL 里`,
    'buyer-of-failed-order': (userId, orderId) =>
      `用户 ${userId} 是订单 ${orderId} 的买家，而这个订单已经失败`,
    'order-of-another-user': (userId, orderId, inMysql) =>
      `用户 ${userId} 是订单 ${orderId} 的买家，它在 MySQL 里却属于用户 ${inMysql.userId}、券 ${inMysql.voucherId}`,
    'order-without-buyer': (orderId, userId) =>
      `用户 ${userId} 有订单 ${orderId}，Redis 里却没有这个买家`,
    'buyer-of-another-order': (orderId, userId, other) =>
      `用户 ${userId} 有订单 ${orderId}，Redis 里这个用户的订单却是 ${other}`,
    'note-without-order': (orderId, status) =>
      `GET /orders/${orderId} 说在排队（queued），这个订单却${status === undefined ? '哪里都没有' : `已是 ${status}`}`,
    'order-without-note': (orderId) => `订单 ${orderId} 在排队，GET /orders/${orderId} 却说没有`,
  },
  repairs: {
    'transfers-finished': (count) => `补完了分桶之间的 ${count} 次调拨`,
    'change-brought-back': (change) => `恢复了第 ${change} 次修改`,
    'stock-corrected': () => '改正了库存',
    'buyer-again': (userId, orderId) => `用户 ${userId} 重新成为订单 ${orderId} 的买家`,
    'given-back': (orderId) => `退回了失败订单 ${orderId} 的库存和名额`,
    'note-removed': (orderId) => `删掉了订单 ${orderId} 的排队记录`,
    'queued-again': (orderId, userId) => `用户 ${userId} 的订单 ${orderId} 重新入队`,
    noted: (orderId) => `补上了订单 ${orderId} 的排队记录`,
  },
  identities: { stock: '库存', buyers: '买家', status: '状态', change: '修改' },
  verdicts: {
    consistent: '一致：Redis 和 MySQL 对得上',
    inconsistent: '不一致：Redis 和 MySQL 对不上',
    unknown: '判断不了：每次读到的差异都不同；再试一次',
  },
  voucher: (voucherId, text) => `券 ${voucherId}：${text}`,
  counts: ({ stock, inFlight, recorded, initialStock, buyers, isMoving }) =>
    `库存 ${stock ?? '–'} + 在途 ${inFlight} + 已入库 ${recorded}，` +
    `初始库存 ${initialStock}；买家 ${buyers}${isMoving ? '（正在卖）' : ''}`,
  difference: (identity, text) => `  ${identity}：${text}`,
  more: (count) => `  还有 ${count} 条`,
  removed: (count) => `${count} 场秒杀已经结束，Redis 里不再保留`,
  passing: (count) => `${count} 处差异在下一次读取时已经消失：还在卖`,
  repaired: (count) => `修复了 ${count} 处`,
  restored: ({ recorded, inFlight, queuedAgain }) =>
    `已入库 ${recorded}，在途 ${inFlight}，重新入队 ${queuedAgain}`,
  rebuilt: (count, frozenMs) => `重建了 ${count} 场秒杀；停卖 ${frozenMs} ms`,
  notRebuilt:
    'Redis 丢过数据。它已受理、而当时 MySQL 还没有入库的订单，是丢了：没有存储知道它们，所以这里数不出来。' +
    '这些库存重新开售，这些用户可以再买，查这些订单号会得到 unknown-order。',

  noLetters: '没有死信。',
  letters: (count, total) => `死信 ${total} 封，列出 ${count} 封，旧的在前`,
  letter: ({ order = unknown, voucher = unknown, user = unknown, deliveries = unknown }) =>
    `  订单 ${order}，券 ${voucher}，用户 ${user}，投递次数 ${deliveries}`,
  replayedAs: (orderId) => `  已重放为订单 ${orderId}`,
  malformed: (cause) => `  格式错误：${cause}`,
  order: (orderId, status) => `订单 ${orderId}：${status}`,
  orderOfReplay: (orderId, status) => `重放出来的订单 ${orderId}：${status}`,
  orderNotFound: '没有这个订单',
  entry: '它的内容：',
  replayed: (id, orderId, isFirst) =>
    `死信 ${id} ${isFirst ? '已重放' : '之前已经重放过'}：订单 ${orderId}。等它变成 confirmed，再丢弃这封死信。`,
  discarded: '已丢弃：',
  ofAll: (count, done, refused) => `死信 ${count} 封：完成 ${done}，拒绝 ${refused}`,
  refused: (id, code, message) => `死信 ${id}：${code}：${message}`,

  endedRemoved: (count) => `已从 Redis 删除：${count} 场`,
  endedKept: (count) => `保留，因为还有订单没有入库（用 reconcile 查）：${count} 场`,
  ids: (ids) => (ids.length === 0 ? '' : `，券 ${ids.join('、')}`),
};
