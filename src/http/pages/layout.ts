/** Frame and style of all pages. No scripts and no external resources; the policy contains the hash of the style. */
import { createHash } from "node:crypto"
import { Html, html } from "./html.ts"
import { tokens } from "./tokens.ts"

const style = `${tokens}
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 26rem; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius) }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25 }
form { margin: 1.25rem 0 0 }
form + .hint { margin-top: 1.25rem }
form + form { padding-top: 1.25rem; border-top: 1px solid var(--line) }
label { display: block; font-weight: 600 }
.hint { margin: 0; color: var(--soft); font-size: .9rem }
input, select { width: 100%; margin: .35rem 0 1rem; padding: .6rem .7rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--field); border-radius: var(--radius) }
.code { font-family: ui-monospace, monospace; font-size: 1.25rem; letter-spacing: .15em }
button, .button { display: inline-block; margin-right: .5rem; padding: .6rem 1.1rem; font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: var(--radius); cursor: pointer; text-decoration: none }
button.quiet { color: var(--accent); background: transparent }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
[role=alert] { padding: .6rem .8rem; color: var(--bad); border: 1px solid; border-radius: var(--radius) }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 1rem 0 } dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
`

const styleHash = createHash("sha256").update(style).digest("base64")

/** Allows the page's own style and forms to its own origin; forbids framing. */
export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

export interface Page {
  readonly title: string
  readonly body: Html
  /** The error of the submitted form; screen readers announce it first. */
  readonly alert?: string | undefined
  /** URL of an automatic redirect. */
  readonly onward?: string | undefined
}

/** The whole HTML document. */
export const document = ({ title, body, alert, onward }: Page): string =>
  `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${onward === undefined ? undefined : html`<meta http-equiv="refresh" content="0; url=${onward}">`}
<title>${title} · Weir</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${alert === undefined ? undefined : html`<p role="alert">${alert}</p>`}
${body}
</main>
</body>
</html>
`.text
  }`

/** A hidden field; empty if there is no value. */
export const hidden = (name: string, value: string | undefined): Html | undefined =>
  value === undefined ? undefined : html`<input type="hidden" name="${name}" value="${value}">`
