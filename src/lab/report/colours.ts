/** The colours of the pages, light and dark. A word or a mark is always beside a colour. */
export const colours = `
:root {
  color-scheme: light dark; --text: #1d2433; --page: #fff; --quiet: #5b6472; --line: #d8dee8;
  --good: #1b6e3c; --bad: #b3261e; --doubt: #8a5a00; --fine: #2f5aa8; --on-mark: #fff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6eaf2; --page: #12161e; --quiet: #9aa4b5; --line: #38414f;
    --good: #6fcf97; --bad: #ff6b60; --doubt: #e5b567; --fine: #8ab4f8; --on-mark: #12161e;
  }
}
body { color: var(--text); background: var(--page); } a { color: var(--fine); }
`;
