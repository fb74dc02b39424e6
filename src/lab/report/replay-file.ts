/** The text of a file that shows recorded events. The page and the terminal write the same one. */
import type { Language } from '../../texts/texts.ts';
import type { StageEvent } from '../stage/events.ts';

export interface ReplayParts {
  /** The page's script and style, compressed by gzip and in base64: a third of their size. */
  readonly packed: string;
  readonly events: readonly StageEvent[];
  /** Without one, that of the browser. */
  readonly language?: Language | undefined;
}

export const recordedId = 'recorded';

/** No text ends the element that it is in. */
const asJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

/** It may load and send nothing. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/** An inline script may not `import()` under the policy, but may add another inline script. */
const unpack = `
const packed = document.getElementById('packed').textContent;
const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
const script = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
const page = document.createElement('script');
page.type = 'module';
page.textContent = await new Response(script).text();
document.body.append(page);
`;

export const replayFile = ({ packed, events, language }: ReplayParts): string => `<!doctype html>
<html lang="en"${language ? ` data-language="${language}"` : ''}>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Lockstep: a replay</title>
<link rel="icon" href="data:,">
<body>
<div id="page"></div>
<script type="application/json" id="${recordedId}">${asJson(events)}</script>
<script type="text/plain" id="packed">${packed}</script>
<script type="module">${unpack}</script>
`;
