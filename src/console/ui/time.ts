/** Instants in the reader's time zone, with UTC in the title. */
import { html } from "htm/preact"
import { instant, since } from "../format.ts"

const utc = (at: string): string => `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`

/** A date and time. */
export const Time = ({ at }: { readonly at: string }) =>
  html`<time datetime=${at} title=${utc(at)}>${instant(at)}</time>`

/** The time since an instant, e.g. `3 min ago`. */
export const Ago = ({ at }: { readonly at: string }) =>
  html`<time datetime=${at} title="${instant(at)}, ${utc(at)}">${since(at)} ago</time>`
