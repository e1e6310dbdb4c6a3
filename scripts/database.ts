/** Puts the files of an empty, migrated database into the package: its first start creates no database, it unpacks one. */
import { copyFileSync, mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { preparedDatabase } from "./prepared-database.ts"

const dist = fileURLToPath(new URL("../dist/", import.meta.url))
mkdirSync(dist, { recursive: true })
copyFileSync(await preparedDatabase(), `${dist}database.tgz`)
