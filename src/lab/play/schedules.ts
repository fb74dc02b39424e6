/**
 * The famous races as data: which request runs up to which checkpoint, in which order. A lane is
 * one request; it runs until it reaches the checkpoint, is answered, or waits for a lock. On the
 * next rung the same schedule must do no harm.
 */

import { workerLane } from '../stage/lane-messages.ts';
import { isQueueFault } from './queue-faults.ts';
import { queueSchedules } from './queue-schedules.ts';
import {
  expire,
  fault,
  heal,
  kill,
  lastOne,
  run,
  type Schedule,
  type Step,
  sigcont,
  sigstop,
} from './schedule.ts';

export type { Schedule } from './schedule.ts';

/** One user wants the voucher twice, of an instance each, and may have one. */
const oneUser = {
  instances: 4,
  stock: 5,
  lanes: { A: '7', B: '7' },
  shows: 'one-order-per-user',
} as const;
const lockFault = { ...oneUser, needs: 'lock-service' } as const;

const beforeCommit = (lane: string, en: string, zh: string): Step =>
  run(lane, 'before-commit', en, zh, { orUntil: ['before-release'] });

export const schedules = {
  'lost-update': {
    title: {
      en: 'two sales read the same stock before either writes it',
      zh: '两次下单都在写回之前读到同样的库存',
    },
    under: 'two-requests-at-once',
    rung: 'read-then-write',
    next: 'version-check',
    ...lastOne,
    instances: 1,
    shows: 'no-oversell',
    byHand: { choices: 'ABAB' },
    steps: [
      run('A', 'after-check', 'reads the stock: 1 is left', '读到库存：剩 1 个'),
      run('B', 'after-check', 'reads the stock: 1 is left', '读到库存：剩 1 个'),
      run('A', 'answer', 'writes 0 and inserts its order', '写回 0，插入订单'),
      run('B', 'answer', 'writes 0 again, inserts another', '又写回 0，再插入一个订单', {
        wrong: true,
      }),
    ],
  },
  'check-then-insert': {
    title: {
      en: 'two requests of one user both check before either inserts',
      zh: '同一用户的两个请求都在插入之前完成检查',
    },
    under: 'two-requests-at-once',
    rung: 'check-then-insert',
    next: 'mutex-per-user',
    ...oneUser,
    instances: 1,
    byHand: { choices: 'ABAB' },
    steps: [
      run('A', 'after-check', 'finds no order', '没有发现订单'),
      run('B', 'after-check', 'finds no order', '没有发现订单'),
      run('A', 'answer', 'inserts an order', '插入订单'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'unlock-before-commit': {
    title: {
      en: 'a second request comes just before the commit of the first',
      zh: '第一个请求即将提交时，来了第二个请求',
    },
    under: 'two-requests-at-once',
    rung: 'mutex-inside-transaction',
    next: 'mutex-per-user',
    ...oneUser,
    instances: 1,
    byHand: { choices: 'AAABBABB' },
    steps: [
      run('A', 'before-commit', 'has released, not yet committed', '已释放锁，尚未提交'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      run('A', 'answer', 'commits', '提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'crash-between-writes': {
    title: { en: 'the process dies after it has taken the stock', zh: '进程扣减库存之后宕机' },
    under: 'crash-between-writes',
    rung: 'mutex-bypassed-transaction',
    next: 'mutex-per-user',
    ...lastOne,
    needs: 'stored',
    shows: 'no-oversell',
    byHand: { choices: 'AAAXA', stopsEverywhere: true },
    steps: [
      run('A', 'stock-taken', 'has taken the last one', '已扣减最后一个', {
        orUntil: ['before-commit', 'before-release'],
      }),
      kill('A', 'dies before it inserts its order', '在插入订单之前宕机'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'answer', 'sold out, but nobody bought it', '售罄，却没有人买到', { wrong: true }),
    ],
  },
  'permit-lost': {
    title: {
      en: 'the process dies with a permit of the semaphore, and nobody releases it',
      zh: '进程拿着信号量的许可宕机，没有人归还',
    },
    under: 'crash-between-writes',
    rung: 'redis-semaphore-stock',
    next: 'lua-stream',
    ...lastOne,
    needs: 'stored',
    onlyHere: true,
    shows: 'redis-matches-mysql',
    byHand: { choices: 'AXA', stopsEverywhere: true },
    steps: [
      run('A', 'stock-taken', 'has acquired the last permit', '拿到最后一个许可', {
        orUntil: ['before-release'],
      }),
      kill('A', 'dies before it inserts its order', '在插入订单之前宕机'),
      run('B', 'answer', 'sold out, but nobody bought it', '售罄，却没有人买到', { wrong: true }),
    ],
  },
  'two-processes': {
    title: {
      en: 'two requests of one user, each in its own process',
      zh: '同一用户的两个请求，各在一个进程',
    },
    under: 'several-instances',
    rung: 'mutex-per-user',
    next: 'redis-no-expiry',
    ...oneUser,
    byHand: { choices: 'AABBAB' },
    steps: [
      run('A', 'after-check', 'has the mutex of its process', '得到本进程的互斥锁'),
      run('B', 'after-check', 'has the mutex of another process', '得到另一进程的互斥锁'),
      run('A', 'answer', 'inserts an order', '插入订单'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'dead-holder': {
    title: { en: 'the owner dies with its lock', zh: '持有者拿着锁宕机' },
    under: 'holder-dies',
    rung: 'redis-no-expiry',
    next: 'redis-expiry',
    ...oneUser,
    needs: 'stored',
    shows: 'progress',
    byHand: { choices: 'AXAB' },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁', { orUntil: ['before-release'] }),
      kill('A', 'dies with it', '拿着锁宕机'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'answer', 'is refused: nobody can buy now', '被拒绝：谁也买不到了', { wrong: true }),
    ],
  },
  'crash-before-expire': {
    title: { en: 'the owner dies right after it has set its lock', zh: '持有者刚写入锁就宕机' },
    under: 'crash-before-expire',
    rung: 'redis-expiry-later',
    next: 'redis-expiry',
    ...oneUser,
    needs: 'lock',
    shows: 'progress',
    byHand: { choices: 'AXAB', stopsEverywhere: true },
    steps: [
      run('A', 'before-expire', 'has set the key, without expiry', '已写入 key，还没有过期时间', {
        orUntil: ['after-acquire'],
      }),
      kill('A', 'dies before EXPIRE', '在 EXPIRE 之前宕机'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'answer', 'is refused: nobody can buy now', '被拒绝：谁也买不到了', { wrong: true }),
    ],
  },
  'release-after-expiry': {
    title: {
      en: 'the owner releases its lock after the lease has expired',
      zh: '持有者在租约到期之后才释放锁',
    },
    under: 'release-after-expiry',
    rung: 'redis-expiry',
    next: 'redis-owner',
    ...oneUser,
    lanes: { A: '7', B: '7', C: '7' },
    needs: 'lock',
    byHand: { choices: 'AAEABACBCBC' },
    steps: [
      run('A', 'after-check', 'has the lock, and stalls', '得到锁，然后停顿'),
      expire('A', 'its lease expires', '租约到期'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      run('A', 'answer', 'gives up, and deletes B’s lock', '放弃，并删除了 B 的锁'),
      run('C', 'after-check', 'enters beside B, finds no order', '与 B 同时进入，没有发现订单'),
      run('B', 'answer', 'inserts an order', '插入订单'),
      run('C', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'check-then-delete': {
    title: {
      en: 'the lease expires while the owner releases its lock',
      zh: '租约在持有者释放锁的过程中到期',
    },
    under: 'lease-expires-in-release',
    rung: 'redis-owner',
    next: 'redis-atomic',
    ...oneUser,
    lanes: { A: '7', B: '7', C: '7' },
    onlyHere: true,
    needs: 'lock',
    shows: 'mutual-exclusion',
    byHand: { choices: 'AAAAAAEABACBBCCC', stopsEverywhere: true },
    steps: [
      run('A', 'owner-checked', 'has sold; sees its own lock', '已售出；看到的是自己的锁', {
        orUntil: ['before-compare'],
      }),
      expire('A', 'its lease expires right there', '其租约恰在此刻到期'),
      run('B', 'after-acquire', 'gets the lock', '得到锁'),
      run('A', 'answer', 'deletes the key, which is B’s now', '删掉的 key 已经是 B 的'),
      run('C', 'after-acquire', 'enters beside B', '与 B 同时进入', { wrong: true }),
      run('B', 'answer', 'leaves', '离开'),
      run('C', 'answer', 'leaves', '离开'),
    ],
  },
  'lease-expires-during-sale': {
    title: { en: 'the sale takes longer than one lease', zh: '业务时间超过一个租约' },
    under: 'lease-expires-during-sale',
    rung: 'redis-atomic',
    next: 'redis-reentrant',
    ...oneUser,
    needs: 'lock',
    byHand: { choices: 'AAAATABBBAAABBBB', stopsEverywhere: true },
    steps: [
      run('A', 'before-commit', 'has checked its lease, last time', '最后一次检查了租约'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      run('A', 'answer', 'tries to commit', '尝试提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'lease-without-watchdog': {
    title: {
      en: 'the sale takes longer than one lease, which only a watchdog renews',
      zh: '业务时间超过一个租约，只有看门狗会续期',
    },
    under: 'lease-expires-during-sale',
    rung: 'redis-reentrant-lease',
    next: 'redis-reentrant',
    ...oneUser,
    needs: 'lock',
    byHand: { choices: 'AAAATABBBAABBB', stopsEverywhere: true },
    steps: [
      run('A', 'before-commit', 'has checked its lease, last time', '最后一次检查了租约'),
      expire('A', 'its lease expires: no watchdog', '租约到期：没有看门狗'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      run('A', 'answer', 'tries to commit', '尝试提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'paused-holder': {
    title: {
      en: 'the process of the owner stands still for longer than its lease (SIGSTOP)',
      zh: '持有者的进程停住，时间超过租约（SIGSTOP）',
    },
    under: 'holder-pauses',
    rung: 'redis-reentrant',
    next: 'fenced',
    ...oneUser,
    undisturbed: ['B'],
    byHand: { choices: 'AAAAPAEABBBRAAABBB', stopsEverywhere: true },
    steps: [
      run('A', 'before-commit', 'has checked its lease, last time', '最后一次检查了租约', {
        orUntil: ['before-release'],
      }),
      sigstop('A', 'its process stands still', '进程停住'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      sigcont('A', 'runs again, and does not know it', '继续运行，并不知情'),
      run('A', 'answer', 'tries to commit', '尝试提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  're-entry': {
    title: { en: 'the owner acquires its lock again', zh: '持有者再次加锁' },
    under: 're-entry',
    rung: 'redis-atomic',
    next: 'redis-reentrant',
    ...oneUser,
    nested: ['A'],
    needs: 'waiters',
    shows: 'progress',
    byHand: { choices: 'IAAA' },
    steps: [
      run('A', 'after-acquire', 'has the lock, acquires it again', '得到锁，再次加锁'),
      run('A', 'answer', 'waits for itself, and gives up', '等待自己，然后放弃', { wrong: true }),
      run('B', 'answer', 'enters as soon as A has left', 'A 一离开就进入'),
    ],
  },
  'lost-wakeup': {
    title: {
      en: 'the release comes between a waiter’s attempt and its subscription',
      zh: '释放发生在等待者的尝试与订阅之间',
    },
    under: 'lost-wakeup',
    rung: 'redis-message',
    next: 'redis-reentrant',
    ...oneUser,
    needs: 'waiters',
    shows: 'progress',
    byHand: { choices: 'AABAAAAB', stopsEverywhere: true },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      run('B', 'before-subscribe', 'is refused, will subscribe', '被拒绝，准备订阅'),
      run('A', 'answer', 'releases; nobody listens', '释放；没有人在听'),
      run('B', 'answer', 'sleeps beside a free lock', '锁已释放，却没被唤醒', { wrong: true }),
    ],
  },
  'latch-after-exists': {
    title: {
      en: 'the owner’s node is removed just as a waiter begins to wait for it',
      zh: '等待者正要开始等待时，持有者的节点被删除',
    },
    under: 'lost-wakeup',
    rung: 'zookeeper-latch',
    next: 'zookeeper',
    ...oneUser,
    needs: 'waiters',
    shows: 'progress',
    byHand: { choices: 'AABAAAAB', stopsEverywhere: true },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      run(
        'B',
        'before-subscribe',
        'sees A’s node, has no latch yet',
        '看到 A 的节点，还没建 Latch',
      ),
      run('A', 'answer', 'removes its node', '删除自己的节点'),
      run('B', 'answer', 'sleeps beside a free lock', '锁已释放，却没被唤醒', { wrong: true }),
    ],
  },
  'never-released': {
    title: {
      en: 'the owner forgets to release, and its process lives on',
      zh: '持有者忘记释放，进程仍然活着',
    },
    under: 'never-released',
    rung: 'redis-reentrant',
    next: 'redlock',
    ...oneUser,
    instances: 1,
    forgets: ['A'],
    needs: 'lock',
    shows: 'progress',
    byHand: { choices: 'GAAAATAB' },
    steps: [
      run('A', 'answer', 'sells, and never releases', '下单成功，但一直不释放锁'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'answer', 'is refused: nobody can buy now', '被拒绝：谁也买不到了', { wrong: true }),
    ],
  },
  'dead-waiter': {
    title: { en: 'the next waiter of the queue dies', zh: '队首的等待者宕机' },
    under: 'waiter-dies',
    rung: 'redis-fair',
    next: 'zookeeper',
    ...oneUser,
    lanes: { A: '7', B: '7', C: '7' },
    needs: 'waiters',
    shows: 'progress',
    byHand: { choices: 'AABXBAAAACC', stopsEverywhere: true },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      run('B', 'before-subscribe', 'is next in the queue', '排在队首'),
      kill('B', 'dies in the queue', '在队列中宕机'),
      run('A', 'answer', 'sells and releases: B’s turn', '售出并释放：轮到 B'),
      expire('B', 'the time of a lease passes', '过去了一个租约的时间'),
      run('C', 'answer', 'waits for the dead, in vain', '白等一个已经宕机的持有者', {
        wrong: true,
      }),
    ],
  },
  'crash-before-publish': {
    title: {
      en: 'the instance dies after the claim, before its answer',
      zh: '实例扣完库存、还没响应就宕机',
    },
    under: 'crash-before-publish',
    rung: 'redis-stream-group',
    next: 'lua-stream',
    ...lastOne,
    needs: 'queue',
    shows: 'redis-matches-mysql',
    byHand: { choices: 'AXAB' },
    steps: [
      run('A', 'claimed', 'has taken the last one in Redis', '在 Redis 扣掉了最后一张', {
        orUntil: ['before-release'],
      }),
      kill('A', 'dies before it queues its order', '在订单入队之前宕机'),
      run('B', 'answer', 'sold out, but nobody bought it', '售罄，却没有人买到', { wrong: true }),
    ],
  },
  ...queueSchedules,
  'stale-promotion': {
    title: {
      en: 'a replica that has not seen the lock becomes the master',
      zh: '没有同步到锁的从节点成为主节点',
    },
    under: 'stale-promotion',
    rung: 'redis-reentrant',
    next: 'multilock',
    ...lockFault,
    needs: 'lock-redis',
    byHand: { choices: 'KHAAAAKPBBBAABBB', stopsEverywhere: true },
    steps: [
      fault('stop-spare', 'stops the spare masters', '停掉多余的主节点，只留刚好够用的'),
      fault('hold-replication', 'the replica hears nothing more', '从节点不再收到任何数据'),
      beforeCommit('A', 'has the lock, checked its lease', '得到锁，并检查了租约'),
      heal('stop-spare', 'all run again', '全部重新运行'),
      fault('promote-replica', 'its replica becomes the master', '从节点成为主节点'),
      run('B', 'after-check', 'gets it there, and finds no order', '在那里得到锁，没有发现订单'),
      run('A', 'answer', 'commits', '提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'fence-forgotten': {
    title: {
      en: 'a replica that has seen neither lock nor fence becomes the master',
      zh: '没有同步到锁和栅栏令牌的从节点成为主节点',
    },
    under: 'stale-promotion',
    rung: 'fenced-by-redis',
    next: 'fenced',
    ...lockFault,
    needs: 'lock-redis',
    onlyHere: true,
    byHand: { choices: 'KHAAAAKPBBBAAABBBB', stopsEverywhere: true },
    steps: [
      fault('hold-replication', 'the replica hears nothing more', '从节点不再收到任何数据'),
      beforeCommit('A', 'has the lock and fence 1', '获得锁，编号 1'),
      fault('promote-replica', 'its replica becomes the master', '从节点成为主节点'),
      run('B', 'after-check', 'gets the lock, and fence 1 again', '获得锁，编号又是 1'),
      run('A', 'answer', 'commits: no newer fence is known', '提交：没有更新的编号'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'restart-empty': {
    title: {
      en: 'a lock server restarts without its data, before the lease is over',
      zh: '锁服务器在租约结束之前数据丢失后重启',
    },
    under: 'restart-empty',
    rung: 'redlock',
    next: 'fenced',
    ...lockFault,
    needs: 'lock-alone',
    byHand: { choices: 'S3AAAAH3KEBBBAABBB', stopsEverywhere: true },
    steps: [
      fault('stop-spare', 'stops the spare masters', '停掉多余的主节点，只留刚好够用的'),
      beforeCommit('A', 'has the lock, checked its lease', '得到锁，并检查了租约'),
      heal('stop-spare', 'all run again', '全部重新运行'),
      fault('restart-empty', 'one of A’s restarts empty', 'A 的一个服务器数据丢失后重启'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      run('A', 'answer', 'commits', '提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'restart-empty-delayed': {
    title: {
      en: 'the same, but the server stays away for longer than the longest lease',
      zh: '同上，但服务器停机时间超过最长的租约',
    },
    under: 'restart-empty-delayed',
    rung: 'redlock',
    ...lockFault,
    needs: 'lock-alone',
    lanes: { A: '7', B: '7', C: '7' },
    byHand: { choices: 'S3AAH3S1AKEBCBC' },
    steps: [
      fault('stop-spare', 'stops the spare masters', '停掉多余的主节点，只留刚好够用的'),
      beforeCommit('A', 'has the lock, checked its lease', '得到锁，并检查了租约'),
      heal('stop-spare', 'all run again', '全部重新运行'),
      fault('stop-first', 'one of A’s stops', 'A 的一个服务器停止'),
      run('A', 'answer', 'commits within its lease', '在租约之内提交'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      fault('start-empty', 'only now it starts, empty', '此时才启动，数据为空'),
      run('B', 'after-acquire', 'gets the lock there', '在那里得到锁'),
      run('C', 'after-acquire', 'enters beside B', '与 B 同时进入', { wrong: true }),
      run('B', 'answer', 'finds an order', '发现已有订单'),
      run('C', 'answer', 'finds an order', '发现已有订单'),
    ],
  },
  'restart-with-data': {
    title: {
      en: 'a lock server is killed, and starts again with its data, within the lease',
      zh: '锁服务器被杀死，在租约之内带着数据重启',
    },
    under: 'restart-with-data',
    rung: 'redis-reentrant',
    ...lockFault,
    byHand: { choices: 'AAKRBAB' },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      fault('restart-all', 'killed, and started with its data', '被杀死，带着数据启动'),
      run('B', 'after-check', 'enters beside A', '与 A 同时进入'),
      run('A', 'answer', 'commits', '提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'scripts-forgotten': {
    title: {
      en: 'the lock servers forget every script (SCRIPT FLUSH)',
      zh: '锁服务器忘记所有脚本（SCRIPT FLUSH）',
    },
    under: 'scripts-forgotten',
    rung: 'redis-reentrant',
    ...lockFault,
    needs: 'lock-redis',
    shows: 'progress',
    byHand: { choices: 'AAKSABB' },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      fault('flush-scripts', 'no script is known any more', '脚本全部被忘记'),
      run('A', 'answer', 'sells, and cannot release', '售出，无法释放'),
      run('B', 'answer', 'is refused beside a free lock', '锁已释放，仍被拒绝', { wrong: true }),
    ],
  },
  'renewal-forgotten': {
    title: {
      en: 'the lock servers forget the script that renews a lease',
      zh: '锁服务器忘记续期的脚本',
    },
    under: 'scripts-forgotten',
    rung: 'redis-reentrant',
    ...lockFault,
    needs: 'lock-redis',
    shows: 'mutual-exclusion',
    byHand: { choices: 'AATAKSTABTAAB' },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      expire('A', 'its lease is renewed', '其租约被续期'),
      fault('flush-scripts', 'no script is known any more', '脚本全部被忘记'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'after-check', 'enters beside A', '与 A 同时进入', { wrong: true }),
      run('A', 'answer', 'commits', '提交'),
      run('B', 'answer', 'finds an order', '发现已有订单'),
    ],
  },
  'holder-cut-off': {
    title: {
      en: 'the owner’s process hears nothing more of its lock servers',
      zh: '持有者的进程与锁服务器断网',
    },
    under: 'holder-cut-off',
    rung: 'redis-reentrant',
    ...lockFault,
    lanes: { A: '7', B: '7', C: '7' },
    undisturbed: ['B'],
    byHand: { choices: 'AAOAEABBABMACC' },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      fault('cut-off', 'its packets are dropped', '其数据包被丢弃', 'A'),
      expire('A', 'the time of a lease passes', '过去了一个租约的时间'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      run('A', 'answer', 'commits without its lease', '没有租约却提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
      heal('cut-off', 'the network is back', '网络恢复', 'A'),
      run('C', 'answer', 'finds the lock free, and an order', '发现锁空闲，且已有订单'),
    ],
  },
  'event-loop-blocked': {
    title: {
      en: 'the owner’s event loop stands still for longer than the lease',
      zh: '持有者的事件循环停住，时间超过租约',
    },
    under: 'event-loop-blocked',
    rung: 'redis-reentrant',
    ...lockFault,
    undisturbed: ['B'],
    byHand: { choices: 'AAZATABBRAAB' },
    steps: [
      run('A', 'after-check', 'has the lock', '得到锁'),
      fault('block', 'its event loop stands still', '其事件循环停住', 'A'),
      expire('A', 'its lease expires', '租约到期'),
      run('B', 'after-check', 'gets the lock and finds no order', '得到锁，没有发现订单'),
      heal('block', 'runs again', '继续运行', 'A'),
      run('A', 'answer', 'commits without its lease', '没有租约却提交'),
      run('B', 'answer', 'inserts a second order', '插入第二个订单', { wrong: true }),
    ],
  },
  'servers-slow': {
    title: {
      en: 'too many lock servers answer later than a client waits',
      zh: '太多锁服务器响应超时',
    },
    under: 'servers-slow',
    rung: 'redlock',
    ...lockFault,
    shows: 'progress',
    expects: ['lock-service-unavailable'],
    byHand: { choices: 'KLAMLBBB' },
    steps: [
      fault('slow', 'each answer is late', '每个响应都很慢'),
      run('A', 'answer', 'gives up; the grant comes late', '已放弃等待，锁随后才加上'),
      heal('slow', 'answers are fast again', '响应恢复正常'),
      run('B', 'answer', 'is refused: nobody has the lock', '被拒绝：没有人持锁', { wrong: true }),
    ],
  },
  'servers-hung': {
    title: {
      en: 'too many lock servers stand still (SIGSTOP), and run again',
      zh: '太多锁服务器停住（SIGSTOP），又继续运行',
    },
    under: 'servers-hung',
    rung: 'redlock',
    ...lockFault,
    shows: 'progress',
    expects: ['lock-service-unavailable'],
    byHand: { choices: 'KTAMTBBB' },
    steps: [
      fault('pause', 'no answer comes', '没有响应'),
      run('A', 'answer', 'gives up; its question is kept', '放弃；请求仍被保留'),
      heal('pause', 'they read the question now', '此时才读到请求'),
      run('B', 'answer', 'is refused: nobody has the lock', '被拒绝：没有人持锁', { wrong: true }),
    ],
  },
} as const satisfies Record<string, Schedule>;

export type RaceName = keyof typeof schedules;
export const raceNames = Object.keys(schedules) as RaceName[];
export const isRaceName = (name: string): name is RaceName => Object.hasOwn(schedules, name);

/** Its stores are reached through proxies. */
export const hasLockFaults = ({ steps }: Schedule): boolean =>
  steps.some((step) => step.act === 'break' && !isQueueFault(step.fault));

/** The process that consumes the queue stops at its checkpoints. */
export const stopsWorker = ({ steps }: Schedule): boolean =>
  steps.some(({ act, lane }) => act === 'run' && lane === workerLane);
