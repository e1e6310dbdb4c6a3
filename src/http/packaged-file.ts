/** Files that a build writes for the package, such as the pages of the guide and the console. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

/**
 * The path of a file that `npm run build` writes; undefined where the sources run. Both the folder of the bundles and that of this
 * module, when it is compiled, are beside it.
 */
export const packagedFile = (name: "console.json" | "guide.json"): string | undefined => {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url))
  return existsSync(path) ? path : undefined
}
