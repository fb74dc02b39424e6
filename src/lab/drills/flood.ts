/**
 * Purchases of `lua-stream` while one address floods the service, with the limits that a deployment
 * may have: first the list of vouchers, then vouchers that do not exist, then `/readyz`, then
 * purchases with a forged token.
 */
import { isInTime } from '../environment/wait-until.ts';
import { sum } from '../stage/counts.ts';
import { type Judged, type Text, textIn } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { deploymentLimits, flood, floodRequests } from '../workload/flood.ts';
import { onePurchaseEach } from '../workload/steady-purchases.ts';
import type { Drill } from './drill.ts';
import { type Found, noneOf, unless, when } from './expectations.ts';
import { boughtOf, judgeUnderFire, type Sale, shapeUnderFire } from './under-fire.ts';

const rung = 'lua-stream';
/** Below the limit of an address: all buyers of a drill have the same one. */
const perSecond = 100;
const leastMs = 1_500;
const withinMs = 30_000;

export const floodDrill: Drill = {
  about: {
    en: 'one address floods the service while others buy',
    zh: '一个地址用请求淹没服务，其他人照常购买',
  },
  takesMinutes: 1,
  async play(stage, { minutes, seed }) {
    await stage.serve({ ...shapeUnderFire, limits: deploymentLimits });
    const eachMs = Math.max(leastMs, (minutes * 60_000) / floodRequests.length);
    const users = Math.round((perSecond * eachMs * floodRequests.length) / 1_000);
    const voucherId = await stage.putOnSale({ title: 'flood', stock: users, rung });
    const purchases = onePurchaseEach(voucherId, 'flood', users, seed * 100_000 + 1);
    const load = { name: rung, perSecond, purchases, finishWithinMs: withinMs };
    const floods = await stage.during(load, () => floodAll(stage, eachMs));
    return judgeFlood({ ...(await boughtOf(stage, voucherId, purchases)), floods });
  },
};

async function floodAll(stage: Stage, eachMs: number): Promise<FloodResult[]> {
  const floods: FloodResult[] = [];
  for (const request of floodRequests) {
    stage.note({ en: `a flood: ${request.name}`, zh: `涌进来的请求：${request.inChinese}` });
    const over = new AbortController();
    const answers: Record<string, number> = {};
    const flooding = flood(stage.lab.baseUrl, request, over.signal, answers);
    flooding.catch(() => {}); // It is awaited below.
    // On a slow machine it needs longer to use up the burst of the limit.
    const isRefusedFlood = () => isFlood(answers) && isRefused(answers);
    await stage
      .rest(eachMs)
      .then(() => isInTime(stage.until('a flood', withinMs, isRefusedFlood)))
      .finally(() => over.abort());
    const name = { en: request.name, zh: request.inChinese };
    floods.push({ name, answers: await flooding });
  }
  return floods;
}

export interface FloodResult {
  readonly name: Text;
  /** How many had each code, or status. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface FloodedSale extends Sale {
  readonly floods: readonly FloodResult[];
}

const limit = 'too-many-requests';
/** What a flood may be answered: `not-found` is `/readyz`, which nginx does not serve. */
const harmless: readonly string[] = [
  limit,
  '200',
  'unknown-voucher',
  'not-found',
  'unauthenticated',
];

export function judgeFlood({ floods, ...sale }: FloodedSale): Judged {
  const all = floods.flatMap(({ answers }) => Object.entries(answers));
  const count = (of: (code: string) => boolean) =>
    sum(all.map(([code, times]) => (of(code) ? times : 0)));
  const figures = {
    floodAnswers: count(() => true),
    floodRefused: count((code) => code === limit),
    floodFailed: count((code) => !harmless.includes(code)),
  };
  const broken = [
    noneOf(figures.floodFailed, { en: 'requests of the flood failed', zh: '涌进来的请求里失败的' }),
  ];
  return judgeUnderFire([sale], { broken, missing: floods.flatMap(missing), figures });
}

/** Fewer than the limit lets through in a second would be no flood. */
const answersMin = 600;

type Answers = FloodResult['answers'];
const countOf = (answers: Answers): number => sum(Object.values(answers));
const isFlood = (answers: Answers): boolean => countOf(answers) >= answersMin;
const isRefused = (answers: Answers): boolean =>
  answers['not-found'] !== undefined || (answers[limit] ?? 0) > 0;

function missing({ name, answers }: FloodResult): Found[] {
  return [
    unless(isFlood(answers), {
      en: `a flood of ${textIn('en', name)} had ${countOf(answers)} answers only`,
      zh: `涌进来的请求（${textIn('zh', name)}）只有 ${countOf(answers)} 个响应`,
    }),
    when(isFlood(answers) && !isRefused(answers), {
      en: `nginx refused nothing of a flood of ${textIn('en', name)}`,
      zh: `涌进来的请求（${textIn('zh', name)}），nginx 一个也没有拒绝`,
    }),
  ];
}
