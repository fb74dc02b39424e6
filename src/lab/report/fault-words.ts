/** The words of a fault by its name: `kill redis-main` stops redis-main. */
import type { Language } from '../../texts/texts.ts';
import type { Mark } from '../stage/seconds.ts';

const states = { stop: 'stopped', kill: 'killed', pause: 'paused' } as const;

export interface FaultWords {
  /** The server, or the name of a fault that is not about one. */
  readonly row: string;
  readonly state: 'stopped' | 'killed' | 'paused' | 'other';
}

export function faultWords(name: string): FaultWords {
  const [verb = '', server, ...more] = name.split(' ');
  if (server === undefined || more.length > 0 || !Object.hasOwn(states, verb))
    return { row: name, state: 'other' };
  return { row: server, state: states[verb as keyof typeof states] };
}

const en = {
  loadStarted: (name: string) => `▶ load: ${name}`,
  loadEnded: (name: string) => `■ the load of ${name} ends`,
  fault: (name: string) => `▼ ${name}`,
  resumes: (server: string) => `▲ ${server} resumes`,
  runs: (server: string) => `▲ ${server} runs again`,
  ended: (name: string) => `▲ end of: ${name}`,
};

const zh: typeof en = {
  loadStarted: (name) => `▶ 压测开始：${name}`,
  loadEnded: (name) => `■ 压测结束：${name}`,
  fault: en.fault,
  resumes: (server) => `▲ ${server} 恢复`,
  runs: (server) => `▲ ${server} 重新运行`,
  ended: (name) => `▲ 结束：${name}`,
};

const words: Readonly<Record<Language, typeof en>> = { en, zh };

/** `▼ kill redis-main`, and later `▲ redis-main runs again`. */
export function markText(
  { of, isStart, name }: Pick<Mark, 'of' | 'isStart' | 'name'>,
  language: Language,
): string {
  const say = words[language];
  if (of === 'load') return isStart ? say.loadStarted(name) : say.loadEnded(name);
  if (isStart) return say.fault(name);
  const { row, state } = faultWords(name);
  if (state === 'other') return say.ended(name);
  return state === 'paused' ? say.resumes(row) : say.runs(row);
}
