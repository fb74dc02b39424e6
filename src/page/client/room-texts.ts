/** The sentences of the room, in both languages. */
import { computed } from '@preact/signals';
import type { Language } from '../../texts/texts.ts';
import { language } from './texts.ts';

const en = {
  room: 'Room',
  roomIs:
    'Learners play in their own browsers, on vouchers of their own. They cannot stop or kill anything: that stays with you. Everybody in this network who has the code can join. What is sent is not encrypted.',
  address: 'An address of this machine that the room can reach',
  open: 'Open the room',
  close: 'Close the room',
  code: 'Code',
  enterCode: 'The code of the room',
  join: 'Join',
  here: (here: number, joined: number, most: number) =>
    `${here} here, ${joined} joined, room for ${most}`,
  bring: 'Bring the room to a rung',
  predictions: 'predicted',
  plays: 'seen, in plays',
  nobodyYet: 'Nobody has predicted or played here yet.',
  broke: (broken: number, plays: number) => `${broken} of ${plays} plays broke a promise`,
  roomIsAt: (rung: string) => `The room is at ${rung}.`,
  goThere: 'Go there',
  closed: 'The room is closed.',
  closedIs:
    'The instructor has closed it, and every play in it ended. What you predicted and saw stays in this browser. Leave this page open: once the room is open again, it asks for the new code. On a machine of your own, the README says how to begin.',
  noPage: 'There is no such page.',
  noPageIs: (path: string) => `Nothing here has the address ${path}.`,
  instructors: 'This page is for the instructor.',
  instructorsIs:
    'What is done here would hit the plays of everybody in the room. The ladder and its races are yours.',
  toLadder: 'To the ladder',
  instructorsAlone: 'There is one order worker: the instructor plays this rung.',
};

const zh: typeof en = {
  room: '教室',
  roomIs:
    '学员用自己的浏览器操作，各有自己的优惠券。他们不能停止或杀死任何进程：只有你可以。同一网络中有加入码的人都能加入；传输没有加密。',
  address: '本机的一个地址，学员能访问到',
  open: '开放教室',
  close: '关闭教室',
  code: '加入码',
  enterCode: '教室的加入码',
  join: '加入',
  here: (here, joined, most) => `在线 ${here} 人，已加入 ${joined} 人，最多 ${most} 人`,
  bring: '带全班到这个方案',
  predictions: '预测',
  plays: '操作中看到',
  nobodyYet: '这个方案还没有人预测或操作。',
  broke: (broken, plays) => `${plays} 次操作中有 ${broken} 次打破了承诺`,
  roomIsAt: (rung) => `全班现在在 ${rung}。`,
  goThere: '去那里',
  closed: '教室已关闭。',
  closedIs:
    '讲师关闭了教室，教室里的操作都已结束。你的预测和结果还保存在这个浏览器里。请不要关掉这个页面：教室再次开放后，这里会让你输入新的加入码。想在自己的机器上继续，请看 README。',
  noPage: '没有这个页面。',
  noPageIs: (path) => `这里没有 ${path} 这个地址。`,
  instructors: '这个页面是给讲师用的。',
  instructorsIs: '这里的操作会影响教室里所有人。方案和竞态你都可以操作。',
  toLadder: '去全部方案',
  instructorsAlone: '订单消费者只有一个：这个方案由讲师操作。',
};

const texts: Readonly<Record<Language, typeof en>> = { en, zh };

export const roomText = computed(() => texts[language.value]);
