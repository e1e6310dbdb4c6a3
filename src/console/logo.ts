/** The logo: water that falls over a weir. The page's icon, in `http/console/page.ts`, has the same shape. */
import { html } from "htm/preact"

export const Logo = () => html`<svg class="logo" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
  <path d="M2 6h8c3 0 3 8 6 8h6M2 10h6c3 0 3 8 6 8h8" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" />
</svg>`
