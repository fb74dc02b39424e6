/**
 * The figures of all drills in Chinese, by their names. A name with that of a rung, or with a
 * number, is shown as it is recorded.
 */
import { usualFigures } from './verdict-words.ts';

export const figuresInChinese: Readonly<Record<string, string>> = {
  ...usualFigures,
  // Of a waiting room.
  ...{
    places: '位置',
    placesLost: '丢失的位置',
    placesShared: '给了两个人的位置',
    inversions: '插队',
  },
  ...{
    askedToWait: '被要求等待',
    passesTooEarly: '发得太早的通行证',
    passesTooMany: '多发的通行证',
  },
  jumpsSold: '没有通行证却买到',
  jumpsRefused: '没有通行证，被拒绝',
  floodAnswers: '涌进来的请求：响应',
  floodRefused: '涌进来的请求：拒绝',
  floodFailed: '涌进来的请求：失败',
  // Of buckets, and of changes.
  stranded: '滞留的库存',
  soldOutWrongly: '误报的售罄',
  askedToRetry: '被要求重试',
  transfers: '调拨',
  transfersCut: '被打断的调拨',
  strandedWithoutLending: '不借库存时滞留',
  changesDone: '完成的修改',
  changesRefused: '被拒绝的修改',
  changesCut: '被打断的修改',
  changesUnfinished: '没有完成的修改',
  soldWhilePaused: '暂停期间卖出',
  // Of outages.
  soldMeanwhile: '期间卖出',
  waitingMost: '排队最多',
  recordedMs: '全部入库（ms）',
  deadLettered: '死信',
  readyzSaidSo: '/readyz 说明的次数',
  replaced: '被替换的进程',
  processesReplaced: '被替换的进程',
  latestResumptionMs: '最晚恢复（ms）',
  lostAccepted: '丢失的已受理订单',
  refusedNotReady: '拒绝：not-ready',
  withoutSalesMs: '没有成交（ms）',
  soldAgainAfterMs: '恢复成交（ms）',
  failovers: '主从切换',
  toldDone: '被告知“已完成”',
  soldAfterPause: '暂停之后卖出',
  ...{
    frozenMasterRecordedMs: '主节点冻结，恢复入库（ms）',
    frozenMasterNotReady: '主节点冻结，未就绪',
  },
  ...{
    killedMasterRecordedMs: '主节点被杀，恢复入库（ms）',
    killedMasterNotReady: '主节点被杀，未就绪',
  },
  noRedisRecordedMs: '没有 Redis，恢复入库（ms）',
  noRedisNotReady: '没有 Redis，未就绪',
  ...{
    silentNetworkRecordedMs: '网络沉默，恢复入库（ms）',
    silentNetworkNotReady: '网络沉默，未就绪',
  },
  silentForWorkerRecordedMs: '消费者的网络沉默，恢复入库（ms）',
  silentForWorkerNotReady: '消费者的网络沉默，未就绪',
  lostGroupRecordedMs: '消费组丢失，恢复入库（ms）',
  lostGroupNotReady: '消费组丢失，未就绪',
  ...{
    hungWorkerRecordedMs: '消费者挂起，恢复入库（ms）',
    hungWorkerNotReady: '消费者挂起，未就绪',
  },
  // Of queues, of races under load, of the lock storm, and of k6.
  hopsPlayed: '跑过的跳',
  recordedTwice: '入库两次',
  neverRecorded: '没有入库',
  usersStuck: '卡住的用户',
  violatedAsClaimed: '违反，与预期一致',
  heldAsClaimed: '通过，与预期一致',
  writesRefusedByMysql: 'MySQL 拒绝的写入',
  ownersToldOfLostLease: '得知失去租约的持有者',
  busyUntilLeaseEnds: '租约到期之前一直繁忙',
  sections: '进入临界区',
  allowedOverlaps: '允许的重叠',
  lostUpdates: '丢失的更新',
  lostLeases: '失去的租约',
  droppedIterations: '没有发出的迭代',
  wholeSecondsWithoutSale: '没有成交的整秒',
  longestGapWholeSeconds: '最长多少整秒没有成交',
};
