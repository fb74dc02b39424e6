import type { LadderText } from './text.ts';

export const zh: LadderText = {
  story: {
    'one-process': {
      title: '互斥锁，1 个进程',
      meaning: '同一用户的请求排队等同一把互斥锁，一个接一个地购买。',
    },
    'four-processes': {
      title: '同样的互斥锁，4 个进程',
      meaning: '每个进程有自己的互斥锁，nginx 把同一用户的请求分给四个进程。',
    },
    'shared-lock': {
      title: 'Redis 锁，4 个进程',
      meaning: '四个进程向同一个 Redis 申请锁。',
    },
    'one-script': {
      title: 'Lua 脚本 + Redis Stream，4 个进程',
      meaning: '不用锁：一个脚本完成检查和扣减，Stream 把订单送到 MySQL。',
    },
  },
  chapters: {
    1: '库存',
    2: '一人一单，单进程',
    3: '多进程',
    4: '主从切换',
    5: '消息队列',
    6: '最终方案',
  },
  rungs: {
    'read-then-write': {
      idea: '先读库存，再写回减一后的值',
      lesson: '检查和写入分两步，就会超卖。',
    },
    'version-check': {
      idea: '读库存和版本号，版本号没变才写',
      lesson: '不会超卖，但还有库存时也会拒绝很多人。',
    },
    'stock-compare-and-set': {
      idea: '读库存，库存没变才写',
      lesson: '库存本身就可以当版本号，失败率一样高。',
    },
    'stock-positive': {
      idea: '一条带 stock > 0 条件的 UPDATE',
      lesson: '一条带条件的语句，正好卖完库存。',
    },
    'row-lock': {
      idea: 'SELECT … FOR UPDATE，然后写',
      lesson: '结果正确，但同一张券的买家只能排队。',
    },
    'redis-stock': {
      idea: '库存放在 Redis：在券的分布式锁里 GET，再 SET',
      lesson: '锁没问题，库存就没问题；买家只能排队。',
    },
    'check-then-insert': {
      idea: '先查用户有没有订单，再插入订单',
      lesson: '同一用户的两个请求都查到“没有订单”。',
    },
    'mutex-fresh-key': {
      idea: '每个请求都锁一个新建的对象',
      lesson: '值相等不等于同一个对象：没有 intern() 的字符串。',
    },
    'mutex-on-transaction': {
      idea: '整个方法一把锁，锁在事务里面（@Transactional synchronized）',
      lesson: '锁先释放，事务后提交。',
    },
    'mutex-inside-transaction': {
      idea: '每个用户一把锁，锁在事务里面',
      lesson: '先提交事务，再释放锁。',
    },
    'mutex-bypassed-transaction': {
      idea: '每个用户一把锁，但语句逐条提交',
      lesson: '绕过代理的调用没有事务。',
    },
    'mutex-per-method': {
      idea: '整个进程的下单共用一把锁',
      lesson: '单进程正确但串行，四个进程就错。',
    },
    'mutex-per-user': {
      idea: '进程内存里每个用户一把锁',
      lesson: '单进程正确；四个进程就有四把互不相干的锁。',
    },
    'redis-no-expiry': {
      idea: 'Redis 的 SET NX 加锁，DEL 释放',
      lesson: '所有进程共用一把锁；持有者宕机，或一次释放丢失，锁永远不释放。',
    },
    'redis-expiry-later': {
      idea: '先 SETNX，再 EXPIRE；DEL 释放',
      lesson: '两条命令之间宕机，锁就没有过期时间。',
    },
    'redis-expiry': {
      idea: 'SET NX PX 加锁，DEL 释放',
      lesson: '过期后的释放会误删下一个持有者的锁。',
    },
    'redis-owner': {
      idea: 'SET NX PX 带持有者标识；GET 比较后再 DEL',
      lesson: '比较和删除必须是一步。',
    },
    'redis-atomic': {
      idea: 'SET NX PX 带持有者标识；Lua 脚本比较并删除',
      lesson: '释放没问题；业务超过租约时间仍然出错。',
    },
    'redis-no-retry': {
      idea: 'redis-atomic 的锁，只试一次，不等待',
      lesson: '安全，但还有库存时也会赶走买家。',
    },
    'redis-message': {
      idea: 'SET NX PX；释放时向等待者发布消息',
      lesson: '订阅晚了一步，就会守着空闲的锁睡觉。',
    },
    'redis-reentrant': {
      idea: '带计数的哈希、看门狗和消息（Redisson 的 RLock）',
      lesson: '只要进程不停顿、Redis 不丢数据，长业务和重入都没问题。',
    },
    'redis-spin': {
      idea: '哈希和看门狗同 redis-reentrant；等待者反复询问',
      lesson: '不会错过消息，但发现锁空闲比较晚。',
    },
    'redis-fair': {
      idea: '哈希和看门狗同 redis-reentrant；等得最久的先得锁',
      lesson: '先来先得；等待者宕机会堵住队列。',
    },
    'zookeeper-latch': {
      idea: '临时顺序节点；笔记里的等待：先 exists，再建 CountDownLatch',
      lesson: 'exists 和 latch 之间的释放没人知道。',
    },
    zookeeper: {
      idea: '临时顺序节点；每个等待者监听前一个节点',
      lesson: '锁随持有者的会话一起消失：持有者可能宕机，也可能只是停顿。',
    },
    multilock: {
      idea: '三个独立 Redis 主节点，每个都加 redis-reentrant 的锁（联锁）',
      lesson: '只要一个主节点的数据还在就互斥；少一个主节点就不能卖。',
    },
    redlock: {
      idea: '三个独立 Redis 主节点中的多数',
      lesson: '可以坏一个主节点；租约仍然可能到期。',
    },
    fenced: {
      idea: 'redis-atomic 的锁；MySQL 给每个租约编号，写入时检查编号',
      lesson: '可能同时有两个持有者，MySQL 拒绝较旧者的写入。',
    },
    'unique-rail': {
      idea: 'redis-expiry 的锁，加上 MySQL 的（优惠券，用户）唯一索引',
      lesson: '锁可以失效，唯一索引仍会拒绝第二单。',
    },
    'redis-commands': {
      idea: '库存和买家在 Redis，用分开的命令操作',
      lesson: '四条原子命令放在一起就不是原子的。',
    },
    memory: {
      idea: 'Lua 脚本扣库存，订单放在进程内存的阻塞队列里',
      lesson: '只有进程知道的东西，会和进程一起消失。',
    },
    'redis-list': {
      idea: 'Lua 脚本扣库存，订单放在 Redis 列表里，消费者弹出',
      lesson: '弹出的订单只存在于弹出者的内存里。',
    },
    'redis-list-reliable': {
      idea: 'Lua 脚本扣库存；消费者先把订单移到自己的列表，入库后再删除',
      lesson: '用移动代替弹出：消费者宕机后，别的消费者把订单移回来。',
    },
    'redis-pubsub': {
      idea: 'Lua 脚本扣库存，订单发布到 Redis 频道',
      lesson: '没人收听的消息就没了。',
    },
    'redis-stream': {
      idea: 'Lua 脚本扣库存，订单写入 Stream；用 XREAD 只读新消息',
      lesson: '只读新消息，离开期间到达的订单永远读不到。',
    },
    'redis-stream-last-id': {
      idea: 'Lua 脚本扣库存，订单写入 Stream；用 XREAD 从保存的最后一个 id 读起',
      lesson: '提交之后再保存 id：一个消费者正确，两个就错。',
    },
    'redis-stream-group': {
      idea: 'Lua 脚本扣库存，然后由进程把订单写入 Stream',
      lesson: '脚本和入队之间宕机，库存就丢了。',
    },
    rabbitmq: {
      idea: 'Lua 脚本扣库存，订单放在 RabbitMQ：发布确认、手动应答、死信队列',
      lesson: '确认过的订单不会丢；扣减和发布之间的缺口还在。',
    },
    'merged-commit': {
      idea: '攒一毫秒内的买家，用一个事务卖给所有人',
      lesson: '许多买家共用一次 COMMIT：不用队列，接受即已入库。',
    },
    'unit-rows': {
      idea: '每件库存一行；每笔交易锁住一行没被锁的（SKIP LOCKED）',
      lesson: '没有热点行；上限是交易占用的连接数。',
    },
    'lua-stream': {
      idea: '一个脚本完成检查、扣减和入队；消费者写入 MySQL',
      lesson: 'Redis 里一步完成，至少一次写入 MySQL：又准又快。',
    },
    'lua-buckets': {
      idea: '一张券的库存拆到多个分片，每次购买仍是一个分片上的一个脚本',
      lesson: '按用户而不是按券路由，空桶向别的桶借库存：多核上仍然精确。',
    },
  },
  checks: {
    'no-oversell': '订单数不超过库存',
    'one-order-per-user': '一个用户最多一单',
    'no-lost-orders': '已接受的订单都存在',
    'no-phantom-orders': '没有无人下过的订单',
    'redis-matches-mysql': 'Redis 和 MySQL 的库存、买家一致',
    'order-ids-unique': '一个订单号只对应一个订单',
    'responses-match-database': '给客户端的答复与数据库一致',
    'mutual-exclusion': '同一时刻一把锁只有一个持有者',
    progress: '空闲的锁一定能拿到',
  },
  circumstances: {
    'two-requests-at-once': '两个请求同时到达',
    'several-instances': '多个进程同时售卖',
    'crash-between-writes': '进程在两次写入之间宕机',
    'crash-before-expire': '进程在 SETNX 和 EXPIRE 之间宕机',
    'crash-before-publish': '进程在扣减之后、入队之前宕机',
    'instance-dies': '进程在订单入队之后宕机',
    'worker-dies': '消费者手里有订单时宕机',
    'worker-dies-after-commit': '消费者在提交之后、确认之前宕机',
    'worker-away': '订单入队时没有消费者在运行',
    'queue-restarts': '队列服务器被杀掉，带着数据重启',
    'database-restarts': '数据库在处理一批订单时被杀掉并重启',
    'session-killed': '消费者的数据库会话被杀掉',
    'connections-used-up': '数据库的连接被其他客户端占满',
    'holder-dies': '锁的持有者宕机',
    'release-after-expiry': '租约到期之后才释放',
    'lease-expires-in-release': '租约在比较和删除之间到期',
    'lease-expires-during-sale': '业务时间超过租约',
    'holder-pauses': '持有者的进程停顿，时间超过租约',
    're-entry': '持有者再次加锁',
    'lost-wakeup': '等待者监听之前锁已释放',
    'never-released': '持有者忘记释放',
    'waiter-dies': '等待锁的进程宕机',
    'stale-promotion': '没有同步到锁的从节点被提升为主节点',
    'restart-empty': '锁服务器在租约之内重启，数据丢失',
    'restart-empty-delayed': '锁服务器丢失数据，但停机时间超过最长租约才重启',
    'restart-with-data': '锁服务器在租约之内重启，数据保留',
    'scripts-forgotten': '锁服务器忘记了脚本',
    'holder-cut-off': '持有者与锁服务器断网，时间超过租约',
    'event-loop-blocked': '持有者的事件循环被阻塞，时间超过租约',
    'servers-slow': '太多锁服务器响应超时',
    'servers-hung': '太多锁服务器暂停一段时间',
  },
  reasons: {
    'two-read-the-same-stock': '两个请求读到同样的库存，都写回减一后的值',
    'both-check-before-insert': '同一用户的两个请求都在插入之前完成了检查',
    'mutex-of-its-own-object': '每个请求锁的是自己的对象：值相等，锁不同',
    'released-before-commit': '下一个持有者在提交之前检查，看不到订单',
    'separate-mutexes': '每个进程有自己的锁，互不相知',
    'two-inside-at-once': '两个请求同时在临界区内',
    'stock-without-order': '库存已扣，进程在插入订单之前宕机',
    'taken-in-redis-only': 'Redis 已经减了库存，MySQL 的事务却回滚了',
    'waits-for-itself': '持有者等自己的锁，直到超时',
    'key-stays': '宕机者的键永远存在',
    'key-without-expiry': '键已写入，却没有过期时间',
    'deletes-next-key': '迟到的释放删掉了下一个持有者的键，第三个请求进入',
    'deletes-in-the-gap': '删除命中了下一个持有者的键，第三个请求进入',
    'sale-outlasts-lease': '两个持有者的业务同时提交',
    'paused-past-lease': '进程停顿时没有人续期；恢复运行后，它与下一个持有者先后提交',
    'message-lost': '等待者订阅之前消息已经发布',
    'latch-missed': '节点在建立 latch 之前删除，事件没有唤醒任何人',
    'lock-stays-held': '进程还活着，锁永远不释放',
    'dead-waiter-blocks': '锁一直留给已宕机的等待者，几分钟后才轮到别人',
    'commands-interleave': '两个请求的命令交错执行：都在写入之前完成了检查',
    'claimed-not-published': '库存和资格已用掉，队列里却没有订单',
    'gone-with-its-process': '订单只在进程的内存里',
    'popped-and-lost': '订单已被弹出，只有宕机的消费者有它',
    'heard-and-lost': '消息已送达，只有宕机的消费者有它',
    'nobody-listened': '消息发布时没有人收听',
    'read-and-lost': '宕机的消费者已读过这条消息，下一个从它之后读起',
    'reads-only-new': '消费者只读新消息，订单在它之前',
    'replica-without-lock': '新的主节点没有这个键，下一个持有者与原持有者先后提交',
    'lock-forgotten': '服务器上的键已丢失，下一个持有者与原持有者先后提交',
    'fences-start-again': '清空后的服务器从头开始编号',
    'late-grant-stays': '请求者放弃之后锁才加上，没有人释放它',
    'release-lost': '释放命令没有到达服务器，而键没有过期时间',
  },
};
