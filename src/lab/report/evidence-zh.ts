/** The sentences of the audit in Chinese, by the form of the English one. */
import type { Language } from '../../texts/texts.ts';

/** From service/audit/checks/; a test keeps them complete. `{}` is a name or a number: $1, $2, … */
const forms = {
  'user {} has {} orders: {} and {} more': '用户 $1 有 $2 个订单：$3，等等',
  'user {} has {} orders: {}': '用户 $1 有 $2 个订单：$3',
  '{} orders for {} in stock': '库存 $2，订单 $1 个',
  'stock is {}': '库存变成了 $1',
  'stock {} + {} orders is not {}': '库存 $1 加订单 $2 不等于 $3',
  'a unit is sold to order {}, which does not exist': '有一份库存卖给了不存在的订单 $1',
  'order {} has no unit': '订单 $1 没有对应的库存',
  'order {} of user {} belongs to no attempt': '用户 $2 的订单 $1 没有对应的请求',
  'order {} means {}': '订单号 $1 指的是 $2',
  'order {} is {} times in MySQL': '订单 $1 在 MySQL 里有 $2 条',
  'order {} of user {} was accepted (request {}) and does not exist':
    '用户 $2 的订单 $1 已接受（请求 $3），却不存在',
  'order {} of user {} was accepted (request {}) and failed ({}), and no other order explains it':
    '用户 $2 的订单 $1 已接受（请求 $3），之后失败（$4），也没有别的订单可以解释',
  'user {} was refused as busy although no other purchase was using the lock':
    '没有别的请求在用锁，用户 $1 却被告知繁忙',
  'user {} got the lock {} ms after it was free': '锁空闲 $2 ms 之后，用户 $1 才拿到',
  'the stock is {} in Redis and {} in MySQL': '库存在 Redis 里是 $1，在 MySQL 里是 $2',
  'Redis sold order {} to user {}, MySQL has {}': 'Redis 把订单 $1 卖给了用户 $2，MySQL 里是 $3',
  'MySQL has order {} of user {}, who is no buyer in Redis':
    'MySQL 里有用户 $2 的订单 $1，Redis 里却没有这个买家',
  'user {} was answered sold-out, but at most {} of {} could be taken by then':
    '用户 $1 被告知售罄，而那时 $3 张里最多卖了 $2 张',
  'user {} was answered already-ordered (order {}) before that order was requested':
    '用户 $1 被告知已有订单（$2），而那个订单当时还没有请求',
  'user {} was answered {} with order {}, which belongs to {}':
    '给用户 $1 的响应是 $2，订单 $3，而它属于 $4',
  'order {} of user {} was requested and accepted after "sold out" had been answered':
    '已经回答“售罄”之后，用户 $2 的订单 $1 才请求，却被接受了',
  'request {} was answered {}, and the history says {}': '请求 $1 得到的响应是 $2，历史里却是 $3',
  '{}: user {} on {} from {} to {} (order {}), and user {} on {} from {} to {} (order {})':
    '$1：用户 $2 在 $3 上从 $4 到 $5（订单 $6），同时用户 $7 在 $8 上从 $9 到 $10（订单 $11）',
  '{}: order {} was granted the fence {} after order {} was granted the fence {}':
    '$1：订单 $4 拿到令牌 $5 之后，订单 $2 拿到了令牌 $3',
  '{}: order {} wrote with the fence {} after order {} wrote with the fence {}':
    '$1：订单 $4 用令牌 $5 写入之后，订单 $2 用令牌 $3 写入',
  'the history has no grant of the lock for order {}': '历史里没有订单 $1 加锁成功的记录',
  'the history has {} for order {}': '历史里订单 $2 的记录：$1',
  'nobody bought although stock was left; the first answer was: {}':
    '还有库存却没有人买到；第一个响应是：$1',
  'writes that MySQL refused: {} by the fence': 'MySQL 拒绝的写入：栅栏号太旧 $1 次',
  'writes that MySQL refused: {}': 'MySQL 拒绝的写入：$1',
  'accepted orders are still queued': '还有已接受的订单在排队',
  'orders are still queued': '还有订单在排队',
  'the sale is running: Redis changed meanwhile': '还在销售：检查期间 Redis 变了',
  'the history has a gap': '历史里有缺口',
  'no history was kept': '没有记录历史',
  'neither answers nor history were kept': '响应和历史都没有记录',
  'the answers of the clients were not kept': '没有记录给客户端的响应',
  'this rung does not promise it': '这一级没有承诺这一点',
  'this rung has no lock that should exclude others': '这一级不用锁',
  'Redis keeps no stock of this sale': '这次销售的库存不在 Redis 里',
  'still queued: order {}': '还在排队的订单：$1',
  'the contract of the queue of {}': '$1 的队列的契约测试',
  'the contract of {}': '$1 的契约测试',
  '{} of {} tests passed': '$2 个测试通过了 $1 个',
  'failed: {}': '没有通过：$1',
  'no test of it was run': '没有运行它的任何测试',
} as const;

const escaped = (text: string): string => text.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');
const patterns = Object.entries(forms).map(
  ([form, chinese]) =>
    [new RegExp(`^${escaped(form).replaceAll('{}', '(.+?)')}$`), chinese] as const,
);

/** Another form stays as it is. */
export function evidenceIn(language: Language, evidence: string): string {
  if (language === 'en') return evidence;
  const [form, chinese] = patterns.find(([each]) => each.test(evidence)) ?? [];
  return form && chinese ? evidence.replace(form, chinese) : evidence;
}
