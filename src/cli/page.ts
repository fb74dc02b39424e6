import { Lab } from '../lab/environment/lab.ts';
import { pageName } from '../lab/environment/servers/page.ts';
import { alone, runningOn } from '../lab/environment/session.ts';
import { addressWithKey } from '../page/access.ts';
import { openPage } from '../page/open-page.ts';
import type { Language } from '../texts/texts.ts';
import { labWords } from './lab-words.ts';
import { json, language } from './options.ts';
import { type AddCommand, type JsonOption, print } from './output.ts';
import { startLab } from './up.ts';

export const addPage: AddCommand = (program, { labFolder }) =>
  program
    .command('page')
    .description('print the address of the lab’s page; starts a lab when none is up')
    .argument('[link]', 'a link that somebody copied: the same play, in this lab')
    .addOption(language())
    .addOption(json())
    .action(async (link: string | undefined, { json, language }: PageOptions) => {
      const start = (await addressNow(labFolder)) ?? (await startedPage(labFolder));
      const address = link === undefined ? start : addressIn(start, link);
      print(json, { address }, () => labWords[language].page(address));
    });

interface PageOptions extends JsonOption {
  readonly language: Language;
}

/** A link has the host of the lab in which it was copied. */
function addressIn(start: string, link: string): string {
  const { pathname, search } = new URL(link, start);
  const { origin, hash } = new URL(start);
  return `${origin}${pathname}${search}${hash}`;
}

/** While somebody plays, the page has the lab: it can be opened all the same. */
async function addressNow(folder: string): Promise<string | null> {
  const lab = Lab.running(folder);
  const isThere = lab?.servers.some(({ name, alive }) => name === pageName && alive);
  return lab && isThere ? addressWithKey(folder, lab.pageUrl) : null;
}

const startedPage = (folder: string): Promise<string> =>
  alone(folder, async (signal) => openPage(runningOn(folder) ?? (await startLab(folder, signal))));
