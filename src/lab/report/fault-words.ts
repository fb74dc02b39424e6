/** The words of a fault by its name: `kill redis-main` stops redis-main. */
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

/** `▼ kill redis-main`, and later `▲ redis-main runs again`. */
export function markText({ of, isStart, name }: Pick<Mark, 'of' | 'isStart' | 'name'>): string {
  if (of === 'load') return isStart ? `▶ load: ${name}` : `■ the load of ${name} ends`;
  if (isStart) return `▼ ${name}`;
  const { row, state } = faultWords(name);
  if (state === 'other') return `▲ end of: ${name}`;
  return state === 'paused' ? `▲ ${row} resumes` : `▲ ${row} runs again`;
}
