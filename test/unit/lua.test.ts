/** The Lua scripts: complete headers, declared keys, listed answers, and a caller for each. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadScript } from '../../src/service/connections/scripts.ts';

const textsIn = (folder: URL, ending: string): [file: string, text: string][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => [file, readFileSync(new URL(file, folder), 'utf8')]);

const scripts = textsIn(new URL('../../lua/', import.meta.url), '.lua').map(([file, text]) => {
  const lines = text.split('\n');
  const bodyAt = lines.findIndex((line) => !line.startsWith('--'));
  const code = lines.slice(bodyAt).filter((line) => !line.trimStart().startsWith('--'));
  return { file, header: lines.slice(0, bodyAt).join('\n'), code: code.join('\n') };
});

const all = (text: string, pattern: RegExp): string[] =>
  [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? match[0]))].sort();

/** The arguments of every `redis.call(…)`, cut at the commas outside brackets and quotes. */
function calls(code: string): string[][] {
  return [...code.matchAll(/redis\.p?call\(/g)].map(({ index, 0: opening }) => {
    const args = [''];
    let depth = 0;
    let quoted = false;
    for (const character of code.slice(index + opening.length)) {
      if (character === "'") quoted = !quoted;
      if (!quoted && depth === 0 && character === ')') break;
      if (!quoted && '([{'.includes(character)) depth += 1;
      if (!quoted && ')]}'.includes(character)) depth -= 1;
      if (!quoted && depth === 0 && character === ',') args.push('');
      else args.push(`${args.pop() ?? ''}${character}`);
    }
    return args.map((arg) => arg.trim());
  });
}

const withoutKey = ["'TIME'"];
/** Their key comes after a second word, such as XGROUP DELCONSUMER. */
const withTwoWords = ["'XINFO'", "'XGROUP'"];

test('there are scripts, and this test reads their calls', () => {
  const folders = new Set(scripts.map(({ file }) => file.slice(0, file.indexOf('/'))));
  expect([...folders].sort()).toEqual(['buckets', 'ids', 'locks', 'sale', 'waiting-room']);
  expect(scripts.map(({ file }) => file)).toContain('sale/purchase.lua');
  const nested =
    "redis.call('HSET', KEYS[2], f(a, b), ARGV[1] .. ':,' .. ARGV[4]) redis.call('TIME')";
  expect(calls(nested)).toEqual([
    ["'HSET'", 'KEYS[2]', 'f(a, b)', "ARGV[1] .. ':,' .. ARGV[4]"],
    ["'TIME'"],
  ]);
});

test('every script is loaded by a source file, and every loaded script exists', () => {
  const source = textsIn(new URL('../../src/', import.meta.url), '.ts');
  const loaded = source.flatMap(([, text]) => all(text, /\bloadScript\('([^']+)'\)/g));
  const names = scripts.map(({ file }) => file.replace(/\.lua$/, ''));
  expect([...new Set(loaded)].sort()).toEqual(names.sort());
  for (const name of names) expect(loadScript(name).source).toContain('Purpose:');
});

describe.each(scripts)('$file', ({ header, code }) => {
  test('opens with its purpose, its keys, its arguments and its answers, in this order', () => {
    const parts = [/Purpose:/, /KEYS\[1\]/, /ARGV(\[1\]| +none)/, /Answers:/];
    const order = parts.map((part) => header.search(part));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('uses the keys and arguments that its header names, no more and no fewer', () => {
    expect(all(code, /(?:KEYS|ARGV)\[\d+\]/g)).toEqual(all(header, /(?:KEYS|ARGV)\[\d+\]/g));
  });

  test('uses declared keys only, and builds no name but that of a channel', () => {
    const withKey = calls(code).filter(([command = '']) => !withoutKey.includes(command));
    expect(withKey.length).toBeGreaterThan(0);
    for (const [command = '', second, third] of withKey) {
      const key = withTwoWords.includes(command) ? third : second;
      expect(`${command} ${key}`).toMatch(/^'[A-Z]+' KEYS\[\d+\]$|^'PUBLISH' KEYS/);
    }
    expect(code).not.toMatch(/\bKEYS\b(?!\[\d+\])/);
  });

  test('answers in the words that its header lists, no more and no fewer', () => {
    const answers = header.slice(header.indexOf('Answers:'));
    // Redisson's protocol answers in numbers and nil; ours in words.
    const [listed, given] =
      code.includes("return '") || code.includes("return { '")
        ? [all(answers, /'([a-z-]+)'/g), all(code, /\breturn (?:\{ )?'([a-z-]+)'/g)]
        : [all(answers, /\b(nil|[01])(?= (?:when|\|))/g), all(code, /\breturn (nil|[01])\b/g)];
    expect(given).toEqual(listed);
    expect(listed.length).toBeGreaterThan(0);
  });

  test('never converts an id to a number', () => {
    const numbers = all(header, /ARGV(\[\d+\]) (?:[^[\]]*milliseconds| number of)/g);
    expect(
      all(code, /tonumber\(ARGV(\[\d+\])/g).filter((argument) => !numbers.includes(argument)),
    ).toEqual([]);
  });
});
