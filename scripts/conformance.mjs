// `npm run conformance -- [LOCK...] [--json] [--markdown]`: what our Redis locks and other packages
// do with dead, hung and slow masters. docs/library.md explains it.
import './on-node.mjs';

await import('../test/conformance/main.ts');
