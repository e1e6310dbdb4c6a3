/**
 * Fills the folders in `packages` with their parts of `dist`, so that `npm pack --workspaces` packs them: the command, the
 * test kit, and the client, whose declarations need no other package.
 */
import { cpSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { copyClient } from "./client.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const dist = join(root, "dist")
const folderOf = (name: string) => join(root, "packages", name)
/** The bundles, and the data beside them. */
const ofCommand = readdirSync(dist).filter((part) => part === "bin" || /\.(json|tgz|txt)$/.test(part))

for (const name of ["client", "testing", "weir"]) {
  for (const part of ["dist", "migrations"]) rmSync(join(folderOf(name), part), { recursive: true, force: true })
  cpSync(join(root, "LICENSE"), join(folderOf(name), "LICENSE"))
}
for (const part of ofCommand) cpSync(join(dist, part), join(folderOf("weir"), "dist", part), { recursive: true })
cpSync(join(root, "README.md"), join(folderOf("weir"), "README.md"))
for (const name of ["weir", "testing"])
  cpSync(join(root, "migrations"), join(folderOf(name), "migrations"), { recursive: true })

const isOfCommandOnly = (path: string) => ["bin", "LICENCES.txt"].some((part) => path === join(dist, part))
cpSync(dist, join(folderOf("testing"), "dist"), { recursive: true, filter: (path) => !isOfCommandOnly(path) })
copyClient(dist, join(folderOf("client"), "dist"))
