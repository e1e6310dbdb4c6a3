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
<link rel="icon" href="data:,">
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
