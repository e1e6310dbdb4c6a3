/** The design of all pages, of the console and of those for logging in: colours, spaces and sizes. */

/** Both themes have a contrast of at least 4.5 for text. */
export const tokens = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#16202c, #e6ebf0);
  --soft: light-dark(#4a5866, #aab6c2);
  --paper: light-dark(#f5f7f9, #10161d);
  --card: light-dark(#ffffff, #182029);
  --line: light-dark(#d5dce3, #2c3844);
  --field: light-dark(#6b7a8c, #7c8b9a);
  --accent: light-dark(#0b5cad, #7ab8ff);
  --on-accent: light-dark(#ffffff, #0c1219);
  --tint: light-dark(#e8f0f9, #1d2d40);
  --bad: light-dark(#a3131f, #ff9a9a);
  --bad-tint: light-dark(#fdecec, #3a1d20);
  --good: light-dark(#17693a, #7ed6a0);
  --warn: light-dark(#7d5200, #f0c060);
  --s1: 0.25rem;
  --s2: 0.5rem;
  --s3: 0.75rem;
  --s4: 1rem;
  --s6: 1.5rem;
  --small: 0.8125rem;
  --radius: 0.5rem;
}
`
