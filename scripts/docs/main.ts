/** `npm run docs`: writes the tables and pages of src/docs that are made from the code. */
import { readFileSync, writeFileSync } from "node:fs"
import { page as compatiblePage, withLists } from "./field-lists.ts"
import { readmePage, withFigures } from "./figures.ts"
import { generatedPages } from "./generated-pages.ts"
import { page as dialectsPage, withTables } from "./vendor-table.ts"

const rewrite = (page: string, edit: (text: string) => string) => writeFileSync(page, edit(readFileSync(page, "utf8")))

rewrite(readmePage, withFigures)
rewrite(dialectsPage, withTables)
rewrite(compatiblePage, withLists)
for (const { file, text } of generatedPages) writeFileSync(file, await text())
