/** The imports between the source files, read from their text, and the cycles among them. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

const source = new URL('../../src/', import.meta.url);

const texts = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => [file, readFileSync(new URL(file, source), 'utf8')]),
);

/** Every source file by its path in src, such as `service/locks/lock.ts`. */
export const files: readonly string[] = [...texts.keys()].sort();

export const textOf = (file: string): string => texts.get(file) ?? '';

const commentOrString =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"[^"\n]*"|`(?:\\.|[^`\\])*`/g;

const withoutComments = (text: string): string =>
  text.replaceAll(commentOrString, (part) => (part.startsWith('/') ? '' : part));

/** Without comments, and with every string emptied. */
export const wordsOf = (file: string): string =>
  textOf(file).replaceAll(commentOrString, (part) => (part.startsWith('/') ? '' : "''"));

/** `type` for an import of types alone, `dynamic` for `import()`. */
export type ImportKind = 'static' | 'type' | 'dynamic';

export interface Import {
  readonly file: string;
  /** A path in src for one of our files, else the name of a package, such as `node:fs` or `zod`. */
  readonly name: string;
  readonly kind: ImportKind;
}

const pattern = /^(?:import|export)( type)?(?: [^;']*? from)? '([^']+)'|\bimport\(\s*'([^']+)'/gm;

/** The imports of a text, as if it were in this file. */
export const importsIn = (file: string, text: string): Import[] =>
  [...withoutComments(text).matchAll(pattern)].map(([, type, from, dynamic]) => {
    const to = from ?? dynamic ?? '';
    const name = to.startsWith('.') ? posix.join(posix.dirname(file), to) : to;
    if (dynamic) return { file, name, kind: 'dynamic' };
    return { file, name, kind: type ? 'type' : 'static' };
  });

/** Every import of every source file, types included. */
export const imports: readonly Import[] = files.flatMap((file) => importsIn(file, textOf(file)));

export const importsOf = (file: string): Import[] => imports.filter((each) => each.file === file);

/** These files, and all files that they load at their start: no types, and no `import()`. */
export function loadedBy(entries: readonly string[]): string[] {
  const loaded = new Set(entries);
  for (const file of loaded)
    for (const { name, kind } of importsOf(file)) if (kind === 'static') loaded.add(name);
  return [...loaded].sort();
}

export type Edge = readonly [from: string, to: string];

/** Every edge on a cycle: its end leads back to its beginning. An edge to itself is none. */
export function cyclicEdges(edges: readonly Edge[]): Edge[] {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of edges)
    if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
  const leadsTo = (from: string, to: string): boolean => {
    const reached = new Set([from]);
    for (const node of reached) for (const each of next.get(node) ?? []) reached.add(each);
    return reached.has(to);
  };
  return edges.filter(([from, to]) => from !== to && leadsTo(to, from));
}

const isOurs = ({ name }: Import): boolean => texts.has(name);

/** The imports that are on a cycle of files, types included. */
export const cyclesOfFiles = (all: readonly Import[]): string[] =>
  cyclicEdges(all.filter(isOurs).map(({ file, name }): Edge => [file, name])).map(arrow);

/** The imports on a cycle of folders. `folderOf` is null for a file that does not count. */
export function cyclesOfFolders(
  all: readonly Import[],
  folderOf: (file: string) => string | null,
): string[] {
  const between = all.filter(isOurs).flatMap(({ file, name }) => {
    const [from, to] = [folderOf(file), folderOf(name)];
    const edge: Edge = [from ?? '', to ?? ''];
    return from === null || to === null ? [] : [{ edge, files: arrow([file, name]) }];
  });
  const cyclic = new Set(cyclicEdges(between.map(({ edge }) => edge)).map(arrow));
  return between.filter(({ edge }) => cyclic.has(arrow(edge))).map(({ files: text }) => text);
}

const arrow = ([from, to]: Edge): string => `${from} → ${to}`;
