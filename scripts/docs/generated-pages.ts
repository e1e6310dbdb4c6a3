/** Pages of the guide that are made from the code as a whole. */
import { fileURLToPath } from "node:url"
import { alertsPage } from "./alert-table.ts"
import { cataloguePage } from "./catalogue-tables.ts"
import { commandsPage } from "./command-pages.ts"
import { errorsPage } from "./error-table.ts"
import { metricsPage } from "./metric-table.ts"

export interface GeneratedPage {
  readonly file: string
  readonly text: () => string | Promise<string>
}

const file = (page: string): string => fileURLToPath(new URL(`../../src/docs/${page}.md`, import.meta.url))

export const generatedPages: ReadonlyArray<GeneratedPage> = [
  { file: file("how-to/alerts"), text: alertsPage },
  { file: file("reference/catalogue"), text: cataloguePage },
  { file: file("reference/commands"), text: commandsPage },
  { file: file("reference/errors"), text: errorsPage },
  { file: file("reference/metrics"), text: metricsPage },
]
