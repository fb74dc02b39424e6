/**
 * What each error means, and what to do, in Chinese. The names and the numbers stand in the English
 * message behind it.
 */
import type { LabErrorCode } from '../lab/errors.ts';
import type { ServiceErrorCode } from '../service/errors.ts';

const sentences: Readonly<Record<LabErrorCode | ServiceErrorCode, string>> = {
  AUDIT_FAILED: '这张券的审计没有得出结果。有存储不在线的话，等它恢复再试。',
  BARE_INSTANCE_ENDED: '用来对照的进程还没监听就退出了。端口是不是被占用了？',
  BATCH_TOO_SLOW:
    '一批订单没能按时写入 MySQL，连接已断开，订单会再次投递。MySQL 确实这么慢的话，调小 BATCH_SIZE 或调大 BATCH_LIMIT_MS。',
  CANNOT_COMPILE: '你的文件编译不过，编译器的提示在下面。',
  CHOICES_DISTURBED: '什么也判断不了：可能有服务器停了，或者机器太忙。',
  CHOICES_MISSING: '--every-checkpoint 和 --commands 要和 --choices 一起用。',
  CLOCK_STEPPED_BACK: '时钟往回拨得太多，暂时不发订单号。校准时钟；已经准了就重启这个进程。',
  CHANGE_INVALID: '这张券不能这样修改。什么都没有变。',
  CHANGE_UNFINISHED: '修改已经开始，还没有完成。等存储恢复、Redis 重建结束，订单消费者会把它做完。',
  COMMIT_UNKNOWN: '提交没有收到响应，可能已经成功。重试之前先查一下订单。',
  CONFIGURATION_INVALID: '配置有误，每一项的含义在 src/service/config.ts 里。',
  CONNECTIONS_BUSY: '数据库连接都在用。稍后再试，或者调大 MYSQL_POOL_SIZE。',
  DATA_CHANGED: 'Redis 里的数据中途被清空或重建，后面没有再写入。请重新开始。',
  DEADLINE_PASSED: '等得太久还没有等到，下面写明在等什么。机器是不是太忙？看看它提到的日志。',
  DRILL_HAS_FAULTS: '这个演练的压测和故障是固定的：不写它的名字，或者不写 --on 和 --faults。',
  DRILL_HAS_NO_SEED: '自己的演练没有种子：故障在你写的那一秒注入。去掉 --seed。',
  DRILL_INCOMPLETE: '自己的演练要写方案和故障，照下面的例子写。',
  DURABILITY_TOO_WEAK:
    'Redis 的设置达不到 ORDER_DURABILITY 的承诺。改 Redis 的设置，或者选低一档。',
  EPOCHS_DIFFER:
    'MySQL 和 Redis 的数据不是一套：某一个被重建、恢复过，或者地址写错了。先核对地址，再恢复丢了数据的那个。',
  EPOCH_OVER: '读出这些订单之后 Redis 被重建过，所以没有写入；还在队列里的会再次投递。',
  FAULTS_NOT_IN_ORDER: '故障要按时间顺序写，end 写在最后。',
  FAULTS_TOO_LATE: '这个故障太晚：那时压测已经结束。让它早一点，或者把每秒下单数调小。',
  FAULT_UNREADABLE:
    '看不懂这一步。写第几秒、动词和服务器，用逗号隔开，照下面的例子写；heal 和 end 不写服务器。',
  HOLD_LOST:
    '这张券的分桶已经不由这个进程占着了，所以不再改库存。修改已经登记，订单消费者会把它做完。',
  INSTANCE_REFUSED: '实例没有接受这个故障。看实验环境文件夹里的 service.log。',
  INSTRUCTORS_ALONE: '进程、服务器和订单消费者只有讲师能动：出了故障会影响所有人。',
  INTERRUPTED: '已中断。',
  INVALID_RANGE: '这不是用户范围：写成 1..2000，小的在前，最多一百万个用户。',
  INVALID_ID: '这不是一个 id。id 是 1 到 9223372036854775807 的十进制数，不带符号、空格和前导零。',
  K6_FAILED: 'k6 一张也没买到就退出了，它的输出在下面。',
  K6_TOO_FAST: 'k6 在这里每秒最多 200 次购买。',
  LAB_BUSY:
    '实验环境正在使用中。如果下面写的是页面（the page），就在页面里点“归还实验环境”；如果是另一个命令，就等它结束。',
  LAB_DOWN: '实验环境没有启动。先运行 npm run up。',
  LAB_HAS_FAULT: '有服务器被暂停或停止，结果会不准。先结束所有故障：npx lockstep fault heal',
  LAB_NOT_RUNNING: '实验环境里有服务器退出了。重新启动：npm run down，再 npm run up。',
  LAB_STATE_UNREADABLE: '实验环境的状态文件损坏了。结束它的进程，删掉它的文件夹。',
  LEASE_LOST: '业务还没做完，租约就结束了。',
  LETTER_ID_MISSING: '要写死信的 id。npx lockstep dead-letters list 会列出来。',
  LOCK_GRANTED_TOO_LATE:
    '加锁太慢，拿到时租约已经结束，所以释放了。调大 LOCK_LEASE_MS，或者查出慢在哪里。',
  LOCK_MAJORITY_MISSING: '锁没有得到多数主节点的同意。检查它们是否在运行、能否连通。',
  LOCK_MASTERS_MISSING: '这把锁需要所有主节点，有的不在。检查它们是否在运行、能否连通。',
  LOCK_SERVICE_UNAVAILABLE: '锁服务不可用。检查服务器是否在运行、能否连通。',
  MUTANT_TEXT_MISSING: '变异体要替换的文本在文件里不是正好一处。修改变异体的那一行。',
  MYSQL_BEHIND: 'MySQL 丢失了 Redis 已有的修改：什么都没有改。用 `reconcile` 查看两边的差异。',
  MYSQL_LOSES_COMMITS:
    'MySQL 的设置在断电时会丢掉已提交的订单。改设置；确实接受的话，把 MYSQL_MAY_LOSE_COMMITS 设为 1。',
  MYSQL_SILENT:
    'MySQL 没有按时响应，连接已断开。检查能否连通；语句确实这么慢的话，调大 MYSQL_ANSWER_MS。',
  NETWORK_MISSING: '这个故障需要另一种网络。先 npm run down，再用下面的命令启动。',
  NOTHING_TO_END: '这个实验环境里没有正在运行的 lockstep break。',
  NOT_AN_INSTANCE: '这不是实例，这个故障需要 api-1 之类的。',
  NOT_A_REDIS: '这不是服务用到的 Redis。这个故障需要 redis-main、redis-1 之类的。',
  NOT_BESIDE: '并列的要是另一个方案，而且 k6 只能给一个方案加压。',
  NOT_PREDICTED: '先预测：npx lockstep workshop 会显示问题和选项。',
  NOT_PROXIED: '这台服务器前面没有代理，下面列出有代理的。',
  NO_DATA_TO_LOSE: '这台服务器没有可以丢的数据。要重启它，用 restart。',
  NO_EXERCISE: '还没有开始练习。npx lockstep exercise 会列出来。',
  NO_FREE_PORTS: '空闲端口不够。停掉不用的实验环境。',
  NO_PROGRESS:
    'MySQL 和 Redis 都有响应，这个消费者却一直没有进展，所以进程退出，由新的接替。反复出现的话，看日志里之前的错误。',
  NO_RECORDED_BENCH: '这个文件里没有 bench 的数字。要写的是那次运行文件夹里的 bench.json。',
  NO_RECORDED_RACE: '这不是录下来的竞态。npx lockstep race 会写出 race.json。',
  NO_SESSION: '这个进程没有 ZooKeeper 会话可以过期。实例用 zookeeper 方案卖过之后才有。',
  ORDERS_NEED_SCRIPT: '一张券这么多订单只能直接调用脚本来买：加上 --by-script。',
  OPTION_INVALID: '选项的值不合法：按英文里的范围改。',
  ORDER_ID_NOT_COUNTED: 'Redis 没有给出订单号的计数，这一单没有卖。',
  ORDER_NOT_QUEUED: '订单没有进队列，可以重新购买。',
  ORDER_NOT_REPLAYED: '这些选择跑出了另一种顺序。机器是不是太忙？再跑一次。',
  OTHER_DATABASE: '实验环境用的是另一种数据库。先 npm run down，再运行一次。',
  OTHER_SERVICE_INVALID: '这个文件没有描述一个服务，格式见 docs/benchmarks.md。',
  PLAYS_GO_ON: '有人正在操作。按“归还实验环境”结束所有操作，再开始。',
  PROCESS_PAUSED: '有一个操作里的进程暂停着，或者服务器坏着。恢复它，或者结束那个操作，再试。',
  PROGRAM_MISSING: '缺少程序。运行下面的命令安装，或者用容器里的实验环境（docs/zh/install.md）。',
  PROXY_REFUSED: '代理没有接受这个故障。看实验环境文件夹里的 proxies.log。',
  PURCHASE_INVALID: '这张券或这个订单不合规则，没有卖出。按错误里说的改正。',
  QUEUE_FULL: '队列满了，不再接受订单。检查订单消费者和 MySQL，或者调大 QUEUE_LIMIT。',
  RACE_HAS_STEPS: '这个竞态的步骤是固定的：去掉它的名字，或者去掉选择。',
  RACE_MISSING: '要写竞态的名字。全部：npx lockstep race --list',
  REBUILD_OF_ONE: '--rebuild 会暂停所有秒杀、重建所有券，不要写 id。',
  REBUILD_RUNNING: '另一个重建正在进行。等它结束，再运行 reconcile。',
  REBUILD_UNFINISHED:
    'Redis 正在重建，或者重建没有做完，没有可以比较的。没有重建在运行的话，重新开始。',
  REDISSON_ENDED: '跑 Redisson 的 JVM 退出了。用下面的命令手动运行，看看原因。',
  REDIS_LOST_SALE: 'Redis 里没有这张券的秒杀数据了。修改要等 Redis 重建之后才生效。',
  REDIS_REFUSED: '实验环境的 Redis 拒绝了写入。原因在它的日志里；处理之后重新启动。',
  REPLAY_IMPOSSIBLE: '这封死信看不出是谁的订单，不能重放。看过内容之后丢弃它。',
  REPLAY_IN_OTHER_EPOCH: 'Redis 的数据和 MySQL 的不是一套。先修复，再重放。',
  REPLAY_ORDER_RECORDED: '这个订单在 MySQL 里已经确认，什么也没缺。丢弃这封死信。',
  REPLAY_SALE_CLOSED: '这张券不能再用最终方案卖出。订单保持失败，丢弃这封死信。',
  REPLAY_SOLD_OUT: '这张券在 Redis 里没有库存了。等库存回来再试，或者丢弃这封死信。',
  REPLAY_STOCK_MOVES: '库存正在分桶之间移动，或者有分桶没有响应。再试一次。',
  REPLAY_UNKNOWN: 'Redis 没有响应，可能已经重放了。再运行一次：一封死信只会重放一次。',
  REPLAY_USER_HAS_ORDER: '这个用户之后又买到了，只能有一单。丢弃这封死信。',
  REPLICA_BEHIND: '不是所有从节点都按时确认，订单可能已经存在。用同样的 Idempotency-Key 再发一次。',
  ROOM_FULL: '教室满了。有人关掉页面两分钟后会空出位置。',
  ROOM_NOT_OPENED: '教室不能在这个地址开放。选这台机器自己的地址。',
  RUNG_MISSING: '--choices 要指明方案：用 --rung。npx lockstep ladder 会列出全部。',
  RUN_GOES_ON: '有竞态或演练正在运行。等它结束，或者停掉它，再开始。',
  SALE_ENDED: '这次秒杀已经结束，什么都没有变。请建一张新券。',
  SALE_SHARDS_DIFFER:
    'SALE_SHARDS 和 Redis 里的数据对不上。按下面的办法改回去，或者等所有秒杀结束之后再改。',
  SCRIPT_ANSWER_UNEXPECTED: '脚本的返回值不在预期之内。脚本和代码是同一个版本吗？',
  SERVER_DOWN: '这台服务器没有运行。用下面的命令启动它。',
  SERVER_ENDED: '服务器一启动就退出了，原因在它的日志里。',
  SERVER_NAME_MISSING: '要写服务器的名字。npx lockstep status 会列出来。',
  SERVICE_REFUSED: '服务拒绝了请求，它的响应在下面。',
  STALE_FENCE: '栅栏令牌已经过期：发过更新的租约，或者它已经写过一次。这次什么也没有写入。',
  STOCK_BELOW_SOLD: '卖出的比这个库存还多，什么都没有变。先暂停秒杀，看看卖了多少，再改库存。',
  STOCK_TOO_LARGE: '库存太大，不能一张一行。建几张券，或者换一个方案。',
  SYNCS_NOT_SEEN: '看不到这个 Redis 什么时候同步文件。这个故障需要 Linux 和 6 以上版本的 Redis。',
  TABLES_MISSING:
    'MySQL 里缺表，而这个进程的账号没有建表的权限。先启动有权限的进程：容器里是订单消费者，或者设置 MYSQL_OWNER_URL。',
  TOKEN_KEYS_UNAVAILABLE: '读不到令牌签发方的公钥。检查 TOKEN_JWKS_URL 和签发方。',
  TOO_MANY_CODES: '错误的加入码太多了。等一会儿再输入。',
  TOO_MANY_DIFFERENCES:
    'Redis 和 MySQL 的差异太多，没有比较完。Redis 丢了数据的话，用 `reconcile --rebuild` 分批重建；期间停止售卖。',
  TRIAL_NOT_PLAYED: '关键的那一刻没有出现，什么也证明不了。再跑一次。',
  UNKNOWN_CHOICE: '这一步没有这个选项，可选的在下面。',
  UNKNOWN_DEAD_LETTER:
    '没有这封死信：已经丢弃，或者 id 写错了。npx lockstep dead-letters list 会列出来。',
  UNKNOWN_DRILL: '没有这个演练，名字在下面。',
  UNKNOWN_ERRATUM: '没有这条勘误，名字在下面。',
  UNKNOWN_EXERCISE: '没有这个练习，名字在下面。',
  UNKNOWN_FAULT: '没有这个动词，下面列出了所有的。',
  UNKNOWN_LANE: '没有这条时间线，下面列出有的。',
  UNKNOWN_MUTANT: '没有这个变异体，名字在下面。',
  UNKNOWN_RACE: '没有这个竞态，名字在下面。',
  UNKNOWN_RUNG: '没有这个方案，全部名字在下面。',
  UNKNOWN_SERVER: '实验环境里没有这台服务器，名字在下面。',
  UNKNOWN_TRIAL: '没有这个试验，名字在下面。',
  UNKNOWN_VOUCHER: '实验环境里没有这张券。',
  VOUCHER_ID_TAKEN:
    'Redis 里已经有另一张同号的券。恢复 MySQL 较新的数据，或者调大 vouchers 的 AUTO_INCREMENT。',
  WORKER_HELD: '有一个操作里订单消费者停着。在那边让它继续，再试。',
  WORKER_ID_UNAVAILABLE: '没有租到生成订单号要用的机器 ID。检查 Redis 是否在运行。',
  WRONG_CODE: '这不是这个教室的加入码。它在投影上，地址旁边。',
};

/** Empty for a code that another program made. */
export const errorInChinese = (code: string): string =>
  new Map(Object.entries(sentences)).get(code) ?? '';

/** In a command line that commander refuses. */
export const usageInChinese = '命令写得不对，加 --help 看用法：';
