/** What a program may import from the library: each value with its docstring, and the types. */
import { readFileSync } from 'node:fs';
import { markdownTable } from './table.ts';

export const libraryEntries = ['locks', 'pipeline'] as const;
type LibraryEntry = (typeof libraryEntries)[number];

const exportsFolder = new URL('../../../src/service/exports/', import.meta.url);
const kinds = '(?:async )?(?:const|function|class|interface|type)';
const namesIn = (clause: string): string[] =>
  clause.split(',').flatMap((each) => each.replace(/^\s*type /, '').trim() || []);

/** @throws RangeError for an export without a docstring. */
export function exportsMarkdown(entry: LibraryEntry): string {
  const file = new URL(`${entry}.ts`, exportsFolder);
  const text = readFileSync(file, 'utf8');
  const from = [...text.matchAll(/^(?:im|ex)port (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm)];
  const files = new Map(
    from.flatMap(([, names = '', path = '']) =>
      namesIn(names).map((name) => [name, new URL(path, file)] as const),
    ),
  );
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)];
  const declared = [...text.matchAll(new RegExp(`^export ${kinds} (\\w+)`, 'gm'))];
  const names = [...listed, ...declared].flatMap(([, found = '']) => namesIn(found));
  const found = names.sort().map((name) => {
    const source = readFileSync(files.get(name) ?? file, 'utf8');
    const isType = new RegExp(`^export (?:interface|type) ${name}\\b`, 'm').test(source);
    return { name: `\`${name}\``, about: docstringOf(name, source), isType };
  });
  const rows = found.filter(({ isType }) => !isType).map(({ name, about }) => [name, about]);
  const types = found.filter(({ isType }) => isType).map(({ name }) => name);
  return `${markdownTable([['export', 'what it is'], ...rows])}\n\nTypes: ${types.join(', ')}.`;
}

/** Its first paragraph, without what it throws and takes: an editor shows these. */
function docstringOf(name: string, source: string): string {
  const declaration = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\nexport ${kinds} ${name}\\b`);
  const [, comment] = declaration.exec(source) ?? [];
  if (comment === undefined) throw new RangeError(`${name} has no docstring`);
  const [paragraph = ''] = comment
    .replaceAll(/\n \* ?/g, '\n')
    .trim()
    .split('\n\n');
  const [about = ''] = paragraph.split(/\s*@(?:throws|param)/);
  return about.replaceAll('@returns', 'Returns').replaceAll(/\s*\n/g, ' ');
}
