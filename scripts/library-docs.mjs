// `npm run docs:library`: writes docs/library-reference.md from the docstrings of
// src/service/exports. API Extractor collects what the declarations of an export name. npx brings
// it: it has a TypeScript of its own. `node scripts/library-docs.mjs FILE` writes another file.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './on-node.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = join(root, '.lockstep');
const quiet = { default: { logLevel: 'none' } };

function run(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return;
  console.error(stdout, stderr);
  throw new Error(`${program} ${args.join(' ')} ended with exit code ${status}`);
}

/** Every declaration that a program meets through this export, with its docstring. */
function declarations(name) {
  const rollup = join(folder, `${name}.d.ts`);
  const settings = join(folder, `${name}-declarations.json`);
  const config = {
    projectFolder: root,
    mainEntryPointFilePath: `<projectFolder>/dist/service/exports/${name}.d.ts`,
    compiler: { tsconfigFilePath: '<projectFolder>/src/service/exports/tsconfig.json' },
    apiReport: { enabled: false },
    docModel: { enabled: false },
    tsdocMetadata: { enabled: false },
    dtsRollup: { enabled: true, untrimmedFilePath: rollup },
    messages: { extractorMessageReporting: quiet, tsdocMessageReporting: quiet },
  };
  writeFileSync(settings, JSON.stringify(config));
  run('npx', '--yes', '@microsoft/api-extractor@7.60.1', 'run', '--local', '--config', settings);
  const text = readFileSync(rollup, 'utf8')
    .replaceAll('\r', '')
    .replace(/export \{ \}\s*$/, '');
  return text.replaceAll(/^ +/gm, (indent) => indent.replaceAll('    ', '  ')).trim();
}

const chapter = (name) => `## \`lockstep/${name}\`

\`\`\`ts
${declarations(name)}
\`\`\`
`;

mkdirSync(folder, { recursive: true });
run('npx', 'tsc', '-p', 'src/service/exports');
const file = process.argv[2] ?? join(root, 'docs/library-reference.md');
writeFileSync(
  file,
  `# Reference of the library

Made by \`npm run docs:library\` from the declarations of the package, which an editor shows too. What
the locks and the pipeline promise is in [the locks and the pipeline as a library](as-a-library.md).

${['locks', 'pipeline'].map(chapter).join('\n')}`,
);
console.log(file);
