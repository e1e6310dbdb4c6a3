/** `npm run docs`: writes the tables that are made from the code into the pages of src/dialects and src/http/compatible. */
import { readFileSync, writeFileSync } from "node:fs"
import { page as compatiblePage, withLists } from "./field-lists.ts"
import { page as dialectsPage, withTables } from "./vendor-table.ts"

const rewrite = (page: string, edit: (text: string) => string) => writeFileSync(page, edit(readFileSync(page, "utf8")))

rewrite(dialectsPage, withTables)
rewrite(compatiblePage, withLists)
