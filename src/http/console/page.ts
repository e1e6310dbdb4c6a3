/** The console's one document. Everything that it loads comes from this gateway. */
import { createHash } from "node:crypto"
import { type ConsoleAssets, style } from "./assets.ts"

/** The document, and the policy under which a browser runs it. Addresses are relative, so that a path prefix holds. */
export const consolePage = ({ version, entries, first, libraries }: ConsoleAssets) => {
  const at = (path: string) => `./${version}/${path}`
  const imports = JSON.stringify({
    imports: Object.fromEntries(Object.entries(libraries).map(([name, path]) => [name, at(path)])),
  })
  // A map of modules is data; browsers accept it inside of the document only.
  const hash = createHash("sha256").update(imports).digest("base64")
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "media-src blob:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ")
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Weir console</title>
<link rel="icon" href="${icon}">
<script type="importmap">${imports}</script>
${entries.map((path) => `<script type="module" src="${at(path)}"></script>`).join("\n")}
<link rel="stylesheet" href="${at(style)}">
${first.map((path) => `<link rel="modulepreload" href="${at(path)}">`).join("\n")}
</head>
<body><div id="console"></div><noscript>The console needs JavaScript. The command line does the same: weir --help</noscript></body>
</html>
`
  return { html, policy }
}

/** The icon: the shape of the console's logo, in a colour that light and dark tabs show. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M2 6h8c3 0 3 8 6 8h6M2 10h6c3 0 3 8 6 8h8" fill="none" stroke="#2f7fd6" stroke-width="2.5" stroke-linecap="round"/></svg>',
)}`
