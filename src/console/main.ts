/** The console begins here. */
import { html, render } from "htm/preact"
import { App } from "./app.ts"
import { applyTheme } from "./theme.ts"

applyTheme()
const place = document.getElementById("console")
if (place !== null) render(html`<${App} />`, place)
