/** The address of the page is what it shows: `/race/mutex-per-user?do=AABB&lanes=3&fine=1`. */

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { arrivals, type BreakChoice, minutesMax, whyNot } from '../../lab/by-hand/break-choice.ts';
import { lanesOf } from '../../lab/play/letters.ts';
import { drillRows, ladderRow, rowOfRace } from './built-rows.ts';
import { cursor } from './event-log.ts';

/** What the address says: the rung, the choices that it asks for, and how. */
export interface PlayAddress {
  readonly rung: string;
  readonly choices: string;
  readonly lanes: number;
  readonly stopsEverywhere: boolean;
}
/** A load, while somebody breaks the servers by hand. */
export interface BreakAddress extends BreakChoice {
  readonly of: 'break';
}

/** An experiment: a race whose steps are fixed, a drill, or a load to be broken by hand. */
export type RunAddress =
  | BreakAddress
  | { readonly of: 'race'; readonly race: string; readonly rung: string }
  | {
      readonly of: 'drill';
      /** Empty for a recording: it says itself what it is. */
      readonly drill: string;
      readonly minutes: number;
      readonly seed: number;
    };
/** Those that are their name. */
const plainViews = ['drills', 'scoreboard', 'room'] as const;
export type View =
  | { readonly is: 'ladder'; readonly chapter: number }
  | { readonly is: (typeof plainViews)[number] }
  | { readonly is: 'nowhere'; readonly path: string }
  | ({ readonly is: 'run' } & RunAddress)
  | ({ readonly is: 'race' } & PlayAddress);
export const view = signal<View>({ is: 'ladder', chapter: 2 });
/** The rung beside the one that is played; empty without one. */
export const beside = signal('');

export function viewAt({ pathname, search }: Pick<Location, 'pathname' | 'search'>): View {
  const asked = new URLSearchParams(search);
  const rung = /^\/race\/([\w-]+)$/.exec(pathname)?.[1];
  if (rung !== undefined && ladderRow(rung)) {
    const choices = (asked.get('do') ?? '').toUpperCase();
    const atLeast = Math.min(4, Math.max(2, Number(asked.get('lanes') ?? 2) || 2));
    const lanes = lanesOf(choices, atLeast).length;
    return { is: 'race', rung, choices, lanes, stopsEverywhere: asked.has('fine') };
  }
  const race = /^\/run\/race\/([\w-]+)$/.exec(pathname)?.[1];
  const home = race && rowOfRace(race);
  if (race && home)
    return {
      is: 'run',
      of: 'race',
      race,
      rung: ladderRow(asked.get('rung') ?? '')?.name ?? home.name,
    };
  const drill = /^\/run\/drill\/([\w-]+)$/.exec(pathname)?.[1];
  if (drill !== undefined && drillRows.some(({ name }) => name === drill)) {
    const minutes = Number(asked.get('minutes') ?? 0.5) || 0.5;
    return { is: 'run', of: 'drill', drill, minutes, seed: Number(asked.get('seed') ?? 1) || 1 };
  }
  if (pathname === '/break') return { is: 'run', ...breakAt(asked) };
  const plain = plainViews.find((each) => pathname === `/${each}`);
  if (plain) return { is: plain };
  const chapter = /^\/(?:ladder(?:\/([1-6]))?)?$/.exec(pathname);
  if (!chapter) return { is: 'nowhere', path: pathname };
  return { is: 'ladder', chapter: Number(chapter[1] ?? 2) };
}

export function addressOf(wanted: View): string {
  if (wanted.is === 'ladder') return `/ladder/${wanted.chapter}`;
  if (wanted.is === 'nowhere') return wanted.path;
  if (wanted.is === 'run') return addressOfRun(wanted);
  if (wanted.is !== 'race') return `/${wanted.is}`;
  const { rung, choices, lanes, stopsEverywhere } = wanted;
  const asked = [
    ...(choices ? [`do=${choices}`] : []),
    ...(lanes > 2 ? [`lanes=${lanes}`] : []),
    ...(stopsEverywhere ? ['fine=1'] : []),
  ];
  return `/race/${rung}${asked.length > 0 ? `?${asked.join('&')}` : ''}`;
}

function addressOfRun(wanted: RunAddress): string {
  if (wanted.of === 'race') return `/run/race/${wanted.race}?rung=${wanted.rung}`;
  if (wanted.of === 'break') return addressOfBreak(wanted);
  return `/run/drill/${wanted.drill}?minutes=${wanted.minutes}&seed=${wanted.seed}`;
}

/** It lasts until somebody ends it. */
export const wantedBreak = (rung: string): BreakAddress => ({
  of: 'break',
  perSecond: 100,
  minutes: minutesMax,
  arrivals: 'steady',
  rung: ladderRow(rung)?.name ?? 'redlock',
});

/** What cannot be is left out. */
function breakAt(asked: URLSearchParams): BreakAddress {
  const wanted = {
    ...wantedBreak(asked.get('rung') ?? 'redlock'),
    perSecond: Math.min(5_000, Math.max(1, Number(asked.get('load') ?? 100) || 100)),
    arrivals: arrivals.find((each) => each === asked.get('arrivals')) ?? 'steady',
  };
  const both = { ...wanted, beside: ladderRow(asked.get('beside') ?? '')?.name };
  return whyNot(both) === 'notBeside' ? wanted : both;
}

function addressOfBreak({ rung, beside, arrivals, perSecond }: BreakAddress): string {
  const more = [
    ...(beside ? [`&beside=${beside}`] : []),
    ...(arrivals === 'steady' ? [] : [`&arrivals=${arrivals}`]),
  ];
  return `/break?rung=${rung}&load=${perSecond}${more.join('')}`;
}

export function show(next: View): void {
  history.pushState(null, '', addressOf(next));
  beside.value = '';
  cursor.value = null;
  view.value = next;
}

interface LinkProps {
  readonly to: View;
  readonly onGo?: () => void;
  readonly class?: string;
  readonly 'aria-current'?: 'page' | undefined;
  readonly children: ComponentChildren;
}

/** The page shows it without being loaded again. */
export const Link = ({ to, onGo = () => show(to), ...props }: LinkProps) => (
  <a
    {...props}
    href={addressOf(to)}
    onClick={(event) => {
      event.preventDefault();
      onGo();
    }}
  />
);
